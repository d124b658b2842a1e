"""Performance-test runs: their summary lines with their settings, and the payload of each run."""

from answers import formats, listing
from answers.gold.reader import QueryRows
from answers.gold.selection import GoldSelection
from answers.listing import Column, Listing
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
    ORDER BY each.run, each.arm, logged_at, is_steady_state, position"""


def summaries(selection: GoldSelection) -> QueryRows:
    """Return `perf_runs`: the summary lines with the target rate; `invalid_rate` flags a missed one."""
    return selection.rows(SUMMARIES)


def _arm(row: Row) -> str:
    return f"{formats.text(row['arm'])}{' (steady state)' if row['is_steady_state'] else ''}"


LATENCIES = (
    listing.milliseconds("mean ms", "avg_ms"),
    listing.milliseconds("p50 ms", "p50_ms"),
    listing.milliseconds("p95 ms", "p95_ms", in_terminal=False),
    listing.milliseconds("p99 ms", "p99_ms"),
    listing.milliseconds("p99.9 ms", "p999_ms"),
    listing.milliseconds("longest ms", "max_ms"),
)
SUMMARY = Listing(
    name="perf-table",
    title="Performance tests",
    columns=(
        listing.text("run", "run"),
        Column("arm", _arm, is_text=True),
        listing.count("records", "records"),
        listing.decimal("records/s", "records_per_s"),
        *LATENCIES,
    ),
)
CHANGES = Listing(
    name="run-changes",
    title="Changes of an arm",
    lead="From this run on the arm has another level, by Apache Otava.",
    columns=(
        listing.text("scenario", "scenario"),
        listing.text("arm", "arm"),
        listing.text("metric", "metric"),
        listing.text("since run", "run"),
        listing.instant("at, UTC", "changed_at", in_terminal=False),
        listing.change("change", "change"),
        listing.small("p", "p"),
        listing.count("runs", "runs"),
    ),
)
COMPARED = Listing(
    name="run-table",
    title="Runs",
    columns=(
        listing.text("arm", "arm"),
        listing.text("run", "run"),
        listing.text("client", "client_version"),
        listing.instant("started, UTC", "started_at", in_terminal=False),
        listing.words("figures of", "method", in_terminal=False),
        listing.decimal("records/s", "records_per_s"),
        *LATENCIES,
    ),
)
