"""Rows of bronze for tests of the parsers."""

from datetime import UTC, datetime
from pathlib import Path

from schemas.bronze import RAW
from transforms.frames import frame_of

DATA = Path(__file__).parents[2] / "data"
INGESTED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)

COMPLETED = DATA.joinpath("request-log", "FETCH_follower.txt").read_bytes().strip()
CLIENT_LINES = DATA.joinpath("network-client.txt").read_bytes().splitlines()


def raw(spark, rows, **fields):
    """Make one row a value (or a dict of fields); positions count up unless they are given."""
    made = []
    for number, row in enumerate(rows):
        told = row if isinstance(row, dict) else {"value": row}
        common = {"cluster": "lab", "node": "broker-1", "source": "a.log", "position": f"p/{number}"}
        made.append(common | {"time_zone": "UTC", "ingested_at": INGESTED_AT} | fields | told)
    return frame_of(spark, made, RAW)


def outcomes(parsed):
    """Give (outcome, reason) by position."""
    return {
        row.position: (row.outcome, row.reason)
        for row in parsed.select("position", "outcome", "reason").collect()
    }
