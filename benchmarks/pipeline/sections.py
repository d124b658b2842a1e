"""The sections of docs/performance.md, one per part, as Markdown."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.pages import render
from benchmarks.pipeline import programs
from benchmarks.pipeline.arms import aged, costs, hour, lateness, quiet, scrapes
from benchmarks.pipeline.arms.freshness import SLOW_PER_S
from benchmarks.pipeline.arms.quiet_lines import INTERVAL_S, MOVE, MOVES
from benchmarks.pipeline.intervals import Estimate, Rounds, mean, ratio, rounds_by_arm
from benchmarks.pipeline.targets import EVERY, Document, aged_walls, shown
from conf.names import Kind

LESS_START = "consumer perf test, less one record's"
RATIOS = {
    costs.INGEST: (costs.TEXTBOOK, costs.DUCKDB, costs.CONSUMER, LESS_START),
    costs.GOLD: (costs.TEXTBOOK_GOLD,),
}


def of_costs(document: Document) -> str:
    """Return the section about CPU seconds per million lines."""
    cpu, wall = (rounds_by_arm(document["costs"], name) for name in ("cpu_s_per_million", "wall_s"))
    for by_arm in (cpu, wall):
        start, all_of_it = by_arm[costs.START], by_arm[costs.CONSUMER]
        by_arm[LESS_START] = {nth: all_of_it[nth] - start[nth] for nth in start}
    first = (costs.START, costs.CONSUMER, LESS_START)
    table = []
    for arm in (*first, *(arm for arm in cpu if arm not in first)):
        ratios = "; ".join(
            f"{bold(ratio(cpu[arm], cpu[theirs]))} of {theirs}" for theirs in RATIOS.get(arm, ())
        )
        table.append(row(arm, shown(mean(cpu[arm]), 1), f"{mean(wall[arm]).value:.1f}", ratios))
    compared, gold = document["compared"], document["gold"]
    return render(
        "performance/costs",
        gold_batches=gold["batches"],
        filled=", ".join(f"`{name}`" for name, has_rows in gold["tables"].items() if has_rows),
        jvm_options=" or ".join(f"`{options}`" for options in sorted(set(document["jvm_options"].values()))),
        line_bytes=document["bytes"] / document["n"],
        table="\n".join(table),
        shared=len(costs.SHARED),
        product=compared["ours"],
        textbook=compared["textbook"],
        apart=compared["apart"],
        every=_every_round(document),
        **{name: document[name] for name in ("n", "rounds", "batch")},
    )


def of_freshness(document: Document) -> str:
    """Return the section about freshness, of the ingest alone or with gold."""
    runs = document["runs"]
    late, backlog, used, never = list[str](), list[str](), list[str](), list[str]()
    for run in runs:
        name = f"{run['per_s']:,.0f}"
        late += _late(run, name)
        for layer in _layers(run):
            backlog.append(row(name, layer, *_backlog(run[layer])))
            never.append(f"{name}, {layer}: {run[layer]['never']:,}")
        used += [
            row(name, program, *_used(of), f"{run['cpu_s_per_million'][program]:.0f}")
            for program, of in run["usage"].items()
        ]
    return render(
        "performance/freshness",
        variant="with gold" if runs[0]["with_gold"] else "of the ingest alone",
        slow_s=document["slow_s"],
        slow_per_s=SLOW_PER_S,
        settle_s=document["settle_s"],
        late="\n".join(late),
        backlog="\n".join(backlog),
        used="\n".join(used),
        memory_is=_memory_is(runs),
        never="; ".join(never),
    )


def of_quiet(document: Document) -> str:
    """Return the section about the quiet cluster."""
    runs, used, late = document["runs"], list[str](), list[str]()
    for run in runs:
        name = "ingest and build-gold" if run["with_gold"] else "ingest alone"
        of, under_test = run["usage"], (programs.INGEST, programs.GOLD)
        late += _late(run, name)
        used += [row(name, program, *_used(figures)) for program, figures in of.items()]
        both = [of[program] for program in under_test if program in of]
        if len(both) > 1:
            total = {key: sum(figures[key] for figures in both) for key in ("cores", "memory_gb", "peak_gb")}
            used.append(row(name, "**ingest + build-gold**", *_used(total)))
    sent = {name: f"{n:,}" for name, n in runs[0]["sent"].items()}
    return render(
        "performance/quiet",
        measured_s=runs[0]["measured_s"],
        settle_s=document["settle_s"],
        max_trigger_delay_s=runs[0]["max_trigger_delay_s"],
        reader_s=quiet.TURN_S,
        used="\n".join(used),
        late="\n".join(late),
        memory_is=_memory_is(runs),
        moves_name=MOVES,
        moved_mb=MOVE.total_bytes / 1e6,
        limit_mb=MOVE.limit_bytes_per_s / 1e6,
        batches="\n".join(_batches(batch for run in runs for batch in run["batches"])),
        sent=", ".join(f"{n} {name}" for name, n in sorted(sent.items())),
        quarantined=", ".join(f"{run['quarantined']:,}" for run in runs),
        scrape_s=INTERVAL_S[Kind.METRICS],
        poll_s=INTERVAL_S[Kind.CLUSTER],
        request_log=1 / INTERVAL_S[Kind.REQUEST_LOG],
        client_log=1 / INTERVAL_S[Kind.CLIENT_LOG],
        state_change=1 / INTERVAL_S[Kind.STATE_CHANGE],
    )


def _batches(batches: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a row for each set of builds in a stage, in the order of the stages."""
    groups: dict[tuple[str, frozenset[str]], list[dict[str, Any]]] = {}
    for batch in batches:
        groups.setdefault((batch["stage"], frozenset(batch["builds"])), []).append(batch)
    for (stage, builds), group in groups.items():
        cpu, wall = (shown(mean(dict(enumerate(b[key] for b in group))), 2) for key in ("cpu_s", "wall_s"))
        names = f"all {len(EVERY)}" if builds == EVERY else ", ".join(sorted(builds)) or "none"
        yield row(stage, names, f"{len(group)}", cpu, wall)


