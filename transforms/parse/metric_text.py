r"""
The grammar of one line of an exporter's page, as regular expressions of Java, and its columns.

`FAST` takes the line that nearly all exporters write: `name{a="b",c="d"} 1.0`, one blank, labels without an
escape. `TEXT` and `OPENMETRICS` take whatever else prometheus_client takes. Each is possessive throughout,
so that a line is walked over once whatever is in it: a group that repeats possessively is a loop in Java,
where a greedy one is a recursion that ends a thread at some thousand characters. A line ends at `\z`: Java's
`$` is also in front of a last line end, and it knows six of them.
"""

from itertools import pairwise

from pyspark.sql import Column
from pyspark.sql import functions as F

BLANK_SET = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What Python strips from a line: prometheus_client does."""

W = rf"[{BLANK_SET}]"
WORD = rf"[^{BLANK_SET}]++"
GAP = rf"[\n-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*+[ \t]{W}*+"
"""Blanks between two words: without a space or tab among them they part nothing."""

LEGAL = r"[a-zA-Z_:][a-zA-Z0-9_:]*+"
QUOTED = r'"(?:[^"\\]|\\.)*+"'
LABEL_NAME = rf'(?:(?!__(?!name__(?![a-zA-Z0-9_:]))){LEGAL}|(?!"__(?!name__")){QUOTED})'
NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+|[+-]?(?i:inf(?:inity)?+|nan)"
INSTANT = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3}+)?+"

TAIL = r"^(?:[+-]?+[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?+[0-9]++)?+|NaN|[+-]Inf)(?: -?+[0-9]{1,13}+)?+\z"
"""Value and milliseconds, behind the one blank, as nearly all write them; more digits are years before 1."""

LONGEST_TAIL = 10_000
"""Bytes; what is longer is read by the whole grammar."""

MARK = "\x01"
FAST_LABELS = 8
"""A line of more labels goes the long way: each label costs two groups."""


def _fast() -> str:
    label = r'((?!__)[a-zA-Z_:][a-zA-Z0-9_:]*+)="[^"\\\x00-\x1f]*+"'
    labels = label
    for _ in range(FAST_LABELS - 1):
        labels = f"{label}(?:,{labels})?+"
    number = r"[+-]?+[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?+[0-9]++)?+|[+-]?+(?:NaN|Inf)"
    return rf"^({LEGAL})(?:(\{{)({labels}),?+(\}}))?+ ({number})(?: (-?+[0-9][0-9.e+]*+))?+\z"


FAST = _fast()
OPEN, LABELS, CLOSE, VALUE, AT = 2, 3, FAST_LABELS + 4, FAST_LABELS + 5, FAST_LABELS + 6
FAST_PARTS = MARK.join(
    ["", f"$1${OPEN}${LABELS}${CLOSE}", "$1", f"${LABELS}", f"${VALUE}", f"${AT}"]
    + [f"${group}" for group in range(LABELS + 1, LABELS + 1 + FAST_LABELS)]
)
"""A line in its parts: series, name, labels, value, instant, and each label's name."""

_TERM = rf"(?:{LABEL_NAME}{W}*+={W}*+{QUOTED}|{QUOTED})"
_TEXT_LABELS = rf"{W}*+(?:{_TERM}{W}*+)?+(?:,(?:{W}*+{_TERM}{W}*+|{W}++))*+,?+"
_OPENMETRICS_LABELS = rf"{W}*+(?:{_TERM}{W}*+(?:,{W}*+{_TERM}{W}*+)*+)?+"
TEXT = (
    rf"(?s)^{W}*+(?:({LEGAL})?+{W}*+\{{({_TEXT_LABELS})\}}{W}*+|({LEGAL}){GAP})"
    rf"({WORD})(?:{GAP}({WORD}))?+{W}*+\z"
)
OPENMETRICS = (
    rf"(?s)^(?:({LEGAL})?+\{{({_OPENMETRICS_LABELS})\}} |({LEGAL}) )"
    rf"({WORD})(?: ([^#{BLANK_SET}][^{BLANK_SET}]*+))?+"
    rf"(?: # \{{{_OPENMETRICS_LABELS}\}} (?:{NUMBER})(?: {INSTANT})?+)?+\z"
)
BEGINS_AS_SERIES = rf"(?s)^{W}*+(?:{LEGAL})?+{W}*+\{{{_TEXT_LABELS}\}}|^{W}*+{LEGAL}(?:{W}|\z)"
BEGINS_AS_NAME = rf"^{W}*+(?:{LEGAL}{W}*+)?+\{{"
COMMENT = rf"^{W}*+(?:#|\z)"

