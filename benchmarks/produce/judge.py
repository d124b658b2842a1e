"""Compare the followers that Plumbline names with those of the oracle, request by request."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.produce.arms import DONE, ProduceArm
from benchmarks.produce.oracle import Oracle, of_logs
from collectors.files import discover
from conf.settings import Settings
from engine.gold.inputs import WholeInputs
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from schemas.rows import Row
from schemas.silver.requests import REQUESTS
from transforms.gold.produce_held.held import RELEASED, load_held
from transforms.sql import connect

FROM_MS = 2.0
"""Requests that were held by less are not judged: a tie names no follower."""

LEAST_AGREE, MOST_WRONG = 0.95, 0.02
CUT_LEAST_AGREE, CUT_MOST_WRONG = 0.93, 0.03
"""The targets for clocks finer than a millisecond, and for clocks of whole milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The requests of an arm from the begin of the slowness on, against the oracle."""

    requests: int
    held: int  # held by `FROM_MS` or more
    right: int
    wrong: int
    outcomes: dict[str, int]
    rise_ms: float | None  # of network at p10, of the delayed pair
    injected_ms: float | None
    parts_ms: dict[str, tuple[float, float]]  # medians of the pair, quiet and slow
    out_of_isr: int  # requests for which the oracle names a follower, and Plumbline one outside the ISR


def judge(arm: ProduceArm, folder: Path, *, whole_ms: bool = False) -> Judged:
    """Return the comparison; `whole_ms` cuts the clocks of the request log to milliseconds first."""
    done = json.loads((folder / DONE).read_text())
    requests, held = _held(folder, whole_ms=whole_ms)
    oracles = of_logs(folder / "lab" / "logs")
    rows = [row for row in held if row["topic"] == done["topic"]]
    slow = [row for row in rows if done["slow_ns"] <= row["logged_us"] * 1e3 < done["end_ns"]]
    quiet = [row for row in rows if done["quiet_ns"] <= row["logged_us"] * 1e3 < done["slow_ns"]]
    judged = [(row, _truth(row, requests[row["position"]], oracles)) for row in slow]
    clear = [
        (row, true)
        for row, true in judged
        if (row["held_ms"] or 0.0) >= FROM_MS and row["outcome"] == RELEASED
    ]
    pair = arm.delays[-1][:2] if arm.delays else (arm.paused, 1) if arm.paused else None
    of_pair = [
        [row for row in part if (row["follower_id"], row["leader_id"]) == pair] for part in (quiet, slow)
    ]
    return Judged(
        requests=len(slow),
        held=len(clear),
        right=sum(row["follower_id"] == true for row, true in clear),
        wrong=sum(true is not None and row["follower_id"] != true for row, true in clear),
        outcomes={
            name: sum(row["outcome"] == name for row in slow) for name in sorted({r["outcome"] for r in slow})
        },
        rise_ms=_rise(*of_pair),
        injected_ms=arm.delays[-1][2] if arm.delays else None,
        parts_ms={
            part: (_median(of_pair[0], part), _median(of_pair[1], part))
            for part in ("busy", "serve", "network", "take", "own_append", "round_trip")
        },
        out_of_isr=sum(
            row["follower_id"] == arm.stopped for row, true in judged if true not in {None, arm.stopped}
        )
        if arm.stopped
        else 0,
    )


def _truth(row: Row, request: Row, oracles: dict[int, Oracle]) -> int | None:
    """Return the follower that the leader's own log names; the lab has one topic a request."""
    parts = [((row["topic"], part["partition"]), part["offset"]) for part in request["partitions"] or []]
    return oracles[row["leader_id"]].releaser(parts)


def _held(folder: Path, *, whole_ms: bool) -> tuple[dict[str, Row], list[Row]]:
    logs, raw = folder / "lab" / "logs", folder / "raw"
    origin = Origin(folder=logs, cluster="lab", time_zone="UTC")
    write_raw(discover(logs).understood, origin, raw, on_file=lambda _: None)
    silver, _ = parse_files(raw_lines(raw), folder / "silver", Settings())
    if whole_ms:
        silver[REQUESTS] = ds.dataset(_cut(silver[REQUESTS].to_table()))
    produced = silver[REQUESTS].to_table(["position", "partitions"], filter=pc.field("api") == "PRODUCE")
    with connect({}) as db:
        load_held(db, WholeInputs(silver))
        found = db.sql("FROM held").to_arrow_table().to_pylist()
    return {row["position"]: row for row in produced.to_pylist()}, found


def _cut(rows: pa.Table) -> pa.Table:
    """Return request lines as a layout with whole milliseconds would have them."""
    at = rows["logged_at"].cast(pa.timestamp("ms", "UTC"), safe=False).cast(rows["logged_at"].type)
    rows = rows.set_column(rows.column_names.index("logged_at"), "logged_at", at)
    coarse = pa.array(np.ones(len(rows)))
    return rows.set_column(rows.column_names.index("clock_resolution_ms"), "clock_resolution_ms", coarse)


def _rise(quiet: list[Row], slow: list[Row]) -> float | None:
    before, during = (
        [row["network_ms"] for row in rows if row["network_ms"] is not None] for rows in (quiet, slow)
    )
    if min(len(before), len(during)) < 30:  # noqa: PLR2004 (a p10 needs them)
        return None
    return float(np.percentile(during, 10) - np.percentile(before, 10))


def _median(rows: list[Row], part: str) -> float:
    known = [row[f"{part}_ms"] for row in rows if row[f"{part}_ms"] is not None]
    return float(np.median(known)) if known else float("nan")


def is_met(arm: ProduceArm, judged: Judged, *, whole_ms: bool = False) -> bool:
    """Return whether an arm meets the targets of its requests."""
    if arm.acks != "all":
        return set(judged.outcomes) == {"not_held"}
    if judged.out_of_isr or judged.requests < 1_000:  # noqa: PLR2004 (the target)
        return False
    agree, wrong = (CUT_LEAST_AGREE, CUT_MOST_WRONG) if whole_ms else (LEAST_AGREE, MOST_WRONG)
    if judged.held and (judged.right < agree * judged.held or judged.wrong > wrong * judged.held):
        return False
    if judged.rise_ms is None or judged.injected_ms is None or whole_ms:
        return True
    return abs(judged.rise_ms - judged.injected_ms) <= max(0.6, 0.06 * judged.injected_ms)