def of_aged(document: Document) -> str:
    """Return the section about aged tables."""
    every = aged.CHECKPOINT_EVERY
    appends, checkpoints = (
        (aged_walls(document[name]), _mean_cpu(document[name]))
        for name in ("measured", "measured_checkpoints")
    )
    share = {age: mean(walls).value / every for age, walls in checkpoints[0].items()}
    with_share = (
        {age: {nth: ms + share[age] for nth, ms in walls.items()} for age, walls in appends[0].items()},
        {age: ms + checkpoints[1][age] / every for age, ms in appends[1].items()},
    )
    table = []
    for what, (walls, cpu) in (
        ("append", appends),
        (f"a checkpoint, every {every} commits", checkpoints),
        ("append with its share of a checkpoint", with_share),
    ):
        youngest = min(walls)
        for age in sorted(walls):
            old = "" if age == youngest else bold(ratio(walls[age], walls[youngest]))
            table.append(row(what, f"{age:,}", f"{mean(walls[age]).value:,.1f}", f"{cpu[age]:,.1f}", old))
    return render(
        "performance/aged",
        every=every,
        table="\n".join(table),
        **{name: document[name] for name in ("rows", "appends", "checkpoints")},
    )


def of_scrapes(document: Document) -> str:
    """Return the section about scrapes."""
    rate, wall = (rounds_by_arm(document["costs"], name) for name in ("samples_per_cpu_s", "wall_s"))
    table = [
        row(
            arm,
            shown(mean(rate[arm]), 0),
            f"{mean(wall[arm]).value:.1f}",
            "" if arm == scrapes.CLIENT else bold(ratio(rate[arm], rate[scrapes.CLIENT])),
        )
        for arm in rate
    ]
    return render(
        "performance/scrapes",
        table="\n".join(table),
        every=_every_round(document),
        **{name: document[name] for name in ("pages", "bytes_a_page", "samples", "rounds", "batch")},
    )


def of_hour(document: Document) -> str:
    """Return the section about an hour of silver at once."""
    builds, sizes = document["builds"], ("all_gb", "jvm_gb", "python_gb", "heap_used_gb", "heap_left_gb")
    table = [
        row(
            build["way"],
            f"{build['batches'] or ''}",
            f"{build['wall_s']:.0f}"
            if not build["exit_code"]
            else f"**failed**, exit code {build['exit_code']}",
            *(f"{build[size]:.2f}" for size in sizes),
        )
        for build in builds
    ]
    return render(
        "performance/hour",
        table="\n".join(table),
        n=document["n"],
        per_s=document["per_s"],
        heap=document["heap"],
        every_s=hour.MEMORY_EVERY_S,
        memory_is=_memory_is(builds),
    )


def row(*cells: str) -> str:
    """Return one row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def bold(figure: Estimate) -> str:
    """Return a ratio in bold, with its interval."""
    value, space, interval = shown(figure, 2).partition(" ")
    return f"**{value}**{space}{interval}"


def _every_round(document: Document) -> str:
    return "\n".join(json.dumps(cost) for cost in document["costs"])


def _layers(run: Document) -> list[str]:
    return [layer for layer in (lateness.SILVER, lateness.GOLD, lateness.VERDICT) if layer in run]


def _late(run: Document, name: str) -> list[str]:
    """Return a row for each layer of a run with p50, p99 and blocks."""
    rows = []
    for layer in _layers(run):
        blocks, seconds = run[layer]["blocks"], [_seconds(run[layer][q]) for q in ("p50_s", "p99_s")]
        each = f"{blocks} of {run['measured_s'] / blocks:.0f} s"
        rows.append(row(name, f"{run['lines']:,}", layer, *seconds, each))
    return rows


def _seconds(figures: list[float]) -> str:
    middle, low, high = figures
    return f"{middle:.2f} ({low:.2f} to {high:.2f})" if np.isfinite(low) else f"{middle:.2f} (no interval)"


def _backlog(layer: Document) -> tuple[str, str, str]:
    return (
        ", ".join(f"{p50:.2f}" for p50 in layer["p50_of_thirds_s"]),
        ", ".join(f"{lines:,.0f}" for lines in layer["backlog_of_thirds"]),
        f"{layer['backlog_growth']:+.4f}",
    )


def _used(figures: dict[str, float]) -> tuple[str, str, str]:
    return f"{figures['cores']:.3f}", f"{figures['memory_gb']:.2f}", f"{figures['peak_gb']:.2f}"


def _memory_is(runs: list[dict[str, Any]]) -> str:
    return " or ".join(sorted({run["memory_is"] for run in runs}))


def _mean_cpu(measured: list[dict[str, Any]]) -> Rounds:
    """Return the mean CPU time in ms by age, without the warm-up round 0."""
    ages = {one["age"] for one in measured}
    return {
        age: float(np.mean([one["cpu_ms"] for one in measured if one["age"] == age and one["round"]]))
        for age in ages
    }
