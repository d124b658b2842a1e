"""The size of each part: of the full benchmark, and of a smoke run of seconds that only tries the code."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes and durations of all parts."""

    lines: int  # lines of the topic for `costs`
    rounds: int  # measured rounds, after one warm-up round
    rate_seconds: Mapping[float, float]  # measured seconds by rate (lines/s)
    slow_s: float  # seconds at a low rate while the programs start
    settle_s: float  # seconds at the measured rate before measuring begins
    quiet_s: float
    quiet_settle_s: float
    lines_s: float  # seconds of a quiet cluster without scrapes, to measure batches of gold
    recorded_s: float  # seconds of the recording of a quiet cluster
    moves: int  # recorded moves of replicas under a throttle
    hour_s: float  # seconds of silver at the low rate that gold takes in at once
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
    lines_s=180.0,
    recorded_s=60.0,
    moves=4,
    hour_s=3_600.0,
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
    lines_s=20.0,
    recorded_s=20.0,
    moves=1,
    hour_s=30.0,
    pages=6,
    ages=(1, 100),
    appends=5,
    checkpoints=2,
    is_short=True,
)
