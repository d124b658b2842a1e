"""
The start and end of a log line: instant, monotonic nanoseconds, level, message, logger.

Layouts: log4j's `[%d] %p %m (%c)` as Kafka ships it, and ISO with up to nanoseconds, with or without zone,
brackets and a column of monotonic nanoseconds (`%N`) behind the time.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.parse.continuation import goes_on
from transforms.parse.outcome import fails, sample

LONGEST_BYTES = 4 * 1024 * 1024
"""
A longer line is not read: each step of the parse holds it several times, and two of 16 MB, one a task, were
enough to end a driver of 2 GB. A fetch over 40,000 partitions has 4 MB.
"""

HEAD_BYTES = 96
"""A stamp is shorter; a line can have megabytes, and a regular expression reads only this much of it."""

TAIL_BYTES = 160

# date, time, up to six digits, further digits, zone, monotonic nanoseconds, level
PREFIX = (
    r"^\[?(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(?:[.,](\d{0,6})(\d{0,3}))?"
    r"(Z|[+-]\d{2}(?::?\d{2})?)?\]? +(?:(\d+) +)?(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +"
)
GROUPS = 7
SEPARATOR = "\x01"
SUFFIX = r" \(([!-'*-~]+)\)\s*$"  # ASCII without parentheses and blanks

ZONE = r"^([A-Za-z][A-Za-z0-9_+/-]*|[+-]\d{2}:\d{2})$"
"""What may be a zone's name: Spark's functions disagree on blanks, and one of them fails the whole batch."""

OVERLAPS = ("1 HOUR", "30 MINUTES", "2 HOURS")
"""How far clocks are set back: everywhere else, on Lord Howe, at Troll."""


def with_stamp(raw: DataFrame) -> DataFrame:
    """
    Add `stamp`, `message`, `logger` and `node_id`; `stamp` is NULL where the layout is not known.

    Lines are cut by bytes: to count the characters of a long line costs more than to read its stamp.
    """
    framed = raw.select("*", *_ends())
    split = framed.select("*", F.split("marked", SEPARATOR, GROUPS + 2).alias("split"))
    # Bytes that are no UTF-8 come back as others from a replacement that replaced nothing.
    is_found = (F.size("split") == GROUPS + 2) & (F.col("marked") != F.col("head"))
    parted = split.select("*", F.when(is_found, F.col("split")).alias("parts")).drop(
        "head", "marked", "split"
    )
    start, end = F.coalesce(F.octet_length(F.col("parts")[0]), F.lit(0)) + 1, F.octet_length("suffix")
    inner = F.substr(_plain(), start, F.octet_length("value") - end - start + 1).cast("string")
    logger = F.when(F.col("suffix") != "", F.regexp_extract("suffix", SUFFIX, 1))
    node_id = F.regexp_extract("node", r"(\d+)$", 1).try_cast("int")
    told = {"message": inner, "logger": logger, "node_id": node_id, "stamp": _stamp()}
    found = (column.alias(name) for name, column in told.items())
    return parted.select("*", *found).drop("parts", "suffix")


def text() -> Column:
    """Give the whole line as text."""
    return _plain().cast("string")


def _plain() -> Column:
    """Read whole, plain values only, and none too long: the rest is quarantined unread."""
    is_plain = F.col("chunk").isNull() & F.col("content_encoding").isNull()
    return F.when(is_plain & (F.octet_length("value") <= LONGEST_BYTES), F.col("value"))


def _ends() -> list[Column]:
    """
    Search each end once: the groups of the prefix go into its place, behind the prefix itself.

    Where there is no prefix, `marked` is the head as it was.
    """
    head = F.substring(_plain(), 1, HEAD_BYTES).cast("string")
    tail = F.substring(_plain(), -TAIL_BYTES, TAIL_BYTES).cast("string")
    groups = "".join(f"${n}{SEPARATOR}" for n in range(GROUPS + 1))
    return [
        head.alias("head"),
        F.regexp_replace(head, PREFIX, groups).alias("marked"),
        F.when(tail.endswith("}"), "").otherwise(F.regexp_extract(tail, SUFFIX, 0)).alias("suffix"),
    ]


def _stamp() -> Column:
    date, time, micros, nanos, zone, mono, level = (F.col("parts")[n] for n in range(1, GROUPS + 1))
    written = F.concat(date, F.lit("T"), time, F.lit("."), micros)
    has_zone = zone != ""
    zone_of_node = F.coalesce(F.col("time_zone"), F.lit("UTC"))
    named = F.when(zone_of_node.rlike(ZONE), F.concat(F.lit(" "), zone_of_node))
    instant = F.concat(written, F.when(has_zone, zone).otherwise(named)).try_cast("timestamp")
    digits = F.length(micros) + F.length(nanos)
    return F.when(
        F.col("parts").isNotNull(),
        F.struct(
            instant.alias("logged_at"),
            F.concat(written, F.lit("Z")).try_cast("timestamp").alias("wall"),
            has_zone.alias("has_zone"),
            F.when(mono != "", mono).try_cast("long").alias("logged_mono_ns"),
            F.pow(F.lit(10.0), F.lit(3) - digits).alias("clock_resolution_ms"),
            level.alias("level"),
        ),
    )


def stamp_columns() -> list[Column]:
    """Give the columns of `schemas.silver.STAMP`."""
    stamp = F.col("stamp")
    return [
        stamp.logged_at.alias("logged_at"),
        stamp.logged_mono_ns.alias("logged_mono_ns"),
        stamp.clock_resolution_ms.alias("clock_resolution_ms"),
        F.to_date(stamp.logged_at).alias("logged_date"),
    ]


def unreadable() -> Column:
    """Tell why a value cannot be read as a line of a log at all, or NULL."""
    no_stamp = F.col("stamp").isNull() & ~is_blank() & ~goes_on(text())
    return F.coalesce(unreadable_value(), fails(no_stamp, "no_timestamp", sample(text())))


def unreadable_value() -> Column:
    """Tell why a value is no line of text, or NULL."""
    return F.coalesce(
        fails(F.col("value").isNull(), "no_value", "the file could not be read from here on"),
        fails(F.col("chunk").isNotNull(), "oversized", F.concat(F.lit("part "), F.col("chunk"))),
        fails(F.col("content_encoding").isNotNull(), "compressed_line", F.col("content_encoding")),
        fails(
            F.octet_length("value") > LONGEST_BYTES,
            "oversized",
            F.concat(F.octet_length("value").cast("string"), F.lit(" bytes")),
        ),
        fails(~F.is_valid_utf8(text()), "not_utf8", "bytes that are no UTF-8"),
    )


def is_blank() -> Column:
    """Tell whether the line holds nothing but white space."""
    return (F.octet_length(text()) < HEAD_BYTES) & (F.trim(F.regexp_replace(text(), r"\s", "")) == "")


def no_message() -> Column:
    """Give the reason for skipping a line that is no message of its own, or NULL."""
    return F.when(is_blank(), "blank").when(F.col("stamp").isNull() & goes_on(text()), "continuation")


def untimed() -> Column:
    """Tell why the instant of a line is not known, or NULL. Nothing is guessed where clocks are changed."""
    stamp, zone = F.col("stamp"), F.col("time_zone")
    is_local = ~stamp.has_zone & zone.isNotNull() & ~zone.isin("UTC", "Etc/UTC", "Z", "GMT")
    known = is_local & stamp.logged_at.isNotNull()
    shown = F.from_utc_timestamp(stamp.logged_at, zone)
    later = [F.from_utc_timestamp(stamp.logged_at + F.expr(f"INTERVAL {by}"), zone) for by in OVERLAPS]
    is_twice = reduce(Column.__or__, (shown_later == stamp.wall for shown_later in later))
    return F.coalesce(
        fails(stamp.wall.isNull(), "impossible_timestamp", sample(text())),
        fails(stamp.logged_at.isNull() & stamp.has_zone, "impossible_timestamp", sample(text())),
        fails(stamp.logged_at.isNull(), "unknown_time_zone", zone),
        F.when(known, fails(shown != stamp.wall, "time_not_in_zone", zone)),
        F.when(known, fails(is_twice, "ambiguous_local_time", zone)),
    )
