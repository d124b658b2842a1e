"""Metrics of throttled replication, as SQL: byte-rate MBeans, byte counters and log sizes."""

from transforms.gold.metrics.counters import STARTED, increases, with_process_start

RATES, REASSIGNED, REPLICATED = "replication_byte_rate", "reassignment_bytes", "replication_bytes"
SIZES = "log_size_bytes"

WANTED = f"""(meaning IN {(RATES, REASSIGNED, REPLICATED, SIZES)} AND broker_id IS NOT NULL
    AND (topic IS NOT NULL) = (meaning = '{SIZES}')) OR meaning = '{STARTED}'"""
"""The condition of the series that `events` and `sizes` need (`facts.load_samples`)."""


def events() -> str:
    """
    Return the query of the samples of MBeans and the increases of counters, by broker and direction.

    An increase is at the end of its interval. Samples that are not finite are ignored. It reads `samples`.
    """
    counters = f"SELECT * FROM samples WHERE meaning IN ('{REASSIGNED}', '{REPLICATED}')"
    starts = f"SELECT * FROM samples WHERE meaning = '{STARTED}'"
    increased = increases(with_process_start(counters, starts), "broker_id", "direction", "meaning")
    return f"""
        SELECT
            cluster, broker_id, direction, at_us, value AS bean_max_bytes_per_s,
            value AS bean_sum_bytes_per_s, 1 AS bean_n, NULL::DOUBLE AS reassignment_bytes,
            NULL::DOUBLE AS replication_bytes, NULL::DOUBLE AS counter_s
        FROM ({_once(RATES)}) WHERE isfinite(value)
        UNION ALL BY NAME
        SELECT
            cluster, broker_id, CASE direction WHEN 'out' THEN 'leader' ELSE 'follower' END AS direction,
            to_us AS at_us, CASE WHEN meaning = '{REASSIGNED}' THEN value_increase END AS reassignment_bytes,
            CASE WHEN meaning = '{REPLICATED}' THEN value_increase END AS replication_bytes,
            CASE WHEN meaning = '{REASSIGNED}' THEN (to_us - from_us) / 1e6 END AS counter_s
        FROM ({increased}) WHERE value_increase IS NOT NULL AND to_us > from_us
    """


def sizes() -> str:
    """Return the query of the size of each log at each scrape. It reads `samples`."""
    return f"SELECT cluster, broker_id, topic, partition, at_us, value AS size_bytes FROM ({_once(SIZES)})"


def _once(meaning: str) -> str:
    return f"SELECT DISTINCT ON (cluster, series_id, at_us) * FROM samples WHERE meaning = '{meaning}'"
