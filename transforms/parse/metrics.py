"""
Scrapes as `silver.metric_scrapes`, `metric_series`, `metric_samples`: text format 0.0.4 and OpenMetrics.

One row of bronze is a whole page. Each is looked at as a whole (`read_pages`), then parted into lines, and
each line of the common form cut in two: its head, which names the series, and value and instant
(`cut_lines`). A head comes again with every scrape, so one that is known is taken as it is, and any other
read once for all pages at hand (`read_heads`); lines of another form each by itself (`read_odd`).
`with_heads` puts it all together. Each step wants the one before it kept: in one plan they would read the
pages many times, and the plan would be megabytes. `jobs.scrapes` keeps them. What is accepted is what
prometheus_client accepts, but for the classes that docs/metrics.md names.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.bronze import RAW
from schemas.metrics import METRIC_SAMPLES, METRIC_SCRAPES
from transforms.parse import PARSER_VERSION
from transforms.parse.metric_line import (
    family_and_type,
    instant_of,
    is_comment,
    is_type,
    read_lines,
    value_of,
    with_cut,
)
from transforms.parse.metric_page import Limits, with_page
from transforms.parse.metric_series import SAMPLE, SERIES, TYPE, broker_id, series
from transforms.parse.outcome import KEPT, QUARANTINED, apart, quarantined

__all__ = [
    "SAMPLE",
    "SERIES",
    "is_page",
    "quarantined",
    "samples",
    "scrapes",
    "series",
]

PAGE, LINE = "page", "line"
"""In `logger`, which a scrape has none of: what a parsed row stands for."""

CUT, ODD, PACKED = "cut", "odd", "packed"
"""Outcomes of a first look: a line of the common form, one of another, a page that is still compressed."""

END = "end"
"""Outcome of the row behind the last line of a page: its `nth` says how many lines there were."""

ROW = "struct<logged_at:timestamp,format:string,bytes:bigint,is_text:boolean>"

OF_LINE = {
    "page": "bigint",
    "nth": "int",
    "series_id": "bigint",
    "at": "timestamp",
    "sample_value": "double",
    "series": "string",
    "family": "string",
    "type": "string",
}
"""What a line says, beside the columns that every parsed frame has; a page's row has only `page`."""

PLACE = ("cluster", "node", "source", "position", "topic", "partition", "offset")
OF_PAGE = (*PLACE, "kind", "timestamp", "ingested_at", "ingest_date")


def is_page() -> Column:
    """Tell whether a parsed row is a row of bronze, and not one of its lines."""
    return F.col("logger") == PAGE


def pages_of(pages: DataFrame) -> DataFrame:
    """Give the rows of bronze back that `read_pages` was given."""
    return pages.select("raw.*")


def read_pages(raw: DataFrame, limits: Limits, *, unpack: bool = False) -> DataFrame:
    """
    Look at pages as a whole: what can be read is `KEPT`.

    Without `unpack`, which is done in Python, a compressed page is left for later, `PACKED`.
    """
    pages = with_page(raw, limits, unpack=unpack)
    is_packed = F.col("text").isNull() & (F.col("content_encoding") == "gzip") & F.lit(not unpack)
    outcome = F.when(is_packed, PACKED).when(F.col("failure").isNull(), KEPT).otherwise(QUARANTINED)
    row = F.struct(
        F.col("scraped_at").alias("logged_at"),
        "format",
        F.octet_length("bytes").cast("bigint").alias("bytes"),
        "is_text",
    )
    return pages.select(
        F.struct(*RAW.fieldNames()).alias("raw"),
        apart(outcome).alias("outcome"),
        "failure",
        row.cast(ROW).alias("row"),
        "page",
        "cluster",
        F.when(F.col("content_encoding").isNotNull(), F.col("bytes")).alias("unpacked"),
    )


