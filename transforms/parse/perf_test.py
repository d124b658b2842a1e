"""
What ProducerPerformance prints, a line a row: windows, summaries, client metrics, and what was run.

The tool stamps nothing: `plumbline perf-test` writes the instant it read a line in front of it. Which run and
arm a line is of stands in the record's headers.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.perf_test import CLIENT_METRICS, PERF_SUMMARIES, PERF_WINDOWS, RUN_HEADERS, RUNS
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import KEPT, quarantined, skipped, with_outcome
from transforms.parse.perf_checks import failure, is_each_tag_once, skip
from transforms.parse.perf_lines import (
    INSTANTS,
    NO_NUMBER,
    NUMBERS,
    PERCENTILES,
    TOLD,
    figure,
    instant,
    metric_value,
    with_parts,
)

__all__ = ["is_row_of", "parse_perf_test", "quarantined", "rows_of", "skipped"]

DECIMAL_COMMA, NOT_A_NUMBER, NO_INSTANT = "decimal_comma", "not_a_number", "no_instant"


def parse_perf_test(raw: DataFrame) -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`) once; `rows_of`, `quarantined`, `skipped` select from it."""
    return with_outcome(with_parts(raw), failure=failure(), skip=skip(), row=_row(), extra=[])


def rows_of(parsed: DataFrame, table: Table) -> DataFrame:
    """Give the rows of one of the silver tables of a performance test."""
    return parsed.where(is_row_of(table)).select("row.*", f"row.of_{_PART[table]}.*").to(table.schema)


def is_row_of(table: Table) -> Column:
    """Tell whether a parsed line is a row of the table: the tables part the kept lines among them."""
    part = F.col(f"row.of_{_PART[table]}")
    is_summary = F.col("row.of_figures.p50_ms").isNotNull()
    is_kind = {PERF_SUMMARIES: is_summary, PERF_WINDOWS: ~is_summary}.get(table, F.lit(True))
    return (F.col("outcome") == KEPT) & part.isNotNull() & is_kind


_PART = {PERF_WINDOWS: "figures", PERF_SUMMARIES: "figures", CLIENT_METRICS: "metric", RUNS: "document"}


def _row() -> Column:
    figures = {
        "records": F.col("figures.records").try_cast("bigint"),
        **{name: figure(name) for name in (*NUMBERS, *PERCENTILES)},
        "is_steady_state": F.col("figures.steady").isNotNull(),
    }
    return F.struct(
        "cluster",
        *(F.coalesce(_told(name), F.col(name)).alias(name) for name in RUN_HEADERS),
        "logged_at",
        _part("figures", **figures),
        _part("metric", **_metric()),
        _part("document", **{name: _told(name) for name in TOLD if name not in RUN_HEADERS}),
        _flags().alias("quality_flags"),
        "node",
        "source",
        "position",
        "topic",
        "partition",
        "offset",
        F.lit(PARSER_VERSION).alias("parser_version"),
    )


def _part(name: str, **columns: Column) -> Column:
    fields = F.struct(*(column.alias(field) for field, column in columns.items()))
    return F.when(F.col(name).isNotNull(), fields).alias(f"of_{name}")


def _told(name: str) -> Column:
    """Give a field of the run's document; an empty name is none."""
    told = F.col(f"document.{name}")
    if name in RUN_HEADERS:
        return F.when(told != "", told)
    return instant(told) if name in INSTANTS else told


def _metric() -> dict[str, Column]:
    pairs = F.transform(
        "tags",
        lambda tag: F.struct(
            F.substring_index(tag, "=", 1).alias("key"),
            F.substr(tag, F.instr(tag, "=") + 1).alias("value"),
        ),
    )
    return {
        "metric_group": F.col("metric.metric_group"),
        "metric": F.col("metric.metric"),
        "tags": F.when(is_each_tag_once(), F.map_from_entries(pairs)),
        "value": metric_value(),
        "text": F.col("metric.text"),
    }


def _flags() -> Column:
    written = [F.col(f"figures.{name}") for name in NUMBERS]
    has_comma = reduce(Column.__or__, (F.contains(number, F.lit(",")) for number in written))
    is_none = reduce(Column.__or__, (number.isin(*NO_NUMBER) for number in written))
    flags = {
        DECIMAL_COMMA: has_comma,
        NOT_A_NUMBER: is_none,
        NO_INSTANT: F.col("logged_at").isNull() & F.col("document").isNull(),
    }
    return F.array_compact(F.array(*(F.when(flag, name) for name, flag in flags.items())))
