"""Compare the followers that Plumbline names with those of the oracle, request by request."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.produce_held.held import chief
from benchmarks.produce.arms import DONE, ProduceArm
from benchmarks.produce.oracle import Oracle, Released, of_logs
from collectors.files import discover
from conf.settings import Settings
from engine.gold.inputs import WholeInputs
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from schemas.gold.produce_held import PRODUCE_HELD
from schemas.rows import Row
from schemas.silver.requests import REQUESTS
from transforms.gold.produce_held.held import NOT_HELD, RELEASED, UNMATCHED, load_held
from transforms.gold.produce_held.table import BUILD
from transforms.sql import connect

FROM_MS = 2.0
"""Requests that are held by less, by the leader's log, are not judged: a tie names no follower."""

MIN_REQUESTS, MIN_HELD, MIN_HELD_QUIET = 1_000, 200, 100
"""The minimum number of requests of an arm, and of those that are held with and without a slow follower."""

MOST_UNMATCHED = 0.02
"""The maximum share of requests for which no fetch fits."""

LEAST_RIGHT, MOST_WRONG = 0.95, 0.02
CUT_LEAST_RIGHT, CUT_MOST_WRONG = 0.93, 0.03
"""The targets for clocks finer than a millisecond, and for clocks of whole milliseconds."""

PARTS = ("busy", "serve", "network", "take", "own_append", "round_trip")
OF_REQUESTS = ["position", "partitions", "total_ms", "request_queue_ms", "local_ms", "logged_mono_ns"]

CLUSTER = "lab"

Pair = tuple[int, int]
"""A follower and a leader."""

MOVED_MS, STILL_MS = 1.0, 0.6
"""A slow disk raises the mean of its parts by this or more, the p10 of the round trip by less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The requests of an arm from the begin of the slowness on, against the oracle."""

    requests: int
    held: int  # held by `FROM_MS` or more, by the oracle
    right: int
    wrong: int
    outcomes: dict[str, int]
    rise_ms: float | None  # of network at p10, of the slow follower
    injected_ms: float | None
    means_ms: dict[str, tuple[float, float]]  # of the parts of the slow follower, quiet and slow
    trip_rise_ms: float | None  # of the round trip at p10, of the slow follower
    accused: tuple[Pair | None, Pair | None] = (None, None)  # by the answer, in the quiet and the slow time
    out_of_isr: int  # requests that name the stopped follower although the oracle does not


def judge(arm: ProduceArm, folder: Path, *, whole_ms: bool = False) -> Judged:
    """Return the comparison; `whole_ms` cuts the clocks of the request log to milliseconds first."""
    inputs = _inputs(folder, whole_ms=whole_ms)
    requests, held = _held(inputs)
    done = json.loads((folder / DONE).read_text())
    judged = compared(arm, done, held, requests, of_logs(folder / "lab" / "logs"))
    return replace(judged, accused=_accused(inputs, done))


def _accused(inputs: WholeInputs, done: Mapping[str, Any]) -> tuple[Pair | None, Pair | None]:
    """Return the pair that the answer accuses in the quiet time, and in the slow time."""
    gold = GoldReader.of_rows({PRODUCE_HELD: BUILD.rows(inputs)[PRODUCE_HELD]})
    begin, slow, end = (
        datetime.fromtimestamp(done[f"{name}_ns"] / 1e9, UTC) for name in ("quiet", "slow", "end")
    )
    selection = GoldSelection(gold=gold, cluster=CLUSTER, topic=done["topic"])
    found = (
        chief(replace(selection, since=since, until=until)) for since, until in ((begin, slow), (slow, end))
    )
    quiet, during = ((one.row["follower_id"], one.row["leader_id"]) if one else None for one in found)
    return quiet, during


def compared(
    arm: ProduceArm,
    done: Mapping[str, Any],
    held: Sequence[Row],
    requests: Mapping[str, Row],
    oracles: Mapping[int, Oracle],
) -> Judged:
    """
    Return the comparison of an arm's requests (`held`) with what their leaders logged.

    `done` has the instants of the arm and its topic, `requests` the lines of `held` by position.
    """
    rows = [row for row in held if row["topic"] == done["topic"]]
    during = [row for row in rows if done["slow_ns"] <= row["logged_us"] * 1e3 < done["end_ns"]]
    quiet = [row for row in rows if done["quiet_ns"] <= row["logged_us"] * 1e3 < done["slow_ns"]]
    judged = [(row, _truth(row, requests[row["position"]], oracles)) for row in during if row["remote_ms"]]
    clear = [(row, true.follower) for row, true in judged if true and true.held_ms >= FROM_MS]
    named = [(row["follower_id"], true) for row, true in clear if row["outcome"] == RELEASED]
    pair = _slow_pair(arm)
    of_pair = [
        [row for row in part if (row["follower_id"], row["leader_id"]) == pair] for part in (quiet, during)
    ]
    return Judged(
        requests=len(during),
        held=len(clear),
        right=sum(follower == true for follower, true in named),
        wrong=sum(follower != true for follower, true in named),
        outcomes=dict(Counter(sorted(row["outcome"] for row in during))),
        rise_ms=_rise("network", *of_pair),
        injected_ms=arm.delays[-1][2] if arm.delays else None,
        means_ms={part: (_mean(of_pair[0], part), _mean(of_pair[1], part)) for part in PARTS},
        trip_rise_ms=_rise("round_trip", *of_pair),
        out_of_isr=sum(
            row["follower_id"] == arm.stopped and (true is None or true.follower != arm.stopped)
            for row, true in judged
            if arm.stopped
        ),
    )


