"""The series of samples as `silver.metric_series`: what a series' text says, taken apart once for each."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.metrics import METRIC_SERIES
from transforms.parse import PARSER_VERSION
from transforms.parse.metric_text import LEGAL, PAIR, QUOTED, unescaped

SAMPLE, SERIES, TYPE = "sample", "series", "type"
"""Outcomes in a parsed frame: a sample, what it is a sample of, and a line that tells a family's type."""

OF_FAMILY = r"_(?:total|sum|count|bucket|created|info|gsum|gcount)$"
"""What a sample's name may have behind the name of its family, which is what a TYPE line names."""


def series(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.metric_series`, one for each series that the samples are of."""
    # Grouped by the text too, which the id is made of: strings are no values that a hash aggregate keeps.
    found = (
        parsed.where(tells_series())
        .groupBy("cluster", "series_id", "series")
        .agg(F.min("at").alias("first_at"), F.min("page").alias("page"))
    )
    nodes = parsed.where(F.col("row").isNotNull()).groupBy("page").agg(F.max("node").alias("node"))
    families = parsed.where(F.col("outcome") == TYPE).groupBy("page", "family").agg(F.max("type").alias("of"))
    told = found.select(
        "*", name_of(F.col("series")).alias("name"), labels_of(F.col("series")).alias("labels")
    )
    stem = F.regexp_replace("name", OF_FAMILY, "")
    own = families.select("page", F.col("family").alias("name"), F.col("of").alias("own_type"))
    stems = families.select("page", F.col("family").alias("stem"), F.col("of").alias("stem_type"))
    return (
        told.join(nodes, on="page", how="left")
        .join(own, on=["page", "name"], how="left")
        .withColumn("stem", stem)
        .join(stems, on=["page", "stem"], how="left")
        .select(
            "*",
            broker_id().alias("broker_id"),
            F.coalesce("own_type", "stem_type").alias("type"),
            F.lit(PARSER_VERSION).alias("parser_version"),
        )
        .to(METRIC_SERIES.schema)
    )


def tells_series() -> Column:
    """Tell whether a parsed row names a series: one for many samples, or a sample that was read by itself."""
    return (F.col("outcome") == SERIES) | (F.col("outcome") == SAMPLE) & F.col("series").isNotNull()


def broker_id() -> Column:
    """Give the number that the node ends in."""
    return F.regexp_extract("node", r"(\d+)$", 1).try_cast("int")


def name_of(text: Column) -> Column:
    r"""
    Return the name of a series from its text.

    >>> rows = spark.createDataFrame(
    ...     [('up{a="b"}',), ("up",), (r'{"my.\"name\"",a="b"}',), (None,)], "series string")
    >>> rows.select(name_of(F.col("series")).alias("name")).show()
    +---------+
    |     name|
    +---------+
    |       up|
    |       up|
    |my."name"|
    |     NULL|
    +---------+
    <BLANKLINE>
    """
    legal = F.regexp_extract(text, rf"^{LEGAL}", 0)
    quoted = F.regexp_extract(text, rf"(?s)^\{{({QUOTED})", 1)
    return F.when(legal != "", legal).otherwise(unescaped(F.substr(quoted, F.lit(2), F.length(quoted) - 2)))


def labels_of(text: Column) -> Column:
    r"""
    Return the labels of a series from its text, without their escapes; an empty map where it has none.

    >>> rows = spark.createDataFrame(
    ...     [(r'up{a="\\b\"",c="}"}',), ("up",), ('{"my.name",a="b","c d"="e"}',), (None,)], "series string")
    >>> rows.select(labels_of(F.col("series")).alias("labels")).show(truncate=False)
    +------------------+
    |labels            |
    +------------------+
    |{a -> \b", c -> }}|
    |{}                |
    |{a -> b, c d -> e}|
    |NULL              |
    +------------------+
    <BLANKLINE>
    """
    list_ = F.regexp_extract(text, rf"(?s)^(?:{LEGAL})?+\{{(?:{QUOTED}(?:,|(?=\}})))?+(.*)\}}\z", 1)
    ended = F.concat(list_, F.lit(","))
    names, values = (F.regexp_extract_all(ended, F.lit(PAIR), F.lit(group)) for group in (1, 2))
    bare = F.transform(
        names,
        lambda name: F.when(
            name.startswith('"'), unescaped(F.substr(name, F.lit(2), F.length(name) - 2))
        ).otherwise(name),
    )
    return F.when(text.isNotNull(), F.map_from_arrays(bare, F.transform(values, unescaped)))
