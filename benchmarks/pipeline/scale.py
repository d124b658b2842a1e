"""How much each part measures: the full benchmark, and a smoke run of seconds that only tries the code."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes and durations of all parts."""

    lines: int  # of the topic that costs are measured on
    rounds: int  # that count; one more warms up
    rate_seconds: Mapping[float, float]  # how long each rate (lines/s) is measured
    slow_s: float  # lines come slowly while the programs start
    settle_s: float  # lines come at the measured rate before measuring begins
    quiet_s: float
    quiet_settle_s: float
    recorded_s: float  # of a quiet cluster
    pages: int
    ages: tuple[int, ...]  # commits
    appends: int
    checkpoints: int
    is_short: bool = False


FULL = Scale(
    lines=1_000_000,
    rounds=5,
    rate_seconds={2_000.0: 360.0, 10_000.0: 1_800.0},
    slow_s=60.0,
    settle_s=180.0,
    quiet_s=600.0,
    quiet_settle_s=180.0,
    recorded_s=60.0,
    pages=240,
    ages=(1, 100, 1_000, 10_000),
    appends=30,
    checkpoints=5,
)
SHORT = Scale(
    lines=10_000,
    rounds=1,
    rate_seconds={2_000.0: 15.0},
    slow_s=15.0,
    settle_s=10.0,
    quiet_s=20.0,
    quiet_settle_s=20.0,
    recorded_s=20.0,
    pages=6,
    ages=(1, 100),
    appends=5,
    checkpoints=2,
    is_short=True,
)
