"""The metrics of a comparison, each with its unit, its direction and its step of rounding."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetric:
    """One number of a run. `step` is its rounding, in its unit; `weight` is the weight of a window."""

    name: str
    unit: str
    about: str
    is_lower_better: bool = True
    step: float = 0.0
    weight: str | None = None  # "records" or "seconds"; NULL if windows do not add up to it
    is_percentile: bool = False


def _percentile(name: str, about: str) -> RunMetric:
    return RunMetric(name=name, unit="ms", about=about, step=1.0, is_percentile=True)


OF_PERF_TEST = (
    RunMetric(
        name="records_per_s",
        unit="records/s",
        about="records sent per second",
        is_lower_better=False,
        weight="seconds",
    ),
    RunMetric(
        name="mib_per_s",
        unit="MiB/s",
        about="2^20 bytes sent per second",
        is_lower_better=False,
        step=0.01,
        weight="seconds",
    ),
    RunMetric(name="avg_ms", unit="ms", about="mean latency, send to ack", step=0.01, weight="records"),
    _percentile("p50_ms", "median latency"),
    _percentile("p95_ms", "p95 of latency"),
    _percentile("p99_ms", "p99 of latency"),
    _percentile("p999_ms", "p99.9 of latency"),
    RunMetric(name="max_ms", unit="ms", about="highest latency", step=1.0),
)

OF_GOLD = (
    RunMetric(
        name="partition_skew.max_over_mean", unit="", about="bytes of the fullest partition over the mean"
    ),
    RunMetric(name="partition_skew.coefficient_of_variation", unit="", about="of bytes by partition"),
    RunMetric(name="fetch_latency.leader_local_p50_ms", unit="ms", about="followers: the leader's own work"),
    RunMetric(name="fetch_latency.leader_local_p99_ms", unit="ms", about="the same, p99"),
    RunMetric(name="fetch_latency.true_p50_ms", unit="ms", about="followers: latency without the wait"),
    RunMetric(name="fetch_latency.true_p99_ms", unit="ms", about="the same, p99"),
    RunMetric(
        name="produce_held_p99_ms",
        unit="ms",
        about="what produce would save without the follower that it waits for, p99",
    ),
    RunMetric(
        name="leader_redirect.redirect_p50_ms", unit="ms", about="a moved leader: first error to success"
    ),
    RunMetric(name="leader_redirect.redirect_max_ms", unit="ms", about="the longest of them"),
    RunMetric(name="metadata_lookup.lookups", unit="", about="METADATA requests of the run"),
    RunMetric(name="metadata_lookup.topics_asked", unit="", about="topics asked for in them"),
    RunMetric(name="metadata_lookup.response_bytes", unit="bytes", about="size of the answers"),
)
"""Made of gold's windows between the end of a run's warm-up and its own; most names are table.column."""

METRICS = {metric.name: metric for metric in (*OF_PERF_TEST, *OF_GOLD)}
