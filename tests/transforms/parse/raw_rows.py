"""Rows of bronze for tests of the parsers."""

import json
from datetime import UTC, datetime
from pathlib import Path

from schemas.bronze import RAW
from transforms.frames import frame_of

DATA = Path(__file__).parents[2] / "data"
INGESTED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)

COMPLETED = DATA.joinpath("request-log", "FETCH_follower.txt").read_bytes().strip()
REQUEST_LINES = [file.read_bytes().strip() for file in sorted(DATA.joinpath("request-log").glob("*.txt"))]
CLIENT_LINES = DATA.joinpath("network-client.txt").read_bytes().splitlines()
HEAD, TAIL = (
    b"2026-11-21T09:19:28.987716710Z 2929988848476 DEBUG Completed request:",
    b" (kafka.request.logger)",
)
DOCUMENT = json.loads(COMPLETED.removeprefix(HEAD).removesuffix(TAIL))


def line(**changes):
    """Change fields of a real follower's fetch; a dotted name reaches inside, `...` removes."""
    document = json.loads(json.dumps(DOCUMENT))
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        place = document
        for name in path:
            place = place[name]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return HEAD + json.dumps(document, separators=(",", ":")).encode() + TAIL


def raw(spark, rows, **fields):
    """Make one row a value (or a dict of fields); positions count up unless they are given."""
    made = []
    for number, row in enumerate(rows):
        told = row if isinstance(row, dict) else {"value": row}
        common = {"cluster": "lab", "node": "broker-1", "source": "a.log", "position": f"p/{number}"}
        made.append(common | {"time_zone": "UTC", "ingested_at": INGESTED_AT} | fields | told)
    return frame_of(spark, made, RAW)
