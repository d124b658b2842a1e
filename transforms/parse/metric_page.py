"""A scrape as one value: its bytes unpacked, its instant, its format, and what is beyond a limit."""

import zlib
from dataclasses import dataclass
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from transforms.parse.outcome import fails

OPENMETRICS_TYPE = "application/openmetrics-text"
END = "# EOF"
"""The last line of an OpenMetrics page."""

LINES_A_SAMPLE = 4
"""HELP, TYPE and UNIT before a sample; a page of nothing but line ends would be millions of rows."""

SHORTEST_SAMPLE = len("a 1\n")

BACK_FILL = "/backfill/"
"""In the position of a page whose every sample has an instant of its own."""

MOST_BYTES = 128 * 1024 * 1024
"""What the collector takes of a page."""

FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The instants that all readers can hold: the years 1 to 9999, in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a scrape, a sample and a label may be at most."""

    scrape_bytes: int = 32 * 1024 * 1024
    scrape_samples: int = 500_000
    sample_labels: int = 64
    label_chars: int = 4_096


CONTENT_TYPE = "content-type"
"""Header of a record: the exporter's own word for the page's format."""


def with_page(raw: DataFrame, limits: Limits, *, unpack: bool) -> DataFrame:
    """
    Add to rows of bronze `bytes` and `text`, `is_text`, `format`, `scraped_at`, `page` and `failure`.

    Without `unpack` a compressed page has neither text nor failure. `page` is a number for the page.
    """
    is_plain = F.col("chunk").isNull() & F.col("content_encoding").isNull()
    bytes_ = F.when(is_plain, F.col("value"))
    if unpack:
        is_packed = F.col("chunk").isNull() & (F.col("content_encoding") == "gzip")
        unpacked = plain(F.col("value"), F.when(is_packed, "gzip"), limits.scrape_bytes)
        bytes_ = F.when(is_plain | is_packed, unpacked)
    at = scraped_at(F.col("position"))
    # A column of its own for what is used more than once: each use of an expression is planned again.
    read = raw.withColumns({"bytes": bytes_, "at": at}).withColumn("text", F.col("bytes").cast("string"))
    read = read.withColumn("told", F.when(F.col("at").isNull(), told_text(F.col("text"))))
    keys, values = F.col("headers.key"), F.col("headers.value")
    content_type = F.get(values, F.array_position(keys, F.lit(CONTENT_TYPE)).cast("int") - 1).cast("string")
    told = {
        "is_text": F.is_valid_utf8("text"),
        "format": F.when(is_openmetrics(F.col("text"), content_type), "openmetrics").otherwise("text"),
        "scraped_at": F.coalesce("at", told_instant(F.col("told"))),
        "page": F.xxhash64("topic", "partition", "offset", "source", "position"),
    }
    failure = page_failure(limits)
    is_left = F.col("text").isNull() & (F.col("content_encoding") == "gzip") & F.lit(not unpack)
    return read.withColumns(told).withColumn("failure", F.when(~F.coalesce(is_left, F.lit(False)), failure))


def scraped_at(position: Column) -> Column:
    """
    Return the instant of a scrape from its position, `NODE/scrape/EPOCH_NS`; NULL for any other position.

    >>> rows = spark.createDataFrame(
    ...     [("broker-1/scrape/1795252768987716710",), ("broker-1/ab/12",), (None,)], "p string")
    >>> rows.select(scraped_at(F.col("p")).alias("scraped_at")).show(truncate=False)
    +--------------------------+
    |scraped_at                |
    +--------------------------+
    |2026-11-21 09:19:28.987716|
    |NULL                      |
    |NULL                      |
    +--------------------------+
    <BLANKLINE>
    """
    micros = F.regexp_extract(position, r"/scrape/(\d{1,16})\d{3}$", 1).try_cast("bigint")
    return F.timestamp_micros(micros)


def told_text(text: Column) -> Column:
    """Return what a page tells of its instant, behind `# scraped_at`."""
    return F.regexp_extract(text, r"(?m)^# scraped_at[ \t]++(\S{1,64}+)[ \t]*+\r?$", 1)


def told_instant(told: Column) -> Column:
    r"""
    Return the instant that a page tells of itself: ISO 8601 or epoch seconds. Without a zone it is UTC.

    >>> pages = spark.createDataFrame([
    ...     ("up 1\n# scraped_at 2026-11-21T09:19:28.5+01:00\n",), ("# scraped_at 1795252768.25",),
    ...     ("# scraped_at yesterday",), ("up 1",), (None,)], "p string")
    >>> pages.select(told_instant(told_text(F.col("p"))).alias("at")).show(truncate=False)
    +----------------------+
    |at                    |
    +----------------------+
    |2026-11-21 08:19:28.5 |
    |2026-11-21 09:19:28.25|
    |NULL                  |
    |NULL                  |
    |NULL                  |
    +----------------------+
    <BLANKLINE>
    """
    micros = instant_us(told, F.lit(1_000_000))
    return F.when(micros.isNotNull(), F.timestamp_micros(micros)).otherwise(told.try_cast("timestamp"))


def instant_us(text: Column, unit_us: Column) -> Column:
    """
    Return microseconds since 1970 of a decimal number in units of so many; NULL outside of years 1 to 9999.

    >>> stamps = spark.createDataFrame(
    ...     [("1395066363000", 1000), ("1520879607.789", 1000000), ("1.520879607789e+09", 1000000),
    ...      ("-1.5", 1000), ("1e300", 1000), ("9" * 30, 1000), ("soon", 1000), (None, 1000)],
    ...     "t string, unit int")
    >>> stamps.select(instant_us(F.col("t"), F.col("unit")).alias("us")).show()
    +----------------+
    |              us|
    +----------------+
    |1395066363000000|
    |1520879607789000|
    |1520879607789000|
    |           -1500|
    |            NULL|
    |            NULL|
    |            NULL|
    |            NULL|
    +----------------+
    <BLANKLINE>
    """
    is_short = F.length(text) <= 13  # noqa: PLR2004 (digits of milliseconds; in microseconds no bigint overflows)
    decimal = text.try_cast("decimal(28,9)") * unit_us.cast("decimal(8,0)")
    micros = F.when(is_short, text.try_cast("bigint") * unit_us)
    told = F.coalesce(micros, F.floor(decimal).try_cast("bigint"))
    return F.when(told.between(FIRST_US, LAST_US), told)


def plain(value: Column, content_encoding: Column, most_bytes: int = MOST_BYTES) -> Column:
    """
    Return the bytes of a scrape unpacked, some more than `most_bytes` at most; NULL when they are no gzip.

    >>> import gzip
    >>> rows = spark.createDataFrame(
    ...     [(b"up 1", None), (gzip.compress(b"up 1"), "gzip"), (b"up 1", "gzip"), (None, "gzip")],
    ...     "value binary, content_encoding string")
    >>> rows.select(plain(F.col("value"), F.col("content_encoding")).cast("string").alias("text")).show()
    +----+
    |text|
    +----+
    |up 1|
    |up 1|
    |NULL|
    |NULL|
    +----+
    <BLANKLINE>
    """
    # A pickled UDF: Spark has no gunzip, Arrow would need pandas, and few pages come packed.
    unpack = F.udf(partial(_unpacked, most_bytes=most_bytes), BinaryType())
    is_gzip = F.coalesce(content_encoding, F.lit("")) == "gzip"
    return F.when(is_gzip, unpack(F.when(is_gzip, value))).otherwise(value)


def _unpacked(value: bytes | None, most_bytes: int) -> bytes | None:
    if value is None:
        return None
    unpacked, rest = b"", value
    try:
        while rest and len(unpacked) <= most_bytes:  # a gzip may be several, one behind the other
            member = zlib.decompressobj(wbits=31)
            unpacked += member.decompress(rest, most_bytes + 1 - len(unpacked))
            if not member.eof and len(unpacked) <= most_bytes:
                return None
            rest = member.unused_data
    except zlib.error:
        return None
    return unpacked


def is_openmetrics(text: Column, content_type: Column) -> Column:
    r"""
    Tell whether a page is OpenMetrics: it was told so, or it ends as only such a page does.

    >>> pages = spark.createDataFrame(
    ...     [("up 1\n# EOF\n", None), ("# EOF", None), ("up 1 # EOF", None), ("up 1\n", None),
    ...      ("up 1\n", "application/openmetrics-text; version=1.0.0"), (None, None)], "p string, t string")
    >>> pages.select(is_openmetrics(F.col("p"), F.col("t")).alias("is")).show()
    +-----+
    |   is|
    +-----+
    | true|
    | true|
    |false|
    |false|
    | true|
    | NULL|
    +-----+
    <BLANKLINE>
    """
    is_told = F.coalesce(F.startswith(content_type, F.lit(OPENMETRICS_TYPE)), F.lit(False))
    return is_told | has_end(text)


def has_end(text: Column) -> Column:
    """Tell whether the page's last line is `# EOF`."""
    is_alone = text.isin(END, f"{END}\n")
    return is_alone | text.endswith(f"\n{END}") | text.endswith(f"\n{END}\n")


