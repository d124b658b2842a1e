"""A table row in Python, and the JSON form of its cells."""

import math
from datetime import UTC, datetime
from typing import Any

Row = dict[str, Any]
"""One table row: column name -> value. Instants are time-zone-aware datetimes in UTC."""


def plain(value: Any) -> Any:  # noqa: ANN401 (a cell of any type)
    """
    Return a cell for JSON: instants as ISO 8601 in UTC with `Z`, NaN and infinities as None.

    The surrogates of a file name that is not UTF-8 are written out.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
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
    Return an instant as ISO 8601 text in UTC, with microseconds only if they are not zero.

    Raises:
        ValueError: the instant has no time zone, so it is ambiguous.

    >>> iso(datetime(2026, 11, 21, 11, 4, 20, tzinfo=UTC))
    '2026-11-21T11:04:20Z'

    """
    if instant.tzinfo is None:
        message = f"{instant!r} has no time zone: pass an aware datetime"
        raise ValueError(message)
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