PAIR = rf'(?s)({QUOTED}|{LEGAL})="((?:[^"\\]|\\.)*+)"(?=,)'
"""A label of a list in which each ends with a comma. Nothing is found inside of a value: each is passed."""


def ordered(names: list[Column]) -> Column:
    """
    Tell whether names rise, each above the one before it; those behind the last name are empty.

    >>> names = spark.createDataFrame(
    ...     [("a", "b", ""), ("b", "a", ""), ("a", "a", ""), ("a", "", ""), ("a", "b", "ab"), (None,) * 3],
    ...     "x string, y string, z string")
    >>> names.select("*", ordered([F.col("x"), F.col("y"), F.col("z")]).alias("ordered")).show()
    +----+----+----+-------+
    |   x|   y|   z|ordered|
    +----+----+----+-------+
    |   a|   b|    |   true|
    |   b|   a|    |  false|
    |   a|   a|    |  false|
    |   a|    |    |   true|
    |   a|   b|  ab|  false|
    |NULL|NULL|NULL|   NULL|
    +----+----+----+-------+
    <BLANKLINE>
    """
    rises = names[0].isNotNull() | F.lit(None)
    for before, name in pairwise(names):
        rises &= (name == "") | (before < name)
    return rises


def plain_labels(labels: Column) -> Column:
    r"""
    Write a list of labels without blanks, a comma behind each; a name of its own becomes `__name__`.

    >>> lists = spark.createDataFrame(
    ...     [(' a = "b" , c="d",',), ('"my.name", "a"="x", "b.c"="y"',), (r'a="\d\\"',), (", ,",), (None,)],
    ...     "l string")
    >>> lists.select(plain_labels(F.col("l")).alias("plain")).show(truncate=False)
    +-----------------------------------+
    |plain                              |
    +-----------------------------------+
    |a="b",c="d",                       |
    |__name__="my.name",a="x","b.c"="y",|
    |a="\\d\\",                         |
    |                                   |
    |NULL                               |
    +-----------------------------------+
    <BLANKLINE>
    """
    between = rf"[,{BLANK_SET}]*+"
    pair = rf"(?:{QUOTED}|{LEGAL}){W}*+={W}*+{QUOTED}"
    lone = rf"(?s)\G((?:{between}{pair})*+{between})({QUOTED})(?!{W}*+=)"
    tight = rf"(?s){between}({QUOTED}|{LEGAL}){W}*+={W}*+({QUOTED}){between}"
    quoted = rf'(?s)\G((?:(?!"{LEGAL}"=)(?:{QUOTED}|{LEGAL})={QUOTED},)*+)"({LEGAL})"(={QUOTED},)'
    named = F.regexp_replace(labels, lone, "$1__name__=$2")
    listed = F.regexp_replace(F.regexp_replace(named, tight, "$1=$2,"), rf"^{between}\z", "")
    return F.regexp_replace(
        F.regexp_replace(listed, quoted, "$1$2$3"), r'(?<!\\)((?:\\\\)*+\\)(?![\\n"])', r"$1\\"
    )


def unescaped(text: Column) -> Column:
    r"""
    Read the escapes of a label's value: backslash, quote and newline; it has no other one.

    >>> values = spark.createDataFrame([(r'a\\n\"b\n',), ("plain",), (None,)], "v string")
    >>> [row.v for row in values.select(unescaped(F.col("v")).alias("v")).collect()]
    ['a\\n"b\n', 'plain', None]
    """
    newlines = F.regexp_replace(text, r"(?<!\\)((?:\\\\)*+)\\n", "$1\n")
    quotes = F.regexp_replace(newlines, r'(?<!\\)((?:\\\\)*+)\\"', '$1"')
    return F.when(F.contains(text, F.lit("\\")), F.replace(quotes, F.lit("\\\\"), F.lit("\\"))).otherwise(
        text
    )
