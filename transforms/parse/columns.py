"""Columns that several parsers share, and integers that fit their column."""

from collections import namedtuple
from typing import Any

from transforms.parse.record import PARSER_VERSION, Record

INT, LONG = 2**31 - 1, 2**63 - 1
"""The largest values of `IntegerType` and `LongType`."""

STAMP = "logged_at logged_mono_ns clock_resolution_ms logged_date"
ORIGIN = "node source position topic partition offset parser_version"
"""The last columns of a row: the origin of the record, and the parser version."""

OriginColumns = tuple[str | None, str | None, str | None, str | None, int | None, int | None, int]


def row_type(name: str, *columns: str) -> Any:  # noqa: ANN401 (mypy cannot name a type made at run time)
    """
    Return a named tuple type with the columns of a silver table, in order; `schemas` documents them.

    >>> row_type("ClusterPoll", "cluster brokers", "topics")._fields
    ('cluster', 'brokers', 'topics')
    """
    return namedtuple(name, " ".join(columns))  # noqa: PYI024


def origin(record: Record) -> OriginColumns:
    """Return the last columns of a row: the origin of the record, and the parser version."""
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
    Return the integer of ASCII digits with an optional sign; None if it does not fit the column.

    >>> integer("-12"), integer("2147483648"), integer("9" * 5_000), integer(None)
    (-12, None, None, None)
    """
    if not digits:
        return None
    try:
        number = int(digits)
    except ValueError:  # There are more digits than `sys.get_int_max_str_digits()` allows.
        return None
    return number if -largest - 1 <= number <= largest else None
