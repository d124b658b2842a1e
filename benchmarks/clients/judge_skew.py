"""Compare the reported partitioners with what the lab did."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """One run of one arm: the share of the slow broker, and the partitioner that was named."""

    arm: str
    repeat: int
    records_per_s: float
    partitioner: str | None
    slow_ratio: float
    repeat_ratio: float | None
    stay_ratio: float | None
    named_partitioner: str | None
    batches: int
    achieved_per_s: float | None


def skews(truth: Row, tables: Mapping[str, Sequence[Row]]) -> list[Skew]:
    """Return each run with the share of the broker that was really slow, over the mean of the others."""
    of_run: dict[tuple[str | None, str], list[Row]] = defaultdict(list)
    for row in tables["partition_skew"]:
        of_run[row["run"], row["client_id"]].append(row)
    summaries = {(row["run"], row["client_id"]): row for row in tables["partition_skew_summary"]}
    achieved = {(row["run"], row["arm"]): row["records_per_s"] for row in tables["perf_summaries"]}
    found = []
    for run in truth["runs"]:
        rows = of_run[run["run"], run["client_id"]]
        slow = [row["share"] for row in rows if row["leader_id"] == truth["slow_broker_id"]]
        others = [row["share"] for row in rows if row["leader_id"] != truth["slow_broker_id"]]
        summary = summaries[run["run"], run["client_id"]]
        found.append(
            Skew(
                arm=run["arm"],
                repeat=run["repeat"],
                records_per_s=run["records_per_s"],
                partitioner=run["partitioner"],
                slow_ratio=(sum(slow) / len(slow)) / (sum(others) / len(others)),
                repeat_ratio=summary["repeat_ratio"],
                stay_ratio=summary["slowest_stay_ratio"],
                named_partitioner=summary["partitioner"],
                batches=summary["batches"],
                achieved_per_s=achieved.get((run["run"], run["arm"])),
            )
        )
    return found


def in_order(runs: Sequence[Skew]) -> dict[tuple[int, float], tuple[bool, bool]]:
    """Return for each repeat and rate whether sticky got 3 times as much, and sticky > uniform > adaptive."""
    ratios: dict[tuple[int, float], dict[str, float]] = defaultdict(dict)
    for run in runs:
        ratios[run.repeat, run.records_per_s][run.arm] = run.slow_ratio
    return {
        key: (
            min(of["default-partitioner"], of["uniform-sticky"]) >= 3,  # noqa: PLR2004 (the aim)
            min(of["default-partitioner"], of["uniform-sticky"]) > of["uniform"] > of["adaptive"],
        )
        for key, of in ratios.items()
    }


def above_all(runs: Sequence[Skew], records_per_s: float) -> int:
    """Count the rounds at a rate in which uniform sent the slow broker more than every adaptive arm did."""
    rounds: dict[int, dict[str | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.records_per_s == records_per_s:
            rounds[run.repeat][run.partitioner].append(run.slow_ratio)
    return sum(min(of["uniform"]) > max(of["adaptive"]) for of in rounds.values())


def named(runs: Sequence[Skew]) -> tuple[int, int, int]:
    """Count partitioners named right, all runs (with keys too) named wrong, and runs of partitioners."""
    with_partitioner = [run for run in runs if run.partitioner is not None]
    right = sum(run.named_partitioner == run.partitioner for run in with_partitioner)
    wrong = sum(run.named_partitioner not in (None, run.partitioner) for run in runs)
    return right, wrong, len(with_partitioner)
