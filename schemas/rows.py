"""A row of a table in Python, and its cells in JSON."""

import math
from datetime import UTC, datetime
from typing import Any

Row = dict[str, Any]
"""One row of a table: column name -> value; instants are aware datetimes in UTC."""


def plain(value: Any) -> Any:  # noqa: ANN401 (a cell of any type)
    """Make a cell fit for JSON: instants as ISO-8601 UTC with `Z`, what is no finite number as NULL."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(cell) for key, cell in value.items()}
    if isinstance(value, list | tuple):
        return [plain(cell) for cell in value]
    return value


def iso(instant: datetime) -> str:
    """
    Write an instant as ISO-8601 UTC, with as many decimals as it has, at most microseconds.

    Raises:
        ValueError: the instant has no zone, so nobody knows which one it is.

    >>> iso(datetime(2026, 11, 21, 11, 4, 20, tzinfo=UTC))
    '2026-11-21T11:04:20Z'

    """
    if instant.tzinfo is None:
        message = f"{instant!r} has no time zone"
        raise ValueError(message)
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
