"""A run for the comparison: its settings, its figures, how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

WHOLE, STEADY_STATE, BEHIND_WARM_UP = "whole", "steady_state", "behind_warm_up"
"""
The source of a run's figures: its summary line, the tool's line of the steady state (Kafka 4.2 and newer), or
its windows after the warm-up.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWindow:
    """Some seconds of a run: a window of 5 s as the tool prints it, or several of these."""

    at_s: float  # its end, counted from the start of the run
    seconds: float | None
    records: int
    records_per_s: float | None
    mib_per_s: float | None
    avg_ms: float | None
    max_ms: float | None
    is_measured: bool  # after the warm-up


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The first run of an arm on another level than the runs before it."""

    arm: str
    run: str
    at: datetime
    metric: str
    change: float  # mean from it on over the mean before it, less 1
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """One run of one arm. What is not known is None."""

    run: str
    arm: str
    scenario: str | None = None
    client_version: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    starts: int = 0  # starts with this name
    exit_code: int | None = None
    warm_up_s: float | None = None
    asked_records: int | None = None
    asked_records_per_s: float | None = None
    record_size_bytes: int | None = None
    configuration: Sequence[str] = ()
    summaries: int = 0  # summary lines, those of the steady state not counted
    sent_records: int | None = None  # of the summary line, whatever `method`
    is_rate_missed: bool = False
    method: str = WHOLE
    values: Mapping[str, float | None] = field(default_factory=dict)
    windows: Sequence[RunWindow] = ()

    @property
    def is_with_warm_up(self) -> bool:
        """Whether the figures include the first records."""
        return self.method == WHOLE
