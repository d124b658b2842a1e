"""Parsers for the values of throttle configs (KIP-73)."""

import re

from transforms.parse.columns import ORIGIN, integer, row_type
from transforms.throttle_configs import UNLIMITED

WHOLE_NUMBER = re.compile(r"[\x00-\x20\x7f]*+([+-]?[0-9]++)[\x00-\x20\x7f]*+")


ThrottleChange = row_type(
    "ThrottleChange",
    "cluster broker_id logged_at logged_date resource resource_name config operation value",
    "rate_bytes_per_s replicas is_wildcard error_code is_applied told_by",
    ORIGIN,
)
"""A throttle config in a request or in a poll."""


def rate(value: str | None) -> int | None:
    """
    Return a rate in bytes per second; None if the value is not an integer.

    >>> rate(" 5242880 "), rate("1.5"), rate("9223372036854775808"), rate(None)
    (5242880, None, None, None)
    """
    return _number(value, UNLIMITED) if value is not None else None


def replicas(value: str | None) -> list[tuple[int, int]] | None:
    """
    Return the (partition, broker) pairs of `partition:broker,...`; None for `*` and for no value.

    Unreadable pairs and repeated pairs are left out.

    >>> [replicas(value) for value in ("0:1, 12:3,0:1", "", "*", "0:x,7:2", None)]
    [[(0, 1), (12, 3)], [], None, [(7, 2)], None]
    """
    if value is None or wildcard(value):
        return None
    pairs: dict[tuple[int, int], None] = {}
    for text in value.split(","):
        if ":" not in text:
            continue
        partition, broker, *_ = text.split(":")
        index, broker_id = _number(partition), _number(broker)
        if index is not None and broker_id is not None:
            pairs[index, broker_id] = None
    return list(pairs)


def wildcard(value: str | None) -> bool | None:
    """
    Return whether a list is `*`, which means every replica; None for no value.

    >>> wildcard("*"), wildcard("0:1"), wildcard(None)
    (True, False, None)
    """
    return None if value is None else value.strip(" ") == "*"


def _number(text: str, largest: int = 2**31 - 1) -> int | None:
    match = WHOLE_NUMBER.fullmatch(text)
    return integer(match[1], largest) if match else None
