"""The rows of `silver.brokers`: the brokers of a METADATA response or of a poll, with their racks."""

from collections.abc import Iterable
from typing import Any

from transforms.parse.columns import row_type
from transforms.parse.record import DAY_US, PARSER_VERSION

BrokerRow = row_type(
    "BrokerRow", "cluster broker_id rack reported_by logged_at logged_date position parser_version"
)


def broker_rows(
    cluster: str | None,
    logged_at: int,
    position: str | None,
    reported_by: str,
    racks: Iterable[tuple[int | None, str | None]],
) -> list[Any]:
    """
    Return a row for each broker of `racks`, pairs of broker id and rack; an empty rack is NULL.

    >>> [row[1:3] for row in broker_rows("lab", 0, "p/1", "poll", [(1, "east-1a"), (2, ""), (None, "x")])]
    [(1, 'east-1a'), (2, None)]
    """
    end = (reported_by, logged_at, logged_at // DAY_US, position, PARSER_VERSION)
    return [BrokerRow(cluster, broker, rack or None, *end) for broker, rack in racks if broker is not None]
