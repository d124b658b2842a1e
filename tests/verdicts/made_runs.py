"""Runs as the comparison sees them, from the few facts a test cares about."""

from datetime import UTC, datetime, timedelta

from verdicts.metrics import OF_PERF_TEST
from verdicts.runs import STEADY_STATE, RunFigures, RunWindow

BEGIN = datetime(2026, 11, 21, 9, tzinfo=UTC)


def run_of(name, arm, value, *, minute=0, **more):
    """Make a run that is well, whose metrics all come to one value."""
    known = {
        "started_at": BEGIN + timedelta(minutes=minute),
        "ended_at": BEGIN + timedelta(minutes=minute, seconds=50),
        "starts": 1,
        "exit_code": 0,
        "warm_up_s": 5.0,
        "asked_records": 1000,
        "summaries": 1,
        "sent_records": 1000,
        "method": STEADY_STATE,
        "configuration": ("--topic", "t", "--producer-props", "acks=1", f"client.id={arm}-{minute}"),
        "values": {metric.name: value for metric in OF_PERF_TEST},
    }
    return RunFigures(run=name, arm=arm, **known | more)


def blocks(baseline, contender, **more):
    """Make a block of each pair of values, the arms first in turn."""
    runs = []
    for nth, (theirs, ours) in enumerate(zip(baseline, contender, strict=True)):
        first = nth % 2
        runs.append(run_of(f"x-{nth:03}", "old", theirs, minute=4 * nth + 2 * first, **more))
        runs.append(run_of(f"x-{nth:03}", "new", ours, minute=4 * nth + 2 * (1 - first), **more))
    return runs


def window(at_s, avg_ms, *, records=100, is_measured=True):
    """Make a window of five seconds."""
    return RunWindow(
        at_s=at_s,
        seconds=5.0,
        records=records,
        records_per_s=records / 5,
        mib_per_s=1.0,
        avg_ms=avg_ms,
        max_ms=3 * avg_ms,
        is_measured=is_measured,
    )
