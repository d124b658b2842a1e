"""
What ProducerPerformance prints, a line a row: windows, summaries, client metrics, and what was run.

The tool stamps nothing: `plumbline perf-test` writes the instant it read a line in front of it. Which run and
arm a line is of stands in the record's headers. The forms are those of Kafka 2.4 to 4.x
(`org.apache.kafka.tools.ProducerPerformance`, `ToolsUtils.printMetrics`), printed in the JVM's locale.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemas.fields import Table
from schemas.perf_test import (
    CLIENT_METRICS,
    PERF_SUMMARIES,
    PERF_WINDOWS,
    RUN,
    RUN_DOCUMENT,
    RUN_HEADERS,
    RUNS,
)
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import KEPT, fails, quarantined, sample, skipped, with_outcome
from transforms.parse.stamp import SEPARATOR, unreadable_value

__all__ = ["is_row_of", "parse_perf_test", "quarantined", "rows_of", "skipped"]

LINE_BYTES = 64 * 1024
"""No line of the tool is longer, not even a metric with long tags."""

STAMP = r"^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{1,6}Z) "
NUMBER = r"([0-9][0-9.,]*|-?Infinity|NaN)"
FIGURES_BEGIN = r"^\s*(\d+)( steady state)? records sent, "
FIGURES_LINE = (
    rf"{FIGURES_BEGIN}{NUMBER} records/sec \({NUMBER} MB/sec\)"
    rf", {NUMBER} ms avg latency, {NUMBER} ms max latency"
    r"(?:, (\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th, (\d+) ms 99\.9th)?\.?\s*$"
)
NUMBERS = ("records_per_s", "mib_per_s", "avg_ms", "max_ms")
PERCENTILES = ("p50_ms", "p95_ms", "p99_ms", "p999_ms")
FIGURE_NAMES = ("records", "steady", *NUMBERS, *PERCENTILES)

METRIC_BEGIN = r"^\s*([A-Za-z][A-Za-z0-9._-]*):([^:\s]+):\{"
METRIC_LINE = rf"{METRIC_BEGIN}(.*)\}}\s* : (.*?)\s*$"
METRIC_NAMES = ("metric_group", "metric", "tags", "text")
NEXT_TAG = r", (?=[A-Za-z0-9._-]+=)"

OF_FIGURES = r"records sent|records/sec|MB/sec|ms avg|ms max|ms \d+(\.9)?th|^\s*\d[\d.,]*( r[a-z]*)?\s*$"
METRIC_CUT = rf"^\s*[a-z][a-z0-9-]*-metrics?:|{METRIC_BEGIN}"
OF_METRIC = rf"{METRIC_CUT}|:[^:\s]+:\{{[^}}]*="
"""What only lines of figures and of metrics hold, whole or cut: such a line is never skipped."""

NO_NUMBER = ("NaN", "Infinity", "-Infinity")
DECIMAL_COMMA, NOT_A_NUMBER, NO_INSTANT = "decimal_comma", "not_a_number", "no_instant"
TOLD = StructType(RUNS.schema.fields[: RUNS.schema.names.index("quality_flags")])
"""What a run's document tells."""


