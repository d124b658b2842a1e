"""One line of a page: a sample with its series, value and instant, or why it cannot be read."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.parse import metric_text as grammar
from transforms.parse.metric_page import Limits, instant_us
from transforms.parse.outcome import fails, sample

TYPE_MARK = "# TYPE "
TYPE_LINE = rf"(?s)^# TYPE {grammar.W}*+({grammar.QUOTED}|[^{grammar.BLANK_SET}]++){grammar.W}++(\S++)"

SECOND_US, MILLISECOND_US = 1_000_000, 1_000

FAST, SLOW = "fast", "slow"


def read_lines(lines: DataFrame, limits: Limits) -> DataFrame:
    """
    Read lines that are no comments by the whole grammar.

    Wants `line`, `is_text`, `format`, `scraped_at`; adds `failure`, `series`, `value` and `at`, and as they
    are written `value_text` and `at_text`.
    """
    read = _with_series(_with_parts(lines), limits).select("*", _instant().alias("at"))
    return read.select("*", _failure(limits).alias("failure"))


def with_cut(lines: DataFrame) -> DataFrame:
    """
    Cut lines of the common form in two, by their bytes: `name{...} 1.5`, with an instant or without.

    Adds `head`, `tail` and `is_cut`: whether the tail is a number, and an instant of the text format. What
    the head says is not looked at: it comes again with each scrape, and is read once.
    """
    # Looked for from the end, where it is near; what Spark looks for from the front costs a call a byte.
    found = lines.select("*", F.substring_index("line", "}", -1).alias("behind"))
    size, n_behind = F.octet_length("line"), F.octet_length("behind")
    is_braced = n_behind < size
    before = F.substring(F.col("line").cast("binary"), F.lit(1), size - n_behind - 1).cast("string")
    first, last = (F.substring_index("line", " ", count) for count in (1, -1))
    parted = found.select(
        *lines.columns,
        is_braced.alias("is_braced"),
        F.when(is_braced, before).otherwise(first).alias("front"),
        F.when(is_braced, F.col("behind")).otherwise(last).alias("back"),
    )
    # A second brace, or a second blank where there is none, may be anything: such a line is no common one.
    is_whole = F.when(
        F.col("is_braced"), F.startswith("back", F.lit(" ")) & ~F.contains("front", F.lit("}"))
    ).otherwise(F.octet_length("front") + F.octet_length("back") + 1 == F.octet_length("line"))
    head = F.when(F.col("is_braced"), F.concat("front", F.lit("}"))).otherwise(F.col("front"))
    tail = F.when(F.col("is_braced"), F.substring("back", 2, grammar.LONGEST_TAIL)).otherwise(F.col("back"))
    cut = parted.select(*lines.columns, is_whole.alias("is_whole"), head.alias("head"), tail.alias("tail"))
    is_instant = F.contains("tail", F.lit(" "))
    is_common = F.col("tail").rlike(grammar.TAIL) & ~((F.col("format") == "openmetrics") & is_instant)
    is_cut = F.col("is_text") & F.col("is_whole") & is_common
    return cut.select(*lines.columns, "head", "tail", is_cut.alias("is_cut"))


def value_of(tail: Column) -> Column:
    """
    Return the value in a tail of the common form.

    >>> tails = spark.createDataFrame([("1.5",), ("+Inf 1000",), ("NaN",), ("-0",), (None,)], "t string")
    >>> tails.select(value_of(F.col("t")).alias("value")).show()
    +--------+
    |   value|
    +--------+
    |     1.5|
    |Infinity|
    |     NaN|
    |    -0.0|
    |    NULL|
    +--------+
    <BLANKLINE>
    """
    return F.substring_index(tail, " ", 1).try_cast("double")


def instant_of(tail: Column) -> Column:
    """
    Return the instant in a tail of the common form, NULL where there is none.

    >>> tails = spark.createDataFrame([("1.5 1395066363000",), ("1",), (None,)], "t string")
    >>> tails.select(instant_of(F.col("t")).alias("at")).show()
    +-------------------+
    |                 at|
    +-------------------+
    |2014-03-17 14:26:03|
    |               NULL|
    |               NULL|
    +-------------------+
    <BLANKLINE>
    """
    milliseconds = F.when(F.contains(tail, F.lit(" ")), F.substring_index(tail, " ", -1).try_cast("bigint"))
    return F.timestamp_micros(milliseconds * MILLISECOND_US)


def is_type() -> Column:
    """Tell whether a line tells the type of a family."""
    return F.startswith("line", F.lit(TYPE_MARK)) & _is_whole()


def is_comment() -> Column:
    """Tell whether a line says nothing; a line that begins with a letter is not looked at further."""
    first = F.ascii("line")  # to take a part of a line, Spark counts all of its characters
    is_openmetrics = F.col("format") == "openmetrics"
    is_odd = F.when(is_openmetrics, F.startswith("line", F.lit("#")) | (F.col("line") == "")).otherwise(
        F.col("line").rlike(grammar.COMMENT)
    )
    is_letter = first.between(ord("A"), ord("z"))
    return F.when(is_letter, F.lit(False)).otherwise(is_odd & _is_whole() & ~is_type())


def family_and_type() -> list[Column]:
    """Give what a line that tells a type says: `family` and `type`."""
    told = ((name, F.regexp_extract("line", TYPE_LINE, n)) for n, name in enumerate(("family", "type"), 1))
    return [column.alias(name) for name, column in told]


def _is_whole() -> Column:
    return F.col("is_text") | F.is_valid_utf8("line")


def _with_parts(lines: DataFrame) -> DataFrame:
    """Add `found` (fast, slow or NULL), and of what was found name, labels, value and instant as written."""
    marked = lines.select("*", F.regexp_replace("line", grammar.FAST, grammar.FAST_PARTS).alias("marked"))
    split = marked.select("*", F.split("marked", grammar.MARK).alias("parts"))
    is_openmetrics = F.col("format") == "openmetrics"
    forms = {True: grammar.OPENMETRICS, False: grammar.TEXT}
    is_slow = F.when(is_openmetrics, F.col("line").rlike(forms[True])).otherwise(
        F.col("line").rlike(forms[False])
    )
    # OpenMetrics has no comma behind the last label; a value may have one too, and goes the long way then.
    may_be_fast = ~is_openmetrics | ~F.contains("line", F.lit(",}"))
    found = F.when((F.col("marked") != F.col("line")) & may_be_fast, FAST).when(is_slow, SLOW)
    told = split.select("*", found.alias("found"))

    def group(n: int) -> Column:
        of = (F.regexp_extract("line", forms[told], n) for told in (True, False))
        return F.when(is_openmetrics, next(of)).otherwise(next(of))

    def part(fast: int, slow: Column) -> Column:
        return F.when(F.col("found") == FAST, F.get("parts", F.lit(fast))).when(F.col("found") == SLOW, slow)

    # Java leaves in a group what a form that failed behind it had put there: the third decides.
    is_bare = group(3) != ""
    name = F.when(is_bare, group(3)).otherwise(group(1))
    parts = {
        "name": part(2, name),
        "labels": part(3, F.when(is_bare, "").otherwise(group(2))),
        "value_text": part(4, group(4)),
        "at_text": part(5, group(5)),
    }
    return told.select("*", *(column.alias(name) for name, column in parts.items()))


def _with_series(parted: DataFrame, limits: Limits) -> DataFrame:
    """
    Add `series`, the name with its labels in order, and where they had to be put in order `names`.

    Labels in order, which is how most exporters write them, are taken as they stand.
    """
    names = [F.get("parts", F.lit(6 + n)) for n in range(grammar.FAST_LABELS)]
    is_ordered = (F.col("found") == FAST) & grammar.ordered(names)
    if limits.sample_labels < grammar.FAST_LABELS:
        is_ordered = F.lit(False)  # then they are counted
    is_to_order = F.col("found").isNotNull() & ~is_ordered
    listed = F.when(F.col("found") == FAST, F.concat("labels", F.lit(","))).otherwise(
        grammar.plain_labels(F.col("labels"))
    )
    told = parted.select("*", F.when(is_to_order, listed).alias("listed"))
    paired = told.select(
        "*",
        *(
            F.regexp_extract_all("listed", F.lit(grammar.PAIR), F.lit(group)).alias(name)
            for name, group in (("names", 1), ("texts", 0))
        ),
    )
    own = F.get("texts", (F.array_position("names", "__name__") - 1).cast("int"))
    owned = paired.select("*", own.alias("own"))
    ordered = F.sort_array(F.arrays_zip("names", "texts")).getField("texts")
    others = F.array_join(F.array_remove(ordered, F.coalesce("own", F.lit(""))), ",")
    named = owned.select("*", F.when(F.col("listed").isNotNull(), others).alias("others"))
    return named.select(
        "*",
        F.when(F.col("listed").isNull(), F.get("parts", F.lit(1))).otherwise(_series()).alias("series"),
        _number().alias("value"),
    )


def _series() -> Column:
    """Write a series: `name{labels}`, or `{"name",labels}` where the name would not be one before braces."""
    named = F.regexp_extract("own", r'(?s)^__name__="(.*)"\z', 1)
    name = F.when(F.col("name") != "", F.col("name")).otherwise(named)
    is_legal = name.rlike(rf"^{grammar.LEGAL}\z")
    labels = F.when(F.col("others") == "", "").otherwise(F.concat(F.lit("{"), "others", F.lit("}")))
    quoted = F.concat_ws(
        ",", F.concat(F.lit('"'), name, F.lit('"')), F.when(F.col("others") != "", F.col("others"))
    )
    return F.when(is_legal, F.concat(name, labels)).otherwise(F.concat(F.lit("{"), quoted, F.lit("}")))


def _number() -> Column:
    text = F.col("value_text")
    is_none = F.lower(text).endswith("nan")
    read = F.when(is_none, F.lit(float("nan"))).otherwise(text.try_cast("double"))
    return F.when((F.col("found") == FAST) | text.rlike(rf"^(?:{grammar.NUMBER})\z"), read)


def _instant() -> Column:
    text = F.col("at_text")
    unit = F.when(F.col("format") == "openmetrics", SECOND_US).otherwise(MILLISECOND_US)
    told = F.when(text.rlike(rf"^{grammar.INSTANT}\z"), instant_us(text, unit))
    return F.when(text == "", F.col("scraped_at")).otherwise(F.timestamp_micros(told))


def _failure(limits: Limits) -> Column:
    has_own = F.coalesce(F.col("own"), F.lit("")) != ""
    is_named_once = F.when(F.col("name") != "", ~has_own).otherwise(has_own & (F.col("own") != '__name__=""'))
    is_twice = F.size(F.array_distinct("names")) < F.size("names")
    n_labels = F.size("names")
    return F.coalesce(
        fails(~_is_whole(), "not_utf8", "bytes that are no UTF-8"),
        F.when(F.col("found").isNull(), _misread()),
        F.when(
            F.col("listed").isNotNull(),
            F.coalesce(
                fails(is_twice, "bad_labels", "a label twice"),
                fails(~is_named_once, "bad_labels", "no name, or two"),
                fails(n_labels > limits.sample_labels, "too_many_labels", n_labels),
            ),
        ),
        fails(F.col("value").isNull(), "bad_number", F.substring("value_text", 1, 120)),
        fails(
            _is_long(limits),
            "label_too_long",
            f"a name or value of more than {limits.label_chars} characters",
        ),
        F.when(
            F.col("at").isNull(),
            F.when(
                F.col("at_text") == "",
                fails(F.lit(True), "no_instant", "neither the page nor the line tells one"),
            ).otherwise(fails(F.lit(True), "impossible_timestamp", F.substring("at_text", 1, 120))),
        ),
    )


def _misread() -> Column:
    line = F.col("line")
    return F.coalesce(
        fails(line.rlike(grammar.BEGINS_AS_SERIES), "bad_sample", sample(line)),
        fails(line.rlike(grammar.BEGINS_AS_NAME), "bad_labels", sample(line)),
        fails(F.lit(True), "bad_name", sample(line)),
    )


def _is_long(limits: Limits) -> Column:
    most = limits.label_chars
    within = rf'(?s)^(?:[^"]{{0,{most}}}+"(?:[^"\\]|\\.){{0,{most}}}+")*+[^"]{{0,{most}}}+\z'
    return (F.octet_length("line") > most) & ~F.col("line").rlike(within)