def _slow_pair(arm: ProduceArm) -> Pair | None:
    """Return follower and leader of the slow way; of a slow broker, its fetches from leader 1."""
    if arm.delays:
        follower, leader, _ = arm.delays[-1]
        return follower, leader
    slow = arm.disk or arm.paused
    return (slow, 1) if slow else None


def _truth(row: Row, request: Row, oracles: Mapping[int, Oracle]) -> Released | None:
    """Return what the leader's own log says; the lab has one topic a request."""
    parts = [((row["topic"], part["partition"]), part["offset"]) for part in request["partitions"] or []]
    handled_ms = request["total_ms"] - request["request_queue_ms"] - request["local_ms"]
    return oracles[row["leader_id"]].released(parts, request["logged_mono_ns"] - round(handled_ms * 1e6))


def _inputs(folder: Path, *, whole_ms: bool) -> WholeInputs:
    logs, raw = folder / "lab" / "logs", folder / "raw"
    origin = Origin(folder=logs, cluster=CLUSTER, time_zone="UTC")
    write_raw(discover(logs).understood, origin, raw, on_file=lambda _: None)
    silver, _ = parse_files(raw_lines(raw), folder / "silver", Settings())
    if whole_ms:
        silver[REQUESTS] = ds.dataset(_cut(silver[REQUESTS].to_table()))
    return WholeInputs(silver)


def _held(inputs: WholeInputs) -> tuple[dict[str, Row], list[Row]]:
    produced = inputs.rows(REQUESTS, OF_REQUESTS, where="api = 'PRODUCE'")
    with connect({"produced": produced}) as db:
        lines = db.sql("FROM produced").to_arrow_table().to_pylist()
        load_held(db, inputs)
        found = db.sql("FROM held").to_arrow_table().to_pylist()
    return {row["position"]: row for row in lines}, found


def _cut(rows: pa.Table) -> pa.Table:
    """Return request lines as a layout with whole milliseconds would have them."""
    at = rows["logged_at"].cast(pa.timestamp("ms", "UTC"), safe=False).cast(rows["logged_at"].type)
    rows = rows.set_column(rows.column_names.index("logged_at"), "logged_at", at)
    coarse = pa.array(np.ones(len(rows)))
    return rows.set_column(rows.column_names.index("clock_resolution_ms"), "clock_resolution_ms", coarse)


def _rise(part: str, quiet: list[Row], slow: list[Row]) -> float | None:
    before, during = (
        [row[f"{part}_ms"] for row in rows if row[f"{part}_ms"] is not None] for rows in (quiet, slow)
    )
    if min(len(before), len(during)) < 30:  # noqa: PLR2004 (a p10 needs them)
        return None
    return float(np.percentile(during, 10) - np.percentile(before, 10))


def _mean(rows: list[Row], part: str) -> float:
    known = [row[f"{part}_ms"] for row in rows if row[f"{part}_ms"] is not None]
    return float(np.mean(known)) if known else float("nan")


def is_met(arm: ProduceArm, judged: Judged, *, whole_ms: bool = False) -> bool:
    """Return whether an arm meets the targets of its requests."""
    if arm.acks != "all":
        return judged.requests >= MIN_REQUESTS and set(judged.outcomes) == {NOT_HELD}
    least_right, most_wrong = (CUT_LEAST_RIGHT, CUT_MOST_WRONG) if whole_ms else (LEAST_RIGHT, MOST_WRONG)
    slow = _slow_pair(arm)
    may_accuse = {slow} if arm.paused is None else {slow, None}
    is_named = (
        judged.accused[0] is None
        and judged.accused[1] in may_accuse
        and judged.requests >= MIN_REQUESTS
        and not judged.out_of_isr
        and judged.outcomes.get(UNMATCHED, 0) <= MOST_UNMATCHED * judged.requests
        and judged.held >= (MIN_HELD if arm.delays or arm.disk or arm.paused else MIN_HELD_QUIET)
        and judged.right >= least_right * judged.held
        and judged.wrong <= most_wrong * judged.held
    )
    return is_named and (whole_ms or (_is_risen(judged) and _is_of_disk(arm, judged)))


def _is_risen(judged: Judged) -> bool:
    """Return whether the network of a delayed follower rose by what was injected."""
    if judged.injected_ms is None:
        return True
    return judged.rise_ms is not None and abs(judged.rise_ms - judged.injected_ms) <= max(
        0.6, 0.06 * judged.injected_ms
    )


def _is_of_disk(arm: ProduceArm, judged: Judged) -> bool:
    """Return whether a slow disk or pauses show in the follower's own time, not in the round trip."""
    if arm.disk is None and arm.paused is None:
        return True
    moved_ms = sum(judged.means_ms[part][1] - judged.means_ms[part][0] for part in ("busy", "own_append"))
    is_still = judged.trip_rise_ms is not None and judged.trip_rise_ms < STILL_MS
    return is_still and (arm.disk is None or moved_ms >= MOVED_MS)
