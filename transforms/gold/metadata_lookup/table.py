"""A6: the cost of metadata lookups by client (KIP-526), from METADATA requests of the request log."""

from collections.abc import Mapping

import pyarrow as pa

from schemas.fields import Table
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.clients import MOST_TOPICS, limit_clients
from transforms.gold.entries import IS_OTHERS
from transforms.gold.leader_redirect.client_tries import IS_REFUSED, LOST
from transforms.gold.runs.of_client import RUNS_COLUMNS, with_run
from transforms.hashes import xxhash64
from transforms.sql import connect, define, is_in, load, rows_of, window_s
from transforms.windows import WINDOW_S, Reach

AFTER_ERROR_S = 1
"""The maximum time between an error 6 or 74 and a lookup that it causes."""

REQUESTS_REACH = Reach(lookback_s=WINDOW_S)

LOOKUPS_COLUMNS = (
    *("cluster", "position", "client_id", "software_version", "logged_at", "started_at", "topics_asked"),
    *("topics_answered", "response_bytes"),
)
TRIES_COLUMNS = ("cluster", "client_id", "logged_at", "partitions")

BY = "cluster, window_s, client_id, software_version, run, arm"


def metadata_lookup(wanted: str = "true") -> str:
    """
    Return the query of one row per window and client, with the names of `topics`.

    It reads `lookups` (the METADATA requests of others), `tries` (their refused FETCH and PRODUCE) and
    `runs`. `wanted` is a condition of the lookups.
    """
    return f"""
        SELECT
            {BY}, count(*) AS lookups, count(*) FILTER (asked IS NULL) AS all_topics_lookups,
            coalesce(sum(len(asked)), 0)::BIGINT AS topics_asked, max(len(asked)) AS topics_asked_most,
            sum(answered)::BIGINT AS topics_answered, sum(size_bytes)::BIGINT AS response_bytes,
            count(*) FILTER (is_after_error) AS lookups_after_error,
            list_distinct(flatten(coalesce(
                list(asked[1:{MOST_TOPICS}]) FILTER (asked IS NOT NULL), []
            ))) AS topics
        FROM (SELECT *, {window_s("logged_us")} AS window_s FROM ({with_run(_lookups())}))
        WHERE {wanted} GROUP BY {BY}
    """


def _lookups() -> str:
    """
    Return the query of each lookup once. `is_after_error` marks lookups after an error 6 or 74.

    A lookup that takes longer than the reach of `requests` is never marked, so that a window has the same
    rows whether it is built alone or with others.
    """
    return f"""
        WITH refused AS (
            SELECT cluster, client_id, epoch_us(logged_at) AS failed_us
            FROM (SELECT * EXCLUDE (partitions), unnest(partitions, max_depth := 2) FROM tries)
            WHERE error_code IN {LOST}
        )
        SELECT
            cluster, client_id, software_version, epoch_us(logged_at) AS logged_us, topics_asked AS asked,
            topics_answered AS answered, response_bytes AS size_bytes,
            EXISTS (
                FROM refused WHERE refused.cluster = each.cluster
                    AND refused.client_id IS NOT DISTINCT FROM each.client_id
                    AND epoch_us(each.started_at) - failed_us BETWEEN 0 AND {AFTER_ERROR_S} * 1000000
                    AND epoch_us(each.logged_at) - failed_us <= {REQUESTS_REACH.lookback_s} * 1000000
            ) AS is_after_error
        FROM (SELECT DISTINCT ON (cluster, position) * FROM lookups) AS each
    """


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    with connect({"runs": inputs.rows(RUNS, RUNS_COLUMNS)}) as db:
        load(db, "lookups", inputs.rows(REQUESTS, LOOKUPS_COLUMNS, where=f"api = 'METADATA' AND {IS_OTHERS}"))
        limit_clients(db, "lookups", "TABLE", names="client_id, software_version")
        define(db, "tries", inputs.rows(REQUESTS, TRIES_COLUMNS, where=f"{IS_REFUSED} AND {IS_OTHERS}"))
        found = db.sql(metadata_lookup(is_in(inputs.windows))).to_arrow_table()
    hashes = (
        sorted({xxhash64(name) for name in names})[:MOST_TOPICS] for names in found["topics"].to_pylist()
    )
    topics = pa.array(list(hashes), pa.list_(pa.int64()))
    found = found.set_column(found.column_names.index("topics"), "topics", topics)
    return {METADATA_LOOKUP: rows_of(METADATA_LOOKUP, found)}


BUILD = Build(
    name="metadata_lookup",
    tables=(METADATA_LOOKUP,),
    rows=_rows,
    reads={REQUESTS: REQUESTS_REACH},
    whole=(RUNS,),
    touched_by=(
        Touch(table=REQUESTS, where="api = 'METADATA'"),
        Touch(table=REQUESTS, where=IS_REFUSED, reach=REQUESTS_REACH),
        Touch(table=RUNS, and_later=True),
    ),
)
