"""
The lines of a performance test taken apart, each form by a pattern of its own.

The forms are those of Kafka 2.4 to 4.x (`org.apache.kafka.tools.ProducerPerformance`,
`ToolsUtils.printMetrics`), printed in the JVM's locale, and the JSON of `plumbline perf-test`.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType, TimestampType

from schemas.perf_test import PERF_WINDOWS, RUN_DOCUMENT, RUN_HEADERS, RUNS
from transforms.parse.outcome import let
from transforms.parse.request_document import JSON_OPTIONS
from transforms.parse.stamp import SEPARATOR

LINE_BYTES = 64 * 1024
"""No line of the tool is longer, not even a metric with long tags."""

INSTANT = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z"
STAMP = rf"^({INSTANT}) "

# Where a number belongs any word is taken: `perf_checks` tells which is one.
FIGURES_BEGIN = r"^\s*(\S+)( steady state)? records sent, "
FIGURES_LINE = (
    rf"{FIGURES_BEGIN}(\S+) records/sec \((\S+) MB/sec\), (\S+) ms avg latency, (\S+) ms max latency"
    r"(?:, (\S+) ms 50th, (\S+) ms 95th, (\S+) ms 99th, (\S+) ms 99\.9th)?\.?\s*$"
)
NUMBERS = ("records_per_s", "mib_per_s", "avg_ms", "max_ms")
PERCENTILES = ("p50_ms", "p95_ms", "p99_ms", "p999_ms")
FIGURE_NAMES = ("records", "steady", *NUMBERS, *PERCENTILES)
NO_NUMBER = ("NaN", "Infinity", "-Infinity")

NAME_OF_METRIC = r":[A-Za-z0-9._-]+:\{"
METRIC_BEGIN = r"^\s*([A-Za-z][A-Za-z0-9._-]*):([A-Za-z0-9._-]+):\{"
METRIC_LINE = rf"{METRIC_BEGIN}((?:[A-Za-z0-9._-]+=.*)?)\}} * : (\S+)\s*$"
METRIC_NAMES = ("metric_group", "metric", "tags", "text")
NEXT_TAG = r", (?=[A-Za-z0-9._-]+=)"
METRIC_NUMBER = r"^-?\d+(?:[.,]\d{3})?$"
"""A double has three digits behind the point; a long has no point."""

TOLD = tuple(n for n in RUNS.schema.names if n in RUN_HEADERS or n not in PERF_WINDOWS.schema.names)
"""The columns of a run that its document tells."""

INSTANTS = ("started_at", "ended_at")
DOCUMENT_BEGIN = f'{{"{RUN_DOCUMENT}"'


def with_parts(raw: DataFrame) -> DataFrame:
    """
    Add what a line holds: `stamp`, `line` behind it, the run's headers, and one of three parts.

    `figures`, `metric` (with `tags`, a list) and `document` are NULL where the line has another form.
    """
    is_plain = F.col("chunk").isNull() & F.col("content_encoding").isNull()
    text = F.when(is_plain, F.substring("value", 1, LINE_BYTES)).cast("string")
    lines = raw.select(
        "*",
        F.lit(None).cast("string").alias("logger"),
        F.regexp_extract(text, STAMP, 1).alias("stamp"),
        F.regexp_replace(text, STAMP, "").alias("line"),
        *(_header(header).alias(name) for name, header in RUN_HEADERS.items()),
    )
    matched = lines.select(
        "*",
        _matched(FIGURES_LINE, FIGURE_NAMES).alias("figures"),
        _matched(METRIC_LINE, METRIC_NAMES).alias("metric"),
        _document().alias("document"),
    )
    tags, at = F.split("metric.tags", NEXT_TAG).alias("tags"), instant(F.col("stamp")).alias("logged_at")
    return matched.select("*", tags, at)


def is_document() -> Column:
    """Tell whether the line is to tell what was run."""
    return F.col("line").startswith(DOCUMENT_BEGIN)


def instant(text: Column) -> Column:
    """Read an instant as the collector writes it, NULL for any other text: a cast would take `2026`."""
    return F.when(text.rlike(f"^{INSTANT}$"), text).try_cast("timestamp")


def figure(name: str) -> Column:
    """Read a number with a point or a comma; NULL for NaN and for what is none."""
    written = F.col(f"figures.{name}")
    return F.when(~written.isin(*NO_NUMBER), _double(written))


def metric_value() -> Column:
    """Read a metric's value, NULL for what is no number; a version or a commit may look like one to Spark."""
    text = F.col("metric.text")
    number = F.when(text.rlike(METRIC_NUMBER), _double(text))
    return F.when(F.abs(number) < float("inf"), number)


def _double(written: Column) -> Column:
    return F.replace(written, F.lit(","), F.lit(".")).try_cast("double")


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


def _document() -> Column:
    """
    Read the JSON, NULL for what is none or is not all of the line; instants stay texts, to be judged.

    It is read as the first of a list of our own: Spark's reader says nothing of what stands behind the first
    value, but then the list's end is not found.
    """
    told = StructType([_as_written(RUNS.schema[name]) for name in TOLD])
    kind = ArrayType(StructType().add(RUN_DOCUMENT, told).add("end", IntegerType()))
    listed = F.concat(F.lit("["), F.col("line"), F.lit(',{"end":1}]'))
    read = F.from_json(F.when(is_document(), listed), kind, JSON_OPTIONS)
    return let(read, lambda both: F.when(F.get(both, F.lit(1))["end"] == 1, both[0][RUN_DOCUMENT]))


def _as_written(field: StructField) -> StructField:
    is_instant = isinstance(field.dataType, TimestampType)
    return StructField(field.name, StringType() if is_instant else field.dataType)
