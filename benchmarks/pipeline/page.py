"""docs/performance.md from what was measured; the section of sizes is another benchmark's."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from scipy import stats

from benchmarks.pipeline import costs
from conf.settings import DELTA, LIGHT, PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = PROJECT / "docs" / "performance.md"

HEAD = """Measured by `make bench` on one machine of {cores} cores and {memory:.0f} GiB that also runs the broker and the
load. Read ratios, not seconds: another machine has other seconds. Losing rows stand beside the winning ones.
"""

COSTS = """## CPU-seconds per million request-log lines

One topic of {n:,} real lines ({line_bytes:,.0f} bytes a line, recorded from three brokers under load and
repeated with their clocks moved on), every arm once a round, {rounds} rounds behind one that is thrown away, the
Spark arms in one warm session of `local[2]`. CPU is that of the process and its children, the broker's is not in
it. The ratio is taken within a round: mean and 95 % interval over rounds (Student, logarithms).

| what | CPU-s per million | wall s | ratio |
| --- | --- | --- | --- |
"""

FRESHNESS = """## Freshness

From the broker's append to visible, told by a reader of its own that polls the Delta logs every 20 ms: in silver
once it has read the row, in gold once it has seen a commit of `gold.fetch_latency` built from that row.
`plumbline ingest` and `nice -n 5 plumbline build-gold --follow`, beside the broker and the load on the same
cores, measured after five minutes of warming up. Seconds, with 95 % intervals (blocks of 10 s resampled); "thirds"
are p50 to silver in the first and the last third of the time.

| lines/s | lines | silver p50 | silver p99 | gold p50 | gold p99 | thirds | cores: ingest, gold |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""

AGED = """## One append on a table of that age

{rows:,} real rows into `silver.requests`, {appends} rounds behind one thrown away, all tables and both
committers in random order within a round. Aged with delta-rs, a file a commit. Medians; the ratio is to
the youngest table within a round: mean and 95 % interval.

| committer | commits before | wall ms | CPU ms | wall, aged / young |
| --- | --- | --- | --- | --- |
"""


def write(state: Path) -> None:
    """Put the sections that were measured into the page; others stay as they are."""
    text = PAGE.read_text() if PAGE.exists() else ""
    memory = psutil.virtual_memory().total / 2**30
    text = _put(text, "head", HEAD.format(cores=psutil.cpu_count(), memory=memory))
    sections: dict[str, Callable[[Any], str]] = {"costs": _costs, "freshness": _freshness, "aged": _aged}
    for part, made in sections.items():
        file = state / f"{part}.json"
        if file.exists():
            text = _put(text, part, made(json.loads(file.read_text())))
    PAGE.write_text(text)
    print(f"written: {PAGE}")


def _put(text: str, name: str, section: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    block = f"{begin}{section.rstrip()}\n{end}"
    if begin not in text:
        return f"{text}\n{block}" if text else block
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.DOTALL)


def _costs(told: dict[str, Any]) -> str:
    cpu: dict[str, dict[int, float]] = defaultdict(dict)
    wall: dict[str, list[float]] = defaultdict(list)
    for cost in told["costs"]:
        if cost["round"]:
            cpu[cost["arm"]][cost["round"]] = cost["cpu_s_per_million"]
            wall[cost["arm"]].append(cost["wall_s"])
    against = {
        costs.BRONZE: costs.CONSUMER,
        costs.INGEST: costs.TEXTBOOK,
        costs.DELTA: costs.INGEST,
        costs.GOLD: costs.TEXTBOOK_GOLD,
        costs.TEXTBOOK: costs.INGEST,
        costs.DUCKDB: costs.INGEST,
    }
    rows = [
        f"| {arm} | {np.median(list(of.values())):.1f} | {np.median(wall[arm]):.1f} | "
        f"{_ratio(of, cpu[against[arm]]) + ' of ' + against[arm] if arm in against else ''} |"
        for arm, of in cpu.items()
    ]
    every = "\n".join(json.dumps(cost) for cost in told["costs"])
    head = COSTS.format(n=told["n"], line_bytes=told["bytes"] / told["n"], rounds=told["rounds"])
    apart = (
        f"\n\nSilver of ours and of the textbook, {len(costs.SHARED)} shared columns, row for row: "
        f"{told['differences']} rows differ.\n\nEvery round:\n\n```\n{every}\n```\n"
    )
    return head + "\n".join(rows) + apart


def _ratio(ours: dict[int, float], theirs: dict[int, float]) -> str:
    logs = np.log([ours[nth] / theirs[nth] for nth in sorted(ours)])
    half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
    middle, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return f"**{middle:.2f}** ({low:.2f} to {high:.2f})"


def _freshness(told: list[dict[str, Any]]) -> str:
    rows = []
    for rate in told:
        cells = [
            f"{mid:.2f} ({low:.2f} to {high:.2f})"
            for layer in ("silver_s", "gold_s")
            for mid, low, high in (rate[layer]["p50"], rate[layer]["p99"])
        ]
        thirds = f"{rate['silver_p50_first_third_s']:.2f}, {rate['silver_p50_last_third_s']:.2f}"
        cores = ", ".join(f"{used:.2f}" for used in rate["cores"].values())
        rows.append(
            f"| {rate['per_s']:,.0f} | {rate['lines']:,} | {' | '.join(cells)} | {thirds} | {cores} |"
        )
    missing = [
        f"At {rate['per_s']:,.0f} lines/s {rate['never_in_silver']:,} lines never came to silver and "
        f"{rate['never_in_gold']:,} never to gold within two minutes behind the last."
        for rate in told
    ]
    return FRESHNESS + "\n".join(rows) + "\n\n" + "\n".join(missing)


def _aged(told: dict[str, Any]) -> str:
    wall: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    cpu: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in told["measured"]:
        if one["round"]:
            wall[one["committer"], one["age"]][one["round"]] = one["wall_ms"]
            cpu[one["committer"], one["age"]].append(one["cpu_ms"])
    rows = []
    for committer in (LIGHT, DELTA):
        ages = sorted(age for name, age in wall if name == committer)
        for age in ages:
            of = wall[committer, age]
            ratio = _ratio(of, wall[committer, ages[0]]) if age != ages[0] else ""
            middle, cpu_ms = np.median(list(of.values())), np.median(cpu[committer, age])
            rows.append(f"| {committer} | {age:,} | {middle:,.0f} | {cpu_ms:,.0f} | {ratio} |")
    return AGED.format(rows=told["rows"], appends=told["appends"]) + "\n".join(rows)
