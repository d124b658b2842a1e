"""A run as the comparison sees it: what it was asked for, what it came to, how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

WHOLE, STEADY_STATE, BEHIND_WARM_UP = "whole", "steady_state", "behind_warm_up"
"""
What a run's figures are of: its summary line, the tool's own line of the steady state (Kafka 4.2 and newer),
or its windows behind the warm-up.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWindow:
    """Some seconds of a run, 5 s as the tool prints them or several of these."""

    at_s: float  # its end, counted from the start of the run
    seconds: float | None
    records: int
    records_per_s: float | None
    mib_per_s: float | None
    avg_ms: float | None
    max_ms: float | None
    is_measured: bool  # behind the warm-up


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The first run of an arm that is of another level than those before it."""

    arm: str
    run: str
    at: datetime
    metric: str
    change: float  # mean behind it over mean before it, less 1
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """One run of one arm. What nobody told is None."""

    run: str
    arm: str
    scenario: str | None = None
    client_version: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    starts: int = 0  # how many were told under this name
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
        """Tell whether the figures are of all records, the first as well."""
        return self.method == WHOLE
