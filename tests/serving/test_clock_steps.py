"""The clock of a broker steps: nothing is lost or doubled, and no negative time counts as a measurement."""

import re
from datetime import datetime, timedelta

import pyarrow.compute as pc
import pytest

from collectors.files import discover
from engine.ingest.raw_files import Origin, write_raw
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from serving.report.run.gold_of_files import rows_of_files
from tests.engine.made_logs import write_logs
from transforms.gold.fetch_latency.pairing import SHORTEST_MS

STAMP = re.compile(r"^(\S{26})\d{3}Z (\d+ )?")
SECONDS = 60

STEPS = {
    "an hour back, as at the end of summer time": -3_600.0,
    "an hour ahead": 3_600.0,
    "two seconds back by NTP": -2.0,
    "300 ms back, less than a fetch takes": -0.3,
    "two seconds ahead by NTP": 2.0,
}


def step(path, onset, seconds, *, has_monotonic):
    """Move the wall clock of a log by some seconds from an instant on; lines stay in file order."""

    def moved(line):
        stamp = STAMP.match(line)
        at = datetime.fromisoformat(stamp[1])
        at += timedelta(seconds=seconds) if at >= onset else timedelta()
        column = (stamp[2] or "") * has_monotonic
        return f"{at.isoformat(timespec='microseconds')}000Z {column}{line[stamp.end() :]}"

    path.write_text("".join(map(moved, path.read_text().splitlines(keepends=True))))


@pytest.mark.parametrize("has_monotonic", [True, False], ids=["monotonic", "wall"])
@pytest.mark.parametrize("seconds", STEPS.values(), ids=STEPS)
def test_a_step_of_a_clock_loses_doubles_and_invents_nothing(tmp_path, seconds, has_monotonic):
    logs = tmp_path / "logs"
    write_logs(logs, seconds=SECONDS, added_ms={}, onset_s=0)
    onset = datetime.fromisoformat("2026-11-21T11:03:30")
    for name in ("kafka-request.log", "client.log"):
        step(logs / "broker-2" / name, onset, seconds, has_monotonic=has_monotonic)
    lines = sum(len(path.read_bytes().splitlines()) for path in logs.rglob("*.log"))

    origin = Origin(folder=logs, cluster="lab", time_zone="UTC")
    write_raw(discover(logs).understood, origin, tmp_path / "raw", on_file=lambda _: None)
    rows = rows_of_files(tmp_path / "raw", tmp_path / "scratch", {})

    [counts] = [
        {name: pc.sum(rows[DATA_QUALITY][name]).as_py() or 0 for name in names}
        for names in [("lines_read", "kept", "duplicates", "quarantined", "skipped")]
    ]
    assert counts == {"lines_read": lines, "kept": lines, "duplicates": 0, "quarantined": 0, "skipped": 0}
    fetches = rows[FETCH_LATENCY]
    assert pc.sum(fetches["n"]).as_py() == lines / 3
    for table in (FETCH_LATENCY, BROKER_RTT):
        for name in rows[table].column_names:
            if name.endswith("_ms") and name != "clock_offset_ms":
                least = pc.min(rows[table][name]).as_py()
                assert least is None or least >= SHORTEST_MS, (table.name, name, least)
    trips = rows[BROKER_RTT]
    assert pc.max(trips["rtt_p50_ms"]).as_py() < 5.0
