"""Every metric that is served: its meaning, its labels, and the column of gold that it comes from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportedMetric:
    """All are gauges: gold restates windows, and what is restated is no counter. All have `cluster`."""

    name: str
    help: str
    labels: tuple[str, ...]
    source: str  # table.column of gold


def _m(name: str, source: str, about: str, *labels: str) -> ExportedMetric:
    return ExportedMetric("plumbline_" + name, about, ("cluster", *labels), source)


_FETCH = ("broker", "kind", "quantile")
_PAIR = ("follower", "leader", "method", "quantile")
_SIDE = ("broker", "direction")

METRICS = (
    _m("gold_settled_timestamp_seconds", "fetch_latency.is_settled", "End of the newest settled window."),
    _m("brokers_expected", "fetch_latency.nodes_expected", "Brokers seen around that window."),
    _m("brokers_reporting", "fetch_latency.nodes_reporting", "Brokers with a line in that window."),
    _m("broker_last_seen_timestamp_seconds", "fetch_latency.window_start",
       "End of the newest window with a fetch in the broker's request log, or with its metrics.",
       "broker", "source"),
    _m("lines_read", "data_quality.lines_read", "Lines that bronze holds.", "node", "kind"),
    _m("lines_quarantined", "data_quality.quarantined", "Of these, quarantined.", "node", "kind"),
    _m("quarantined_ratio", "data_quality.quarantined", "Share of these lines, 0 to 1.", "node", "kind"),
    _m("fetches", "fetch_latency.n", "Fetches in the span.", "broker", "kind"),
    _m("fetch_total_seconds", "fetch_latency.total_hist", "Total time of fetches, purgatory included.", *_FETCH),
    _m("fetch_leader_local_seconds", "fetch_latency.leader_local_hist", "Total less remote: the leader's own "
       "work.", *_FETCH),
    _m("fetch_true_seconds", "fetch_latency.true_hist", "Elapsed at the follower less remote (KIP-736).", *_FETCH),
    _m("consumer_leader_local_seconds", "fetch_latency.leader_local_hist", "Total less remote of a consumer's "
       "fetches; the slowest clients.", "client", "quantile"),
    _m("pair_round_trip_seconds", "broker_rtt.rtt_hist", "Round trip of a pair of brokers.", *_PAIR),
    _m("pair_baseline_seconds", "broker_rtt_baseline.p50_ms", "What is normal for the pair in this hour.", *_PAIR),
    _m("link_slow", "broker_rtt_culprit.culprit", "1: this link is named as the culprit.", "follower", "leader"),
    _m("broker_slow", "broker_rtt_culprit.culprit", "1: this broker is named as the culprit.", "broker"),
    _m("broker_side_slow", "broker_rtt_culprit.culprit", "1: the broker is named as slow as follower or as leader.",
       "broker", "side"),
    _m("culprit", "broker_rtt_culprit.culprit", "1 at the verdict of the newest settled window.", "culprit"),
    _m("culprit_effect_seconds", "broker_rtt_culprit.effect_ms", "How much slower the accused pairs are; NaN: none."),
    _m("culprit_effect_low_seconds", "broker_rtt_culprit.effect_low_ms", "Low end of its 95 % interval."),
    _m("culprit_effect_high_seconds", "broker_rtt_culprit.effect_high_ms", "High end of it."),
    _m("culprit_since_timestamp_seconds", "broker_rtt_culprit.since", "Onset: first window of the evidence; NaN: "
       "none."),
    _m("stock_fetch_total_seconds", "stock_fetch_total.p99_ms", "FetchFollower TotalTimeMs as Kafka tells it.",
       "broker", "quantile"),
    _m("leader_local_mean_seconds", "leader_local_mean.leader_local_mean_ms", "Mean of the leader's own work, from "
       "metrics alone.", "broker", "request"),
    _m("topic_bytes_per_second", "partition_skew.bytes", "Produced; the busiest topics.", "topic"),
    _m("topic_skew_ratio", "partition_skew.bytes", "Bytes of the fullest partition over the mean; 1 is even; from 20 "
       "batches a partition on.", "topic"),
    _m("worst_topic_skew_ratio", "partition_skew.bytes", "The highest of any topic; NaN: none has enough batches."),
    _m("leader_redirects", "leader_redirect.redirect_ms", "Clients that found a new leader.", "kind"),
    _m("leader_redirects_unfinished", "leader_redirect.redirect_ms", "Clients not seen to find one.", "kind"),
    _m("leader_redirect_seconds", "leader_redirect.redirect_ms", "First error to first success; quantile 1.0 is the "
       "longest; NaN: none.", "kind", "quantile"),
    _m("metadata_lookups_per_second", "metadata_lookup.lookups", "METADATA requests."),
    _m("metadata_topics_per_second", "metadata_lookup.topics_asked", "Topics asked for in them."),
    _m("metadata_bytes_per_second", "metadata_lookup.response_bytes", "Size of the answers."),
    _m("client_metadata_lookups_per_second", "metadata_lookup.lookups", "Of the costliest clients.", "client"),
    _m("client_metadata_bytes_per_second", "metadata_lookup.response_bytes", "Of the costliest clients.", "client"),
    _m("client_metadata_topics_per_lookup", "metadata_lookup.topics_asked", "Of the costliest clients.", "client"),
    _m("throttle_limit_bytes_per_second", "throttle_compliance.limit_bytes_per_s", "Limit in force.", *_SIDE),
    _m("throttle_bytes_per_second", "throttle_compliance.throttled_bytes", "What the quota counts.", *_SIDE),
    _m("throttle_catching_up_bytes_per_second", "throttle_compliance.catching_up_bytes", "Of it, what is held back.",
       *_SIDE),
    _m("throttle_unlisted_bytes_per_second", "throttle_compliance.unlisted_bytes", "To replicas that catch up and "
       "that no list names.", *_SIDE),
    _m("throttle_state", "throttle_compliance.throttled_bytes", "1: over_limit, ineffective, stuck or left_over.",
       *_SIDE, "state"),
    _m("reassignments", "reassignment_progress.ended_at", "Moves of replicas under way."),
    _m("reassignment_bytes_per_second", "reassignment_progress.bytes_moved", "Moved."),
    _m("reassignment_remaining_bytes", "reassignment_progress.bytes_to_go", "Still to go."),
    _m("left_out", "fetch_latency.client_id", "Pairs, topics or clients beyond the limits of [export].", "of"),
)  # fmt: skip
