"""The meaning of metric series, independent of the names that exporter rules give them, as SQL."""

import duckdb
import pyarrow as pa

from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from transforms.gold.build import Inputs
from transforms.gold.metrics.names import KNOWN, known_names, metric_names
from transforms.sql import connect, integer, load

SERIES_COLUMNS = ("cluster", "series_id", "name", "labels", "node", "broker_id")
SAMPLES_COLUMNS = ("cluster", "series_id", "at", "value")

OTHERS = "kafka_example"
"""The dialect of a name that several rule files share, if no name identifies the node's dialect."""


def facts(series: pa.RecordBatchReader | pa.Table) -> pa.Table:
    """
    Return the series with a known meaning, one row each.

    `series` (`SERIES_COLUMNS`) must have all series of a node, because all its names together determine its
    dialect. `broker_id` is that of the node, or that of a label if one page exposes all brokers. Columns that
    do not apply to a meaning are NULL.
    """
    known = pa.Table.from_pylist(list(known_names()), schema=KNOWN)
    with connect({"rows": series, "known_names": known}) as db:
        return db.sql(_FACTS).to_arrow_table()


def load_samples(db: duckdb.DuckDBPyConnection, inputs: Inputs, wanted: str) -> None:
    """Store `samples`: those of the series whose facts meet the condition `wanted`, with these facts."""
    known = inputs.derived(METRIC_SERIES, SERIES_COLUMNS, facts)
    load(db, "facts", known, f"SELECT * FROM rows WHERE {wanted}")
    samples = inputs.rows(METRIC_SAMPLES, SAMPLES_COLUMNS)
    joined = 'SELECT facts.*, epoch_us("at") AS at_us, value FROM rows JOIN facts USING (cluster, series_id)'
    load(db, "samples", samples, joined)


def plain_name(name: str) -> str:
    """
    Return a metric name as in `conf/metric_names.toml`: lower case, without scraper prefix and `_total`.

    >>> names = "SELECT unnest(['aws_msk_log_Log_Value', 'server_bytesin_total', '_total', NULL]) AS name"
    >>> duckdb.sql(f"SELECT list({plain_name('name')}) FROM ({names})").fetchall()
    [(['log_log_value', 'server_bytesin', '', None],)]
    """
    prefixes = "|".join(one["prefix"] for one in metric_names()["dialects"] if "prefix" in one)
    return f"regexp_replace(lower({name}), '^({prefixes})|_total$', '', 'g')"


def replica_of(labels: str) -> str:
    """
    Return the partition of the replica in the labels; NULL for a future replica of another log directory.

    >>> series = '''SELECT unnest([
    ...     '{topic=t, partition=3}', '{topic=t}', '{partition=3}', '{topic=t, partition=3, is_future=true}',
    ...     '{topic=t, partition="3, is-future=true"}', NULL]::MAP(VARCHAR, VARCHAR)[]) AS labels'''
    >>> duckdb.sql(f"SELECT list({replica_of('labels')}) FROM ({series})").fetchall()
    [([3, None, None, None, None, None],)]
    """
    is_here = f"coalesce({labels}['is_future'], {labels}['is-future'], 'false') != 'true'"
    partition = integer(f"{labels}['partition']")
    return f"(CASE WHEN {is_here} AND {labels}['topic'] IS NOT NULL THEN {partition} END)"


def _node_dialect() -> str:
    """Return the rules that the node's exporter uses; NULL if no name identifies them."""
    dialects = metric_names()["dialects"]
    plain = "regexp_replace(lower(name), '_total$', '')"
    # The first matching dialect of the file applies.
    places = " ".join(
        f"WHEN regexp_matches({plain}, '{of['mark']}') THEN {n}" for n, of in enumerate(dialects, 1)
    )
    place = f"min(CASE {places} END) OVER (PARTITION BY cluster, node)"
    return f"{[of['name'] for of in dialects]}[{place}]"


_FACTS = f"""
    WITH named AS (
        SELECT
            cluster, node, broker_id AS node_id, series_id, labels, {plain_name("name")} AS known_name,
            lower(coalesce(labels['name'], '')) AS its_bean, coalesce(labels['quantile'], '') AS its_quantile,
            {_node_dialect()} AS node_dialect
        FROM rows
    )
    SELECT DISTINCT ON (cluster, series_id)
        cluster, node, coalesce({integer("labels[broker_label]")}, node_id) AS broker_id, series_id,
        -- Amazon MSK differs only by the prefix of its scraper.
        CASE WHEN node_dialect = 'msk' THEN node_dialect ELSE
            coalesce(known_dialect, node_dialect, '{OTHERS}') END AS dialect,
        meaning, statistic, time, coalesce(known_request, labels['request']) AS request, direction,
        labels['topic'] AS topic, CASE WHEN per_partition THEN {replica_of("labels")} END AS partition
    FROM named JOIN known_names USING (known_name)
    WHERE coalesce(bean = its_bean, true) AND coalesce(quantile = its_quantile, true)
        AND (NOT per_partition OR partition IS NOT NULL)
        AND (meaning != 'request_time_ms' OR request IS NOT NULL)
"""
