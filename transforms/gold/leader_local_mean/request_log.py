"""The figures of the request log between two scrapes, for comparison with the mean from metrics, as SQL."""

from transforms.sql import sum_ms, window_s
from transforms.windows import WINDOW_S

REQUESTS_COLUMNS = ("cluster", "broker_id", "position", "logged_at", "api", "kind", "total_ms", "remote_ms")
IS_TIMED = "logged_at IS NOT NULL AND total_ms IS NOT NULL AND remote_ms IS NOT NULL"
"""The condition of the rows of `requests`."""


def log_of_intervals() -> str:
    """
    Return the query of `log_n` and `log_sum_ms` by `interval_id`: the requests that ended in each interval.

    The sum is that of their total - remote. All requests of the broker count, including Plumbline's own,
    because the MBeans include them. It reads `intervals`, and `requests` (`REQUESTS_COLUMNS`, `IS_TIMED`).
    """
    # Join by window, so that a request is compared only with the few intervals of its window.
    windows = f"range({window_s('from_us')}, {window_s('to_us')} + {WINDOW_S}, {WINDOW_S})"
    return f"""
        WITH logged AS (
            SELECT DISTINCT ON (cluster, position)
                cluster, broker_id, epoch_us(logged_at) AS logged_us, total_ms - remote_ms AS local_ms,
                {beans_of("api", "kind")} AS beans
            FROM requests
        ),
        counted AS (SELECT *, {window_s("logged_us")} AS in_window_s, unnest(beans) AS request FROM logged),
        pieces AS (SELECT *, unnest({windows}) AS in_window_s FROM intervals)
        SELECT interval_id, count(*) AS log_n, {sum_ms("local_ms")} AS log_sum_ms
        FROM counted JOIN pieces USING (cluster, broker_id, request, in_window_s)
        WHERE logged_us > from_us AND logged_us <= to_us GROUP BY interval_id
    """


def beans_of(api: str, kind: str) -> str:
    """
    Return the request types whose MBeans count a request of the log.

    A broker counts each fetch with a replica id as a follower's, so raft fetches count as FetchFollower.

    >>> import duckdb
    >>> rows = "VALUES ('FETCH', 'raft'), ('FETCH', 'consumer'), ('FIND_COORDINATOR', 'other'), (NULL, NULL)"
    >>> duckdb.sql(f"SELECT {beans_of('api', 'kind')} FROM ({rows}) AS t(api, kind)").fetchall()
    [(['Fetch', 'FetchFollower'],), (['Fetch', 'FetchConsumer'],), (['FindCoordinator'],), (None,)]
    """
    words = f"list_transform(string_split(lower({api}), '_'), lambda word: upper(word[1]) || word[2:])"
    of_fetch = f"['Fetch', CASE WHEN {kind} = 'consumer' THEN 'FetchConsumer' ELSE 'FetchFollower' END]"
    return f"""(CASE WHEN {api} = 'FETCH' THEN {of_fetch}
        WHEN {api} IS NOT NULL THEN [array_to_string({words}, '')] END)"""
