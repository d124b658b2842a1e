"""The performance test of a client at an instant, as SQL."""

RUNS_COLUMNS = ("cluster", "run", "arm", "client_id", "started_at", "ended_at", "warm_up_s")

NEVER_US = 253_402_300_799_000_000
"""The end of the year 9999."""

# A run has a row at its start and one at its end. A run without an end lasts until its client's next run.
_RUNS = f"""
    SELECT
        cluster, client_id, run, arm, started_us + warm_up_us AS since_us,
        least(ended_us, coalesce(lead(started_us) OVER following, {NEVER_US})) AS until_us
    FROM (
        SELECT
            cluster, run, arm, client_id, epoch_us(started_at) AS started_us,
            coalesce(max(epoch_us(ended_at)), {NEVER_US}) AS ended_us,
            coalesce(round(max(warm_up_s) * 1e6)::BIGINT, 0) AS warm_up_us
        FROM runs WHERE started_at IS NOT NULL GROUP BY ALL
    ) WINDOW following AS (PARTITION BY cluster, client_id ORDER BY started_us)
"""


def with_run(rows: str) -> str:
    """
    Return the query of rows with `run` and `arm` of the client's performance test; NULL without one.

    `rows` is a query with `cluster`, `client_id` and `logged_us`. A test counts from the end of its warm-up,
    by `runs` (`RUNS_COLUMNS`).
    """
    return f"""
        SELECT each.*, run, arm FROM ({rows}) AS each LEFT JOIN ({_RUNS}) AS tests
        ON each.cluster = tests.cluster AND each.client_id = tests.client_id
            AND logged_us >= since_us AND logged_us < until_us
    """