def parse_perf_test(raw: DataFrame) -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`) once; `rows_of`, `quarantined`, `skipped` select from it."""
    is_plain = F.col("chunk").isNull() & F.col("content_encoding").isNull()
    text = F.when(is_plain, F.substring("value", 1, LINE_BYTES)).cast("string")
    headers = (_header(header).alias(name) for name, header in RUN_HEADERS.items())
    lines = raw.select(
        "*",
        F.lit(None).cast("string").alias("logger"),
        F.regexp_extract(text, STAMP, 1).alias("stamp"),
        F.regexp_replace(text, STAMP, "").alias("line"),
        *headers,
    )
    matched = lines.select(
        "*",
        _matched(FIGURES_LINE, FIGURE_NAMES).alias("figures"),
        _matched(METRIC_LINE, METRIC_NAMES).alias("metric"),
        F.when(_is_document(), F.from_json("line", _DOCUMENT)[RUN_DOCUMENT]).alias("told"),
    )
    tags = F.split("metric.tags", NEXT_TAG)
    read = matched.select("*", tags.alias("tags"), _logged_at().alias("logged_at"))
    return with_outcome(read, failure=_failure(), skip=_skip(), row=_row(), extra=[])


def rows_of(parsed: DataFrame, table: Table) -> DataFrame:
    """Give the rows of one of the silver tables of a performance test."""
    return parsed.where(is_row_of(table)).select("row.*", f"row.of_{_PART[table]}.*").to(table.schema)


def is_row_of(table: Table) -> Column:
    """Tell whether a parsed line is a row of the table: the tables part the kept lines among them."""
    part = F.col(f"row.of_{_PART[table]}")
    is_summary = F.col("row.of_figures.p50_ms").isNotNull()
    is_kind = {PERF_SUMMARIES: is_summary, PERF_WINDOWS: ~is_summary}.get(table, F.lit(True))
    return (F.col("outcome") == KEPT) & part.isNotNull() & is_kind


_PART = {PERF_WINDOWS: "figures", PERF_SUMMARIES: "figures", CLIENT_METRICS: "metric", RUNS: "told"}
_DOCUMENT = StructType().add(RUN_DOCUMENT, TOLD)


def _header(name: str) -> Column:
    found = F.filter("headers", lambda header: header["key"] == name)
    value = F.get(found, F.lit(0))["value"].cast("string")
    return F.when(value != "", value)


def _matched(pattern: str, names: tuple[str, ...]) -> Column:
    """Give the groups of a whole line by name, NULL where the line has another form."""
    groups = SEPARATOR.join(f"${n}" for n in range(1, len(names) + 1))
    found = F.split(F.regexp_replace("line", pattern, groups), SEPARATOR)
    is_found = F.col("line").rlike(pattern) & (F.size(found) == len(names))
    told = (F.when(found[n] != "", found[n]).alias(name) for n, name in enumerate(names))
    return F.when(is_found, F.struct(*told))


def _is_document() -> Column:
    return F.col("line").startswith(f'{{"{RUN_DOCUMENT}"')


def _logged_at() -> Column:
    return F.when(F.col("stamp") != "", F.col("stamp")).try_cast("timestamp")


def _number(name: str) -> Column:
    """Read a number with a point or a comma; NULL for NaN and for what is none."""
    written = F.col(f"figures.{name}")
    number = F.replace(written, F.lit(","), F.lit(".")).try_cast("double")
    return F.when(~written.isin(*NO_NUMBER), number)


def _bad_number() -> Column:
    """Name the figures that are no number of this world, `''` when there are none."""
    numbers = {name: _number(name) for name in (*NUMBERS, *PERCENTILES)}
    is_bad = {
        name: ~F.col(f"figures.{name}").isin(*NO_NUMBER)
        & (number.isNull() | F.coalesce(F.abs(number) == float("inf"), F.lit(False)))
        for name, number in numbers.items()
    }
    is_bad["records"] = F.col("figures.records").try_cast("bigint").isNull()
    return F.concat_ws(", ", *(F.when(bad, name) for name, bad in is_bad.items()))


def _failure() -> Column:
    line, figures, metric = F.col("line"), F.col("figures"), F.col("metric")
    has_figures, has_metric = line.rlike(OF_FIGURES), line.rlike(OF_METRIC)
    is_ours = has_figures | has_metric | _is_document()
    is_read = figures.isNotNull() | metric.isNotNull() | F.col("told").isNotNull()
    is_twice = (F.regexp_count(line, F.lit("records sent")) > 1) | (F.regexp_count(line, F.lit(r":\{")) > 1)
    is_cut = line.rlike(FIGURES_BEGIN) | line.rlike(METRIC_CUT)
    is_long = F.octet_length("value") > LINE_BYTES
    bytes_told = F.concat(F.octet_length("value").cast("string"), F.lit(" bytes"))
    is_known = F.coalesce(F.col("told.run"), F.col("run")).isNotNull()
    return F.coalesce(
        unreadable_value(),
        fails(is_long, "oversized", bytes_told),
        fails(is_ours & F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(is_ours & ~is_known, "no_run", "the record names no run"),
        fails((F.col("stamp") != "") & F.col("logged_at").isNull(), "impossible_timestamp", sample(line)),
        fails(_is_document() & ~is_read, "bad_json", sample(line)),
        fails(is_ours & is_twice, "several_objects", sample(line)),
        fails(is_ours & ~is_read & is_cut, "truncated_line", sample(line)),
        fails(is_ours & ~is_read, "unknown_form", sample(line)),
        F.when(figures.isNotNull(), fails(_bad_number() != "", "bad_number", _bad_number())),
        fails(metric.isNotNull() & ~_is_each_tag_once(), "duplicate_key", metric.tags),
    )


def _is_each_tag_once() -> Column:
    keys = F.transform("tags", lambda tag: F.substring_index(tag, "=", 1))
    return F.size(F.array_distinct(keys)) == F.size(keys)


def _skip() -> Column:
    is_blank = F.trim(F.regexp_replace("line", r"\s", "")) == ""
    is_read = F.col("figures").isNotNull() | F.col("metric").isNotNull() | F.col("told").isNotNull()
    return F.when(is_read, None).when(is_blank, "blank").otherwise("not_a_figure")


def _flags() -> Column:
    written = [F.col(f"figures.{name}") for name in NUMBERS]
    has_comma = reduce(Column.__or__, (F.contains(number, F.lit(",")) for number in written))
    is_none = reduce(Column.__or__, (number.isin(*NO_NUMBER) for number in written))
    flags = {
        DECIMAL_COMMA: has_comma,
        NOT_A_NUMBER: is_none,
        NO_INSTANT: F.col("logged_at").isNull() & F.col("told").isNull(),
    }
    return F.array_compact(F.array(*(F.when(flag, name) for name, flag in flags.items())))


def _row() -> Column:
    names = [field.name for field in RUN if field.name not in {"cluster", "logged_at"}]
    is_steady = F.col("figures.steady").isNotNull()
    figures = {
        "records": F.col("figures.records").try_cast("bigint"),
        **{name: _number(name) for name in (*NUMBERS, *PERCENTILES)},
        "is_steady_state": is_steady,
    }
    told = [field.name for field in TOLD.fields if field.name not in {field.name for field in RUN}]
    return F.struct(
        "cluster",
        *(F.coalesce(F.col(f"told.{name}"), F.col(name)).alias(name) for name in names),
        F.coalesce("logged_at", "told.logged_at").alias("logged_at"),
        _part("figures", **figures),
        _part("metric", **_metric()),
        _part("told", **{name: F.col(f"told.{name}") for name in told}),
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


def _metric() -> dict[str, Column]:
    text = F.col("metric.text")
    number = F.replace(text, F.lit(","), F.lit(".")).try_cast("double")
    is_number = ~text.isin(*NO_NUMBER) & (F.abs(number) < float("inf"))
    pairs = F.transform(
        F.filter("tags", lambda tag: tag != ""),
        lambda tag: F.struct(
            F.substring_index(tag, "=", 1).alias("key"),
            F.substr(tag, F.instr(tag, "=") + 1).alias("value"),
        ),
    )
    return {
        "metric_group": F.col("metric.metric_group"),
        "metric": F.col("metric.metric"),
        "tags": F.when(_is_each_tag_once(), F.map_from_entries(pairs)),
        "value": F.when(is_number, number),
        "text": text,
    }
