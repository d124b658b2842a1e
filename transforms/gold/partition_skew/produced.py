"""Producer batches from PRODUCE requests: partition, bytes, records and run, as SQL."""

from duckdb import DuckDBPyConnection

from transforms.errors import NO_ERROR
from transforms.gold.entries import IS_OTHERS, entries
from transforms.gold.runs.of_client import with_run
from transforms.gold.unanswered import limit_unanswered
from transforms.sql import window_s

NEXT_BATCH_S = 10
"""The maximum time to the next batch of the partition, which determines the records of a batch."""

REQUESTS_COLUMNS = (
    *("cluster", "position", "logged_at", "client_id", "broker_id", "software_version", "total_ms"),
    "partitions",
)
IS_PRODUCED = f"api = 'PRODUCE' AND {IS_OTHERS}"
"""The condition of the rows of `requests`."""


def produced() -> str:
    """
    Return the query of one row per partition of each PRODUCE with records.

    It reads `requests` (`REQUESTS_COLUMNS`, `IS_PRODUCED`) and `topics`.
    """
    requests = """
        SELECT * EXCLUDE (logged_at, broker_id), epoch_us(logged_at) AS logged_us, broker_id AS leader_id
        FROM requests
    """
    return f"SELECT * FROM ({entries(requests)}) WHERE bytes > 0"


def limited(db: DuckDBPyConnection) -> str:
    """Return the query of `produced`, with limited names of topics and partitions in unanswered requests."""
    db.execute(f"""
        CREATE TEMP TABLE limited AS
        SELECT *, {window_s("logged_us")} AS window_s, error_code IS NULL AS is_unanswered
        FROM ({produced()})
    """)
    limit_unanswered(db, "limited", "topic", "partition", "leader_id", "client_id")
    return "SELECT * EXCLUDE (window_s, is_unanswered) FROM limited"


def batches(sent: str) -> str:
    """
    Return the query of one row per appended batch, with `records` up to the partition's next batch.

    `sent` is a query with the columns of `produced`; the query reads what it reads, and `runs`.

    `is_again` marks a retry: a batch with the same base offset as an earlier one. Without a response
    (acks=0) a batch has no offset, so its records are unknown and retries cannot be detected. `is_repeat`
    marks a batch to the same partition as the client's previous batch on the topic; NULL without one.

    No column depends on lines more than `NEXT_BATCH_S` away, so the rows of a window are reproducible. A
    pause of that length ends a `stretch`, because offsets start again at 0 if the topic is created again.
    """
    before, after = (_near(of, "base_offset", "in_partition") for of in ("lag", "lead"))
    is_begin = f"coalesce(logged_us - lag(logged_us) OVER in_time > {NEXT_BATCH_S * 1_000_000}, true)"
    begins = f"""
        SELECT *, CASE WHEN "offset" >= 0 THEN "offset" END AS base_offset, {is_begin} AS is_begin
        FROM ({sent}) WHERE coalesce(error_code, {NO_ERROR}) = {NO_ERROR}
        WINDOW in_time AS (PARTITION BY cluster, topic, partition ORDER BY logged_us)
    """
    return with_run(f"""
        SELECT
            *, coalesce(base_offset = {before}, false) AS is_again,
            CASE WHEN {after} > base_offset THEN {after} - base_offset END AS records,
            partition = {_near("lag", "partition", "of_client")} AS is_repeat
        FROM (
            SELECT *, count_if(is_begin) OVER (
                PARTITION BY cluster, topic, partition ORDER BY logged_us) AS stretch
            FROM ({begins})
        ) WINDOW
            in_partition AS (
                PARTITION BY cluster, topic, partition, stretch ORDER BY base_offset, logged_us, position
            ),
            of_client AS (PARTITION BY cluster, topic, client_id ORDER BY logged_us, position, partition)
    """)


def _near(neighbour: str, name: str, over: str) -> str:
    """Return a column of the previous or next row; NULL if that row is more than `NEXT_BATCH_S` away."""
    apart_us = f"abs(logged_us - {neighbour}(logged_us) OVER {over})"
    return f"(CASE WHEN {apart_us} <= {NEXT_BATCH_S * 1_000_000} THEN {neighbour}({name}) OVER {over} END)"
