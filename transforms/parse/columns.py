"""Columns that the rows of several parsers share, and the numbers that fit into one."""

from transforms.parse.line import Stamp
from transforms.parse.record import DAY_US, PARSER_VERSION, Record

INT, LONG = 2**31 - 1, 2**63 - 1
"""The largest values of a column: `IntegerType` and `LongType`."""

Origin = tuple[str | None, str | None, str | None, str | None, int | None, int | None, int]


def origin(record: Record) -> Origin:
    """Return the last columns of a row: where the record came from, and the parser's version."""
    return (
        record.node,
        record.source,
        record.position,
        record.topic,
        record.partition,
        record.offset,
        PARSER_VERSION,
    )


def stamp_columns(stamp: Stamp | None) -> tuple[int | None, int | None, float | None, int | None]:
    """Return `logged_at`, `logged_mono_ns`, `clock_resolution_ms`, `logged_date` of a line."""
    if stamp is None:
        return None, None, None, None
    at = stamp.logged_at
    return at, stamp.logged_mono_ns, stamp.clock_resolution_ms, None if at is None else at // DAY_US


def integer(digits: str | None, largest: int = INT) -> int | None:
    """
    Return the number that ASCII digits write, with or without a sign; None where the column cannot hold it.

    >>> integer("-12"), integer("2147483648"), integer("9" * 5_000), integer(None)
    (-12, None, None, None)
    """
    if not digits:
        return None
    try:
        number = int(digits)
    except ValueError:  # more digits than Python reads: `sys.get_int_max_str_digits()`
        return None
    return number if -largest - 1 <= number <= largest else None