def cut_lines(pages: DataFrame, known: DataFrame | None) -> DataFrame:
    """
    Part the pages that can be read into lines: a row for each line that is no comment, and one at the end.

    `known` are the `series_id` that were read before; where one of them is meant, the text is not kept.
    """
    row, is_text = F.col("row"), F.col("row.is_text")
    bytes_ = F.coalesce("unpacked", "raw.value")
    # Of a page that is not all UTF-8 each byte becomes a character, so that its lines keep their bytes.
    text = F.when(is_text, bytes_.cast("string")).otherwise(F.decode(bytes_, "ISO-8859-1"))
    told = ("page", "cluster", "node", "format", "scraped_at", "is_text")
    read = pages.where(F.col("outcome") == KEPT).select(
        "page",
        "cluster",
        F.col("raw.node").alias("node"),
        row.format.alias("format"),
        row.logged_at.alias("scraped_at"),
        is_text.alias("is_text"),
        text.alias("text"),
    )
    # Counted while they are parted, so that no page is parted twice.
    parts = F.array_append(F.split("text", "\n"), F.lit(None))
    n_open = F.when((F.col("text") == "") | F.endswith("text", F.lit("\n")), 1).otherwise(0)
    parted = read.select(*told, n_open.alias("n_open"), F.posexplode(parts).alias("nth", "written"))
    # As text again; bytes that are no UTF-8 stay what they are.
    own_bytes = F.encode("written", "ISO-8859-1").cast("string")
    line = F.when(F.col("is_text"), F.col("written")).otherwise(own_bytes)
    is_end = F.col("line").isNull()
    nth = F.when(F.col("written").isNull(), F.col("nth") - F.col("n_open")).otherwise(F.col("nth"))
    lines = with_cut(parted.select(*told, nth.alias("nth"), line.alias("line")).where(is_end | ~is_comment()))
    at = F.coalesce(instant_of(F.col("tail")), F.col("scraped_at"))
    lines = lines.withColumn("at", F.when(F.col("is_cut"), at))
    is_cut = F.col("is_cut") & F.col("at").isNotNull()
    outcome = F.when(is_end, END).when(is_type(), TYPE).when(is_cut, CUT).otherwise(ODD)
    cut = lines.select(
        "page",
        "cluster",
        "nth",
        "format",
        apart(outcome).alias("outcome"),
        F.when(is_cut, F.xxhash64("cluster", "node", "head")).alias("head_id"),
        F.when(is_cut, F.col("at")).alias("at"),
        F.when(is_cut, value_of(F.col("tail"))).alias("value"),
        "line",
    )
    if known is None:
        return cut
    ids = known.select(F.col("series_id").alias("known_id")).distinct()
    is_known = F.col("known_id").isNotNull()
    joined = cut.join(F.broadcast(ids), on=cut.head_id == ids.known_id, how="left")
    return joined.withColumn("line", F.when(~is_known, F.col("line"))).drop("known_id")


def is_new() -> Column:
    """Tell whether a line of the common form has a head that is not known."""
    return (F.col("outcome") == CUT) & F.col("line").isNotNull()


def read_heads(lines: DataFrame, pages: DataFrame, limits: Limits) -> DataFrame:
    """Read what names a new series, once each: `head_id` to `series_id`, which is NULL where it is none."""
    head = F.when(F.contains("line", F.lit("}")), F.concat(F.substring_index("line", "}", 1), F.lit("}")))
    first = F.substring_index("line", " ", 1)
    found = (
        lines.where(is_new())
        .select("head_id", "format", F.coalesce(head, first).alias("head"), "at", "page")
        # By the text too, of which the id is made: a hash aggregate keeps no strings but in its key.
        .groupBy("head_id", "format", "head")
        .agg(F.min("at").alias("first_at"), F.min("page").alias("page"))
    )
    places = pages.select("page", "raw.cluster", "raw.node")
    heads = found.join(F.broadcast(places), on="page", how="left").select(
        "head_id",
        "page",
        "cluster",
        "node",
        "first_at",
        "format",
        F.concat("head", F.lit(" 0")).alias("line"),
        F.lit(True).alias("is_text"),
        F.timestamp_micros(F.lit(0)).alias("scraped_at"),
    )
    read = read_lines(heads, limits)
    # What stands in front of the cut must be all of the series and nothing else.
    is_series = F.col("failure").isNull() & (F.col("value_text") == "0") & (F.col("at_text") == "")
    series_id = F.when(is_series, F.xxhash64("cluster", "node", "series"))
    return read.select(
        "head_id", "format", series_id.alias("series_id"), "series", "page", "cluster", "first_at"
    )


def other_heads(heads: DataFrame) -> DataFrame:
    """Give the heads that are not what they stand for: labels in another order, or no series at all."""
    is_itself = F.coalesce(F.col("series_id") == F.col("head_id"), F.lit(False))
    return heads.where(~is_itself).select("head_id", "format", F.col("series_id").alias("other_id"))


def read_odd(lines: DataFrame, pages: DataFrame, others: DataFrame | None, limits: Limits) -> DataFrame:
    """Read each by itself the lines that are not of the common form, or whose head is no series."""
    every = lines.where(F.col("outcome") == ODD).select("page", "nth", "line")
    if others is not None:
        bad = others.where(F.col("other_id").isNull())
        cut = lines.where(is_new())
        misread = cut.join(F.broadcast(bad), on=["head_id", "format"], how="left_semi")
        every = every.unionByName(misread.select("page", "nth", "line"))
    told = (F.col(f"row.{name}") for name in ("format", "is_text"))
    places = pages.select(
        "page", *(F.col(f"raw.{name}") for name in OF_PAGE), *told, F.col("row.logged_at").alias("scraped_at")
    )
    read = read_lines(every.join(F.broadcast(places), on="page", how="left"), limits)
    is_bad = F.col("failure").isNotNull()
    place = F.concat("position", F.lit("#"), (F.col("nth") + 1).cast("string"))
    raw = {
        **{name: F.when(is_bad, F.col(name)) for name in OF_PAGE},
        "cluster": F.col("cluster"),
        "position": F.when(is_bad, place),
        "value": F.when(is_bad, F.col("line").cast("binary")),
    }
    said = {
        "series_id": F.xxhash64("cluster", "node", "series"),
        "at": F.col("at"),
        "sample_value": F.col("value"),
        "series": F.col("series"),
    }
    return _parsed(
        read,
        {**raw, "outcome": F.when(is_bad, QUARANTINED).otherwise(SAMPLE)}
        | {"reason": F.col("failure.reason"), "detail": F.col("failure.detail")}
        | {"page": F.col("page"), "nth": F.col("nth")}
        | {name: F.when(~is_bad, column) for name, column in said.items()},
    )


