"""Nightly runs of one arm, as a report reads them."""

from datetime import UTC, datetime, timedelta

import numpy as np

from schemas.gold.perf_runs import PERF_RUNS

BEGIN = datetime(2026, 10, 1, 2, tzinfo=UTC)


def nights(n=40, *, changed_at=25, factor=1.3, arm="main", scenario="nightly"):
    """Make a summary line a night; from one on the latencies are others. In no order of time."""
    dice = np.random.default_rng(7)
    rows = []
    for nth in range(n):
        value = 100 * (factor if nth >= changed_at else 1.0) + dice.normal(0, 3)
        told = {
            "cluster": "lab",
            "run": f"night-{nth:03}",
            "arm": arm,
            "scenario": scenario,
            "logged_at": BEGIN + timedelta(days=nth),
            "is_steady_state": False,
            "records": 1000,
            "records_per_s": 2000.0 + dice.normal(0, 5),
            "avg_ms": value / 2,
            "p99_ms": value,
            "position": f"{arm}-{nth}",
        }
        rows.append(dict.fromkeys(PERF_RUNS.schema.names) | told)
    return rows[::-1]
