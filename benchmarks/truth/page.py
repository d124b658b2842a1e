"""docs/truth.md: what was injected, what was measured, and whether they agree."""

from collections import Counter
from collections.abc import Sequence

import psutil

from benchmarks.pages import render
from benchmarks.truth.judge import (
    OTHERS_MS,
    OVERLAP,
    TOLERANCE,
    DemoResult,
    Named,
    Row,
    is_met,
    rate_per_hour,
    share,
)


def head() -> str:
    """Return the text on how it is measured."""
    return render("truth/head", cores=psutil.cpu_count())


def links_section(results: Sequence[tuple[Row, list[Row]]]) -> str:
    """One slowed pair: the rise of its round trip against the delay applied."""
    rows = []
    for truth, compared in results:
        for row in (r for r in compared if r["is_delayed"]):
            others = [
                abs(r["rise_ms"]) for r in compared if not r["is_delayed"] and r["method"] == row["method"]
            ]
            is_all_met = all(is_met(r) for r in compared if r["method"] == row["method"])
            rows.append(
                f"| {truth['delay_ms']:g} | {truth['records_per_s']:,.0f} | {row['method']} | {row['quantile']} | "
                f"{row['n_before']} / {row['n']} | {row['injected_ms']:.2f} | {row['rise_ms']:.2f} | "
                f"{row['error_ms']:+.2f} | {max(others):.2f} | {_yes(is_met=is_all_met)} |"
            )
    return render("truth/links", tolerance=TOLERANCE, others_ms=OTHERS_MS, rows=rows)


def plain_section(rows: Sequence[Row]) -> str:
    """Set what stock Kafka's total says of a slow broker beside true latency."""
    lines = [
        f"| {r['leader_id']} | {r['follower_id']} | {r['n']} | {r['total_p50_ms']:.1f} | {r['total_p99_ms']:.1f} | "
        f"{r['true_p50_ms']:.2f} | {'yes' if r['is_delayed'] else 'no'} |"
        for r in rows
    ]
    return render("truth/plain", rows=lines)


def shapes_section(results: Sequence[Named]) -> str:
    """Each shape, how often it was named rightly within 30 s, and how soon."""
    lines = []
    kinds = sorted({(r.shape.split()[0], r.records_per_s > 0) for r in results})
    for kind, is_busy in [*kinds, *((k, None) for k in sorted({k for k, _ in kinds}))]:
        tries = [r for r in results if r.shape.split()[0] == kind and is_busy in (None, r.records_per_s > 0)]
        right = sum(r.is_right for r in tries)
        low, high = share(right, len(tries))
        after = sorted(r.after_s for r in tries if r.after_s is not None)
        onset = sorted(abs(r.since_error_s) for r in tries if r.since_error_s is not None)
        load = {None: "**all**", False: "idle", True: "500 records/s"}[is_busy]
        lines.append(
            f"| {kind} | {load} | {right} of {len(tries)} | {low:.0%} to {high:.0%} | "
            f"{after[len(after) // 2] if after else float('nan'):.0f} | "
            f"{onset[len(onset) // 2] if onset else float('nan'):.0f} |"
        )
    missed = Counter(
        f"{r.shape} at {r.records_per_s:g} records/s: reported {r.reported}"
        for r in results
        if not r.is_right
    )
    return render("truth/shapes", rows=lines, missed=missed)


def healthy_section(found: Sequence[Row], windows: int, before: int, seconds: float) -> str:
    """Return the false alarms of healthy windows; `before` is the number of windows recorded before them."""
    rate, low, high = rate_per_hour(len(found), seconds / 3600)
    return render(
        "truth/healthy",
        found=found,
        windows=windows,
        before=before,
        minutes=seconds / 60,
        rate=rate,
        low=low,
        high=high,
    )


def demos_section(demos: Sequence[DemoResult]) -> str:
    """Count the demos whose findings are exactly what was injected."""
    right = sum(one.is_right for one in demos)
    return render("truth/demos", demos=demos, right=right, interval=share(right, len(demos)), overlap=OVERLAP)


def _yes(*, is_met: bool) -> str:
    return "yes" if is_met else "**no**"