def with_heads(
    pages: DataFrame,
    lines: DataFrame,
    heads: DataFrame | None,
    others: DataFrame | None,
    odd: DataFrame | None,
) -> DataFrame:
    """Put together what was read; what is None is where there is nothing of the kind."""
    is_end = F.col("outcome") == END
    cut = lines.where((F.col("outcome") == CUT) | is_end).select("*", F.col("head_id").alias("series_id"))
    if others is not None:
        told = others.select("head_id", "format", "other_id", F.lit(True).alias("is_other"))
        cut = cut.join(F.broadcast(told), on=["head_id", "format"], how="left")
        series_id = F.when(F.col("is_other"), F.col("other_id")).otherwise(F.col("head_id"))
        cut = cut.withColumn("series_id", series_id).where(is_end | F.col("series_id").isNotNull())
    raw = {field.name: F.col(f"raw.{field.name}") for field in RAW.fields}
    failure = {name: F.col(f"failure.{name}") for name in ("reason", "detail")}
    own = {name: F.col(name) for name in ("outcome", "row", "page")}
    page_rows = _parsed(pages, raw | failure | own | {"logger": F.lit(PAGE)})
    said = {name: F.col(name) for name in ("cluster", "page", "nth", "series_id", "at")}
    own = {"outcome": F.when(is_end, END).otherwise(SAMPLE), "sample_value": F.col("value")}
    samples = _parsed(cut, said | own)
    parts = [page_rows, samples, odd, None if heads is None else _series_of(heads)]
    parts += [None if heads is None and odd is None else _types(lines, [heads, odd])]
    return reduce(DataFrame.unionByName, [part for part in parts if part is not None])


def _types(lines: DataFrame, named: Sequence[DataFrame | None]) -> DataFrame:
    """Give what the pages tell of families that new series were found in."""
    pages = reduce(DataFrame.unionByName, [of.select("page") for of in named if of is not None])
    types = lines.where(F.col("outcome") == TYPE).join(
        F.broadcast(pages.distinct()), on="page", how="left_semi"
    )
    told = types.select("page", *family_and_type())
    return _parsed(told, {name: F.col(name) for name in told.columns} | {"outcome": F.lit(TYPE)})


def _series_of(heads: DataFrame) -> DataFrame:
    named = {name: F.col(name) for name in ("cluster", "page", "series_id", "series")}
    told = named | {"outcome": F.lit(SERIES), "at": F.col("first_at")}
    return _parsed(heads.where(F.col("series_id").isNotNull()), told)


def scrapes(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.metric_scrapes`; the instant of a back-filled page is its newest sample's."""
    counts = (
        parsed.where(~is_page() & F.col("outcome").isin(SAMPLE, QUARANTINED, END))
        .groupBy("page")
        .agg(
            F.count_if(F.col("outcome") == SAMPLE).alias("samples"),
            F.count_if(F.col("outcome") == QUARANTINED).alias("rejected"),
            F.max(F.when(F.col("outcome") == END, F.col("nth"))).cast("bigint").alias("lines"),
            F.max("at").alias("newest"),
        )
    )
    pages = parsed.where(is_page() & (F.col("outcome") == KEPT)).join(counts, on="page", how="left")
    told, none = F.col("row"), F.lit(0)
    n_samples, n_rejected = F.coalesce("samples", none), F.coalesce("rejected", none)
    at = F.coalesce(told.logged_at, F.col("newest"), F.col("timestamp"))
    return pages.select(
        "cluster",
        broker_id().alias("broker_id"),
        at.alias("logged_at"),
        F.to_date(at).alias("logged_date"),
        told.format.alias("format"),
        told.bytes.alias("bytes"),
        "lines",
        n_samples.alias("samples"),
        (F.col("lines") - n_samples - n_rejected).alias("comments"),
        n_rejected.alias("rejected"),
        *PLACE[1:],
        F.lit(PARSER_VERSION).alias("parser_version"),
    ).to(METRIC_SCRAPES.schema)


def samples(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.metric_samples`."""
    value, date = F.col("sample_value").alias("value"), F.to_date("at").alias("sampled_date")
    rows = parsed.where(F.col("outcome") == SAMPLE)
    return rows.select("cluster", "series_id", "at", value, date).to(METRIC_SAMPLES.schema)


def _parsed(rows: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """Give rows of a parsed frame, from the columns that there are."""
    kinds = {field.name: field.dataType.simpleString() for field in RAW.fields}
    kinds |= {"logger": "string", "outcome": "string", "reason": "string", "detail": "string", "row": ROW}
    kinds |= OF_LINE
    told = {"logger": F.lit(LINE)} | dict(columns)
    return rows.select(*(told.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in kinds.items()))
