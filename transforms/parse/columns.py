"""Columns that the rows of several parsers share, and the numbers that fit into one."""

from collections import namedtuple
from typing import Any

from transforms.parse.record import PARSER_VERSION, Record

INT, LONG = 2**31 - 1, 2**63 - 1
"""The largest values of a column: `IntegerType` and `LongType`."""

STAMP = "logged_at logged_mono_ns clock_resolution_ms logged_date"
ORIGIN = "node source position topic partition offset parser_version"
"""The last columns of a row: where the record came from, and the parser's version."""

Origin = tuple[str | None, str | None, str | None, str | None, int | None, int | None, int]


def row_type(name: str, *columns: str) -> Any:  # noqa: ANN401 - a type that is made here has no name for mypy
    """
    Return a named tuple with the columns of a table of silver, in their order; `schemas` says what they mean.

    >>> row_type("ClusterPoll", "cluster brokers", "topics")._fields
    ('cluster', 'brokers', 'topics')
    """
    return namedtuple(name, " ".join(columns))  # noqa: PYI024


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