def has_end_within(bytes_: Column) -> Column:
    r"""
    Tell of a page that ends with a line `# EOF` whether it has such a line before.

    >>> pages = spark.createDataFrame(
    ...     [(b"a 1\n# EOF\n",), (b"# EOF",), (b"# EOF\n# EOF",), (b"a 1\n# EOF\nb 1\n# EOF\n",)], "p binary")
    >>> pages.select(has_end_within(F.col("p")).alias("has")).show()
    +-----+
    |  has|
    +-----+
    |false|
    |false|
    | true|
    | true|
    +-----+
    <BLANKLINE>
    """
    size = F.octet_length(bytes_) - F.when(F.endswith(bytes_, F.lit(b"\n")), 1).otherwise(0)
    before = F.substring(bytes_, F.lit(1), size - F.lit(len(END))).cast("string")
    return F.startswith(before, F.lit(f"{END}\n")) | F.contains(before, F.lit(f"\n{END}\n"))


def page_failure(limits: Limits) -> Column:
    """
    Tell why a page cannot be read at all, or NULL.

    Wants the columns of bronze, `bytes`, `text`, `format` and `scraped_at`.
    """
    is_packed, size = F.col("content_encoding") == "gzip", F.octet_length("text")
    many = f"more than {limits.scrape_samples} samples, or {LINES_A_SAMPLE} lines for each of them"
    lines, samples = line_count(F.col("text")), line_count(F.col("text")) - _comments(F.col("text"))
    # Lines are counted only where the bytes would be enough for so many.
    is_many = F.when(
        size >= SHORTEST_SAMPLE * limits.scrape_samples,
        (samples > limits.scrape_samples) | (lines > LINES_A_SAMPLE * limits.scrape_samples),
    )
    is_cut = F.when(
        F.col("format") == "openmetrics",
        ~has_end(F.col("text")) | has_end_within(F.col("bytes")),
    )
    return F.coalesce(
        fails(F.col("value").isNull(), "no_value", "the file could not be read from here on"),
        fails(F.col("chunk").isNotNull(), "oversized", F.concat(F.lit("part "), F.col("chunk"))),
        fails(~is_packed, "unknown_encoding", F.col("content_encoding")),
        fails(F.col("text").isNull(), "bad_gzip", "it says it is gzip"),
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(size > limits.scrape_bytes, "scrape_too_big", F.concat(size.cast("string"), F.lit(" bytes"))),
        fails(is_many, "too_many_samples", many),
        fails(is_cut, "torn_scrape", "an OpenMetrics page ends with # EOF, once"),
        fails(
            F.col("scraped_at").isNull() & ~F.contains("position", F.lit(BACK_FILL)),
            "no_instant",
            F.concat(F.lit("neither the position nor the page tells one: "), F.col("position")),
        ),
    )


def line_count(text: Column) -> Column:
    r"""
    Count the lines of a page; a line end behind the last one begins no other.

    >>> pages = spark.createDataFrame([("a 1\n\nb 2\n",), ("a 1\nb 2",), ("\n",), ("",), (None,)], "p string")
    >>> pages.select(line_count(F.col("p")).alias("n")).show()
    +----+
    |   n|
    +----+
    |   3|
    |   2|
    |   1|
    |   0|
    |NULL|
    +----+
    <BLANKLINE>
    """
    # Much quicker than to take the line ends out, which looks for them byte by byte.
    return F.size(F.split(text, "\n")) - F.when((text == "") | text.endswith("\n"), 1).otherwise(0)


def _comments(text: Column) -> Column:
    """Count the lines that begin as comments."""
    line = F.concat(F.lit("\n"), text)
    return F.octet_length(line) - F.octet_length(F.replace(line, F.lit("\n#"), F.lit("\n")))
