"""What `plumbline export` serves, and how much of it: a part of the settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Gold as Prometheus metrics; docs/prometheus-export.md tells what each limit bounds."""

    port: int = 9464
    span_s: int = 60  # of quantiles and rates: so much of the newest settled gold
    events_span_s: int = 300  # of what is rare: redirects, lookups, skew
    fresh_s: int = 300  # settled gold that is older is not served, only its age
    remember_s: int = 3_600  # a broker that is silent for longer is forgotten
    pairs: int = 1_000  # pairs of brokers, the slowest first
    topics: int = 20  # topics, those with the most bytes first
    clients: int = 20  # client ids, the worst first
