"""The columns of gold that are served, in DuckDB's types: instants have become seconds."""

_INT, _BIG, _NUM, _TEXT, _BOOL = "INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN"
_HIST = "MAP(INTEGER, BIGINT)"
_WINDOW = {"cluster": _TEXT, "window_start": _NUM}
_SETTLED = {"nodes_expected": _INT, "nodes_reporting": _INT, "is_settled": _BOOL}
_PAIR = {"follower_id": _INT, "leader_id": _INT, "method": _TEXT}

COLUMNS: dict[str, dict[str, str]] = {
    "fetch_latency": {
        **_WINDOW,
        **{"leader_id": _INT, "kind": _TEXT, "client_id": _TEXT, "n": _BIG, "leader_local_p99_ms": _NUM},
        **{"total_hist": _HIST, "leader_local_hist": _HIST, "true_hist": _HIST},
        **_SETTLED,
    },
    "broker_rtt": {**_WINDOW, **_PAIR, "rtt_p50_ms": _NUM, "rtt_hist": _HIST, **_SETTLED},
    "broker_rtt_baseline": {"cluster": _TEXT, "hour": _NUM, **_PAIR, "p10_ms": _NUM, "p50_ms": _NUM},
    "broker_rtt_culprit": {
        **_WINDOW,
        **{"culprit": _TEXT, "broker_id": _INT, "follower_id": _INT, "leader_id": _INT},
        **{"effect_ms": _NUM, "effect_low_ms": _NUM, "effect_high_ms": _NUM, "since": _NUM, "evidence": _NUM},
        "is_settled": _BOOL,
    },
    "stock_fetch_total": {
        **{"cluster": _TEXT, "scraped_at": _NUM, "leader_id": _INT, "p50_ms": _NUM, "p99_ms": _NUM}
    },
    "leader_local_mean": {
        **_WINDOW,
        **{"broker_id": _INT, "request": _TEXT, "to_at": _NUM, "leader_local_mean_ms": _NUM},
    },
    "partition_skew": {**_WINDOW, "topic": _TEXT, "partition": _INT, "batches": _BIG, "bytes": _BIG},
    "leader_redirect": {**_WINDOW, "kind": _TEXT, "redirect_ms": _NUM},
    "metadata_lookup": {
        **_WINDOW,
        **{"client_id": _TEXT, "lookups": _BIG, "topics_asked": _BIG, "response_bytes": _BIG},
    },
    "throttle_compliance": {
        **_WINDOW,
        **{"broker_id": _INT, "direction": _TEXT, "limit_bytes_per_s": _BIG, "on_until": _NUM},
        **{"busy_until": _NUM, "is_listed": _BOOL, "throttled_bytes": _BIG, "catching_up_bytes": _BIG},
        **{"unlisted_bytes": _BIG, "moving_partitions": _BIG, "inbound_bytes": _BIG},
    },
    "reassignment_progress": {
        **_WINDOW,
        **{"moved_at": _NUM, "source_id": _INT, "destination_id": _INT, "bytes_moved": _BIG},
        **{"bytes_to_go": _NUM, "ended_at": _NUM, "is_superseded": _BOOL},
    },
    "data_quality": {
        **{"cluster": _TEXT, "kind": _TEXT, "node": _TEXT, "lines_read": _BIG, "kept": _BIG},
        **{"quarantined": _BIG, "skipped": _BIG, "duplicates": _BIG, "first_logged_at": _NUM},
    },
}
