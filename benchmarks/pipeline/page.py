"""docs/performance.md from what was measured; the section of sizes is another benchmark's."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from scipy import stats

from benchmarks.pipeline import aged, costs, freshness, lateness, scrapes
from benchmarks.pipeline.page_text import AGED, COSTS, FRESHNESS, HEAD, SCRAPES, VERSION_1
from conf.settings import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable

Rounds = dict[int, float]
"""What was measured in each round."""

LESS_START = "consumer perf test, less one record's"
PAGE = PROJECT / "docs" / "performance.md"


SAMPLES_AIM = 150_000
"""Samples that the parser is to read in a core-second."""


def write(state: Path, page: Path = PAGE) -> None:
    """Put the sections that were measured into the page; others stay as they are."""
    text = page.read_text() if page.exists() else ""
    memory = psutil.virtual_memory().total / 2**30
    text = _put(text, "head", HEAD.format(cores=psutil.cpu_count(), memory=memory))
    sections: dict[str, Callable[[Any], str]] = {
        "costs": _costs,
        "freshness": _freshness,
        "aged": _aged,
        "scrapes": _scrapes,
    }
    for part, made in sections.items():
        file = state / f"{part}.json"
        if file.exists():
            text = _put(text, part, made(json.loads(file.read_text())))
    page.write_text(text)
    print(f"written: {page}")


def _put(text: str, name: str, section: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    block = f"{begin}{section.rstrip()}\n{end}"
    if begin not in text:
        return f"{text}\n{block}" if text else block
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.DOTALL)


def _costs(told: dict[str, Any]) -> str:
    cpu: dict[str, Rounds] = defaultdict(dict)
    wall: dict[str, Rounds] = defaultdict(dict)
    for cost in told["costs"]:
        if cost["round"]:
            cpu[cost["arm"]][cost["round"]] = cost["cpu_s_per_million"]
            wall[cost["arm"]][cost["round"]] = cost["wall_s"]
    for of in (cpu, wall):
        of[LESS_START] = {nth: of[costs.CONSUMER][nth] - of[costs.START][nth] for nth in of[costs.CONSUMER]}
    against = {
        costs.BRONZE: (costs.CONSUMER, LESS_START),
        costs.INGEST: (costs.TEXTBOOK,),
        costs.GOLD: (costs.TEXTBOOK_GOLD,),
        costs.TEXTBOOK: (costs.INGEST,),
        costs.DUCKDB: (costs.INGEST,),
    }
    first = (costs.START, costs.CONSUMER, LESS_START)
    rows = []
    for arm in (*first, *(arm for arm in cpu if arm not in first)):
        ratios = "; ".join(f"{_ratio(cpu[arm], cpu[of])} of {of}" for of in against.get(arm, ()))
        rows.append(f"| {arm} | {_mean(cpu[arm]):.1f} | {_mean(wall[arm]):.1f} | {ratios} |")
    every = "\n".join(json.dumps(cost) for cost in told["costs"])
    numbers = {name: told[name] for name in ("n", "rounds", "batch")}
    compared = told["compared"]
    apart = (
        f"\n\nSilver of the last round: of {told['n']:,} lines ours has {compared['ours']:,} and the textbook's "
        f"{compared['textbook']:,}. {len(costs.SHARED)} shared columns, row for row: {compared['apart']:,} rows "
        f"differ.\n\nEvery round:\n\n```\n{every}\n```\n"
    )
    return COSTS.format(line_bytes=told["bytes"] / told["n"], **numbers) + "\n".join(rows) + VERSION_1 + apart


def _mean(of: Rounds) -> float:
    if min(of.values()) <= 0:
        return float("nan")
    return float(np.exp(np.mean(np.log(list(of.values())))))


def _ratio(ours: Rounds, theirs: Rounds) -> str:
    if min(*ours.values(), *theirs.values()) <= 0:
        return "none"
    logs = np.log([ours[nth] / theirs[nth] for nth in sorted(ours)])
    half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
    middle, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return f"**{middle:.2f}** ({low:.2f} to {high:.2f})"


def _freshness(told: list[dict[str, Any]]) -> str:
    rows: dict[str, list[str]] = defaultdict(list)
    for rate in told:
        per_s, layers = f"{rate['per_s']:,.0f}", [rate[layer] for layer in lateness.LAYERS]
        late = [_seconds(*layer[name]) for layer in layers for name in ("p50_s", "p99_s")]
        blocks = [f"{layer['blocks']} of {rate['measured_s'] / layer['blocks']:.0f} s" for layer in layers]
        rows["late"].append(_row(per_s, f"{rate['lines']:,}", *late, ", ".join(blocks)))
        rows["behind"] += [_row(per_s, name, *_behind(rate, rate[name])) for name in lateness.LAYERS]
        cores = [f"{used:.2f}" for used in rate["cores"].values()]
        rows["cost"].append(_row(per_s, *cores, *(f"{s:.0f}" for s in rate["cpu_s_per_million"].values())))
        rows["never"].append(
            f"At {per_s} lines/s {layers[0]['never']:,} lines never came to silver and "
            f"{layers[1]['never']:,} never to gold within two minutes behind the last."
        )
    return FRESHNESS.format(
        slow_s=freshness.SLOW_S,
        slow_per_s=freshness.SLOW_PER_S,
        settle_s=freshness.SETTLE_S,
        measured_s=np.mean([rate["measured_s"] for rate in told]),
        **{name: "\n".join(of) for name, of in rows.items()},
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _seconds(middle: float, low: float, high: float) -> str:
    return f"{middle:.2f} ({low:.2f} to {high:.2f})" if np.isfinite(low) else f"{middle:.2f} (no interval)"


def _behind(rate: dict[str, Any], layer: dict[str, Any]) -> tuple[str, str, str]:
    first, *_, last = layer["behind_of_thirds"]
    appended = rate["lines"] * (lateness.THIRDS - 1) / lateness.THIRDS  # between the middles of the two
    return (
        ", ".join(f"{p50:.2f}" for p50 in layer["p50_of_thirds_s"]),
        ", ".join(f"{lines:,.0f}" for lines in layer["behind_of_thirds"]),
        f"{(last - first) / appended:+.3f}",
    )


def _aged(told: dict[str, Any]) -> str:
    appends, checkpoints = (_by_table(told[name]) for name in ("measured", "measured_checkpoints"))
    every = aged.CHECKPOINT_EVERY
    share = {
        table: {nth: _mean(of) / every for nth in appends[table][0]} for table, (of, _) in checkpoints.items()
    }
    with_share = {
        table: (
            {nth: wall[nth] + share[table][nth] for nth in wall},
            [cpu_ms + np.mean(checkpoints[table][1]) / every for cpu_ms in cpu],
        )
        for table, (wall, cpu) in appends.items()
    }
    rows = []
    for what, of_tables in (
        ("append", appends),
        (f"a checkpoint, every {every} commits", checkpoints),
        ("append with its share of a checkpoint", with_share),
    ):
        youngest = min(of_tables)
        for age in sorted(of_tables):
            wall, cpu = of_tables[age]
            ratio = _ratio(wall, of_tables[youngest][0]) if age != youngest else ""
            rows.append(f"| {what} | {age:,} | {_mean(wall):,.0f} | {np.mean(cpu):,.0f} | {ratio} |")
    head = AGED.format(
        rows=told["rows"], appends=told["appends"], checkpoints=told["checkpoints"], every=every
    )
    return head + "\n".join(rows)


def _scrapes(told: dict[str, Any]) -> str:
    rate: dict[str, Rounds] = defaultdict(dict)
    wall: dict[str, Rounds] = defaultdict(dict)
    for cost in told["costs"]:
        if cost["round"]:
            rate[cost["arm"]][cost["round"]] = cost["samples_per_cpu_s"]
            wall[cost["arm"]][cost["round"]] = cost["wall_s"]
    rows = [
        f"| {arm} | {_mean(rate[arm]):,.0f} | {_mean(wall[arm]):.1f} | "
        f"{_ratio(rate[arm], rate[scrapes.CLIENT]) if arm != scrapes.CLIENT else ''} |"
        for arm in rate
    ]
    parsed = _mean(rate[scrapes.PARSE])
    aim = f"Aim of the parser: {SAMPLES_AIM:,}; {'met' if parsed >= SAMPLES_AIM else 'missed'}."
    every = "\n".join(json.dumps(cost) for cost in told["costs"])
    head = SCRAPES.format(
        page_bytes=told["bytes"] / told["pages"],
        heap=scrapes.HEAP,
        **{name: told[name] for name in ("pages", "samples", "rounds", "batch")},
    )
    return head + "\n".join(rows) + f"\n\n{aim}\n\nEvery round:\n\n```\n{every}\n```\n"


def _by_table(measured: list[dict[str, Any]]) -> dict[int, tuple[Rounds, list[float]]]:
    """Give wall times by round, and CPU times, of each age, without the round thrown away."""
    of: dict[int, tuple[Rounds, list[float]]] = defaultdict(lambda: ({}, []))
    for one in measured:
        if one["round"]:
            wall, cpu = of[one["age"]]
            wall[one["round"]] = one["wall_ms"]
            cpu.append(one["cpu_ms"])
    return of
