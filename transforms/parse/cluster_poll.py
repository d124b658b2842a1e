"""
Polls of a cluster's throttle settings: JSON documents of `collectors.cluster_poll`.

A document tells of every broker what is set and what is not. Of topics it names those that have lists: all
others have none, which is one row without a name. Topics are NULL where they were not asked for.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.throttles import CLUSTER_POLLS, POLL, THROTTLE_CHANGES
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import KEPT, fails, quarantined, rows_of, sample, skipped, with_outcome
from transforms.parse.stamp import text, unreadable_value
from transforms.parse.throttle_values import LISTS, RATES, replicas, wildcard

__all__ = ["changes", "has_changes", "kept", "parse_cluster_poll", "quarantined", "skipped"]

SETTINGS = "MAP<STRING, MAP<STRING, STRING>>"
DOCUMENT = f"polled_at_ns BIGINT, brokers {SETTINGS}, topics {SETTINGS}"


def parse_cluster_poll(raw: DataFrame) -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`) once; `kept`, `changes`, `quarantined` select from it."""
    read = raw.select("*", F.from_json(text(), DOCUMENT).alias("document"))
    at = F.timestamp_micros((F.col("document.polled_at_ns") / 1_000).cast("bigint"))
    told = read.withColumns({"polled_at": at, "logger": F.lit(None).cast("string"), "told": _told()})
    return with_outcome(told, failure=_failure(), skip=F.lit(None).cast("string"), row=_row(), extra=["told"])


def kept(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.cluster_polls`."""
    return rows_of(parsed, CLUSTER_POLLS)


def has_changes() -> Column:
    """Tell whether a parsed document has rows of `silver.throttle_changes`."""
    return (F.col("outcome") == KEPT) & F.coalesce(F.size("told") > 0, F.lit(False))


def changes(parsed: DataFrame) -> DataFrame:
    """Give the settings that polls found, as rows of `silver.throttle_changes`."""
    known = parsed.where(has_changes()).select(
        "cluster",
        F.lit(None).cast("int").alias("broker_id"),
        F.col("row.logged_at").alias("logged_at"),
        F.col("row.logged_date").alias("logged_date"),
        *("node", "source", "position", "topic", "partition", "offset"),
        F.lit(PARSER_VERSION).alias("parser_version"),
        F.lit(POLL).alias("told_by"),
        F.lit(None).cast("int").alias("error_code"),
        F.lit(True).alias("is_applied"),
        F.inline("told"),
    )
    value, is_list = F.col("value"), F.col("config").endswith("replicas")
    return known.withColumns(
        {
            "operation": F.when(value.isNull(), "delete").otherwise("set"),
            "rate_bytes_per_s": F.when(~is_list, value).try_cast("bigint"),
            "replicas": F.when(is_list, replicas(value)),
            "is_wildcard": F.when(is_list, wildcard(value)),
        }
    ).to(THROTTLE_CHANGES.schema)


def _told() -> Column:
    """List every setting of every broker, set or not, and of topics those that are."""
    brokers, topics = (F.map_entries(F.col(f"document.{name}")) for name in ("brokers", "topics"))
    no_others = F.array(*(_setting("topic", None, config, None) for config in LISTS))
    of_brokers, of_topics = _each("broker", brokers, RATES), _each("topic", topics, LISTS)
    set_ones = F.filter(of_topics, lambda one: one["value"].isNotNull())
    asked = F.when(topics.isNull(), F.slice(no_others, 1, 0)).otherwise(F.concat(no_others, set_ones))
    return F.concat(of_brokers, asked)


def _each(resource: str, entries: Column, configs: tuple[str, ...]) -> Column:
    def of_one(entry: Column) -> Column:
        made = entry["value"]
        values = {name: F.try_element_at(made, F.lit(name)) for name in configs}
        return F.array(*(_setting(resource, entry["key"], name, value) for name, value in values.items()))

    return F.flatten(F.transform(entries, of_one))


def _setting(resource: str, name: Column | None, config: str, value: Column | None) -> Column:
    nothing = F.lit(None).cast("string")
    return F.struct(
        F.lit(resource).alias("resource"),
        (nothing if name is None else name).alias("resource_name"),
        F.lit(config).alias("config"),
        (nothing if value is None else value).alias("value"),
    )


def _failure() -> Column:
    document = F.col("document")
    return F.coalesce(
        unreadable_value(),
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(document.isNull() | F.col("polled_at").isNull(), "bad_json", sample(text())),
        fails(document.brokers.isNull(), "missing_field", "brokers"),
    )


def _row() -> Column:
    return F.struct(
        "cluster",
        F.col("polled_at").alias("logged_at"),
        F.to_date("polled_at").alias("logged_date"),
        F.size("document.brokers").alias("brokers"),
        F.when(F.col("document.topics").isNotNull(), F.size("document.topics")).alias("topics"),
        *("node", "source", "position", "topic", "partition", "offset"),
        F.lit(PARSER_VERSION).alias("parser_version"),
    )
