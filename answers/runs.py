"""Performance-test runs: their summary lines with their settings, and the payload of each run."""

from answers.selection import GoldSelection
from schemas.rows import Row

KEPT_UP = 0.98
"""The minimum share of the target rate. A slower generator sends records late and hides their delay."""

_SETTINGS = ", ".join(
    f"max({name}) AS {name}"
    for name in ("client_id", "topic_name", "asked_records", "asked_records_per_s", "record_size_bytes")
)
_IS_COMPRESSED = r"""len(list_filter(configuration, lambda word:
    regexp_matches(word, 'compression\.type=') AND NOT regexp_matches(word, 'compression\.type=none'))) > 0"""
RUN_SETTINGS = f"""
    SELECT cluster, run, arm, {_SETTINGS}, bool_or(coalesce({_IS_COMPRESSED}, false)) AS is_compressed
    FROM silver.runs WHERE cluster = $cluster GROUP BY cluster, run, arm"""
PAYLOADS = f"""
    SELECT settings.cluster, settings.run, settings.arm, client_id, topic_name, payload_records,
           record_size_bytes, is_compressed
    FROM ({RUN_SETTINGS}) AS settings LEFT JOIN (
        SELECT cluster, run, arm, max(records) AS payload_records
        FROM silver.perf_summaries WHERE cluster = $cluster AND NOT is_steady_state GROUP BY ALL
    ) AS sent ON sent.cluster = settings.cluster AND sent.run IS NOT DISTINCT FROM settings.run
        AND sent.arm IS NOT DISTINCT FROM settings.arm"""
SUMMARIES = f"""
    SELECT each.* REPLACE (list_concat(coalesce(quality_flags, []),
               CASE WHEN records_per_s < {KEPT_UP} * settings.asked_records_per_s
                    THEN ['invalid_rate'] ELSE [] END) AS quality_flags),
           settings.asked_records_per_s AS asked_records_per_s
    FROM (
        SELECT DISTINCT ON (cluster, position) * FROM silver.perf_summaries
        WHERE cluster = $cluster AND (logged_at IS NULL OR (logged_at >= $since AND logged_at < $until))
    ) AS each LEFT JOIN ({RUN_SETTINGS}) AS settings ON settings.cluster = each.cluster
        AND settings.run IS NOT DISTINCT FROM each.run AND settings.arm IS NOT DISTINCT FROM each.arm
    ORDER BY each.run, each.arm"""


def summaries(selection: GoldSelection) -> list[Row]:
    """Return `perf_runs`: the summary lines with the target rate; `invalid_rate` flags a missed one."""
    return selection.rows(SUMMARIES)
