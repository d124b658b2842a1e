"""Bronze rows for tests; `records` has the lines."""

from datetime import UTC, datetime

from schemas.bronze import RAW
from transforms.frames import arrow_of

INGESTED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def raw(spark, rows, **fields):
    """Return `arrow_raw` as a frame."""
    return spark.createDataFrame(arrow_raw(rows, **fields), schema=RAW)


def arrow_raw(rows, **fields):
    """Return Arrow rows, one per value or dict of fields; default positions are consecutive numbers."""
    made = []
    for number, row in enumerate(rows):
        given = row if isinstance(row, dict) else {"value": row}
        common = {"cluster": "lab", "node": "broker-1", "source": "a.log", "position": f"p/{number}"}
        made.append(common | {"time_zone": "UTC", "ingested_at": INGESTED_AT} | fields | given)
    return arrow_of(made, RAW)
