"""The increases of each request type between two scrapes, as SQL: requests, and the sums in their MBeans."""

from transforms.gold.metrics.counters import STARTED, counted, steps, with_process_start

BY = ("cluster", "node", "broker_id", "request")
COUNTERS = ("total_n", "remote_n")
SUMS, SQUARES = ("total_sum", "remote_sum"), "remote_squares"
BEANS = ("total", "remote")
STATISTICS = ("count", "mean", "stddev")

WANTED = f"""meaning = '{STARTED}'
    OR (meaning = 'request_time_ms' AND time IN {BEANS} AND statistic IN {STATISTICS})"""
"""The condition of the series that `intervals` needs."""


def intervals() -> str:
    """
    Return the query of the increases of each broker and request type between scrapes, without idle intervals.

    It reads `samples` (`facts.load_samples` of `WANTED`) from `counters.BRIDGED_S` before the windows.
    """
    scrapes = with_process_start(_SCRAPES, f"SELECT * FROM samples WHERE meaning = '{STARTED}'")
    stepped = steps(
        scrapes, (*BY, "has_means", "has_spread"), COUNTERS, derived=(*SUMS, SQUARES), carried=("n_apart",)
    )
    return f"""
        SELECT
            {", ".join(BY)}, from_us, to_us, is_reset, trunc(total_n_increase)::BIGINT AS n,
            CASE WHEN has_means THEN trunc(remote_n_increase)::BIGINT END AS n_remote,
            trunc(n_apart_from)::BIGINT AS n_apart_from, trunc(n_apart_to)::BIGINT AS n_apart_to,
            CASE WHEN has_means THEN total_sum_increase END AS total_sum_ms,
            CASE WHEN has_means THEN remote_sum_increase END AS remote_sum_ms,
            CASE WHEN has_spread THEN remote_squares_increase END AS remote_square_sum
        FROM ({stepped}) WHERE total_n_increase IS NULL OR total_n_increase > 0 OR remote_n_increase > 0
    """


def summed(count: str, mean: str) -> str:
    """
    Return the sum in an MBean: Count x Mean, rounded.

    The MBean adds whole milliseconds and exposes the mean as a full double. Below 2^51 ms the rounded product
    is therefore exactly the sum, and differences of sums are exact.

    >>> import duckdb
    >>> beans = "FROM (VALUES (3::DOUBLE, 10::DOUBLE / 3), (0, 0), (3, NULL), (NULL, 1)) AS t(n, mean)"
    >>> duckdb.sql(f"SELECT list({summed('n', 'mean')}) {beans}").fetchall()
    [([10.0, 0.0, None, None],)]
    """
    return f"round({count} * {mean})"


def squared(count: str, mean: str, stddev: str) -> str:
    """
    Return the sum of squares from the Count, Mean and StdDev of an MBean.

    >>> import duckdb
    >>> beans = "VALUES (2::DOUBLE, 5::DOUBLE, sqrt(50)), (1, 7, 0), (0, 0, 0), (2, 5, NULL)"
    >>> duckdb.sql(f"SELECT list({squared('n', 'm', 's')}) FROM ({beans}) AS t(n, m, s)").fetchall()
    [([100.0, 49.0, 0.0, None],)]
    """
    return f"round({stddev} * {stddev} * greatest({count} - 1, 0) + {count} * {mean} * {mean})"


def _shown() -> str:
    """Return each statistic of a scrape as a column `remote_mean`."""
    return ", ".join(
        f"max({counted('value')}) FILTER (time = '{bean}' AND statistic = '{name}') AS {bean}_{name}"
        for bean in BEANS
        for name in STATISTICS
    )


def _has(*names: str) -> str:
    """Return whether any scrape has each of these columns for the request type."""
    return " AND ".join(f"max({name}) OVER of_type IS NOT NULL" for name in names)


# One row per scrape and request type. A request type without a Mean has only its Count.
_SCRAPES = f"""
    SELECT
        {", ".join(BY)}, at_us, has_means, has_spread, total_count AS total_n,
        CASE WHEN has_means THEN remote_count ELSE total_count END AS remote_n,
        abs(total_n - remote_n) AS n_apart,
        CASE WHEN has_means THEN total_ms ELSE 0 END AS total_sum,
        CASE WHEN has_means THEN remote_ms ELSE 0 END AS remote_sum,
        CASE WHEN has_spread THEN remote_square_ms ELSE 0 END AS remote_squares
    FROM (
        SELECT
            *, {_has("total_count", "remote_count", "total_ms", "remote_ms")} AS has_means,
            has_means AND {_has("remote_square_ms")} AS has_spread
        FROM (
            SELECT
                *, {summed("total_count", "total_mean")} AS total_ms,
                {summed("remote_count", "remote_mean")} AS remote_ms,
                {squared("remote_count", "remote_mean", "remote_stddev")} AS remote_square_ms
            FROM (
                SELECT {", ".join(BY)}, at_us, {_shown()}
                FROM samples WHERE meaning = 'request_time_ms' GROUP BY ALL
            )
        ) WINDOW of_type AS (PARTITION BY {", ".join(BY)})
    )
"""
