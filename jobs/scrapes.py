"""Scrapes read step by step, each kept for the next one."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conf.settings import Ingest, Settings
from transforms.parse import metrics
from transforms.parse.metric_page import Limits


def limits(told: Ingest) -> Limits:
    """Give what a scrape may be at most."""
    return Limits(
        scrape_bytes=told.max_scrape_bytes,
        scrape_samples=told.max_scrape_samples,
        sample_labels=told.max_sample_labels,
        label_chars=told.max_label_chars,
    )


def look_at(raw: DataFrame, settings: Settings) -> DataFrame:
    """Look at pages as a whole; those that came compressed wait, since Python would unpack them."""
    return metrics.read_pages(raw, limits(settings.ingest))


def read(pages: DataFrame, settings: Settings, known: DataFrame | None = None) -> DataFrame:
    """
    Read what was looked at, and kept by the caller; what there is nothing of costs nothing.

    `known` are the `series_id` that were read before: they are not read again, and have no row. What is
    between is checkpointed: a frame that is only kept brings all of its way along, and each column that is
    added would have it analysed again.
    """
    told, is_packed = limits(settings.ingest), F.col("outcome") == metrics.PACKED
    if not pages.where(is_packed).isEmpty():
        unpacked = metrics.read_pages(pages.where(is_packed).select("raw.*"), told, unpack=True)
        pages = pages.where(~is_packed).unionByName(unpacked.localCheckpoint())
    lines = metrics.cut_lines(pages, known).localCheckpoint()
    is_odd = F.col("outcome") == metrics.ODD
    found = lines.agg(F.count_if(metrics.is_new()).alias("new"), F.count_if(is_odd).alias("odd")).collect()[0]
    heads = metrics.read_heads(lines, pages, told).localCheckpoint() if found["new"] else None
    others, n_bad = _others(heads)
    odd = None
    if n_bad or found["odd"]:
        odd = metrics.read_odd(lines, pages, others, told).localCheckpoint()
    return metrics.with_heads(pages, lines, heads, others, odd)


def _others(heads: DataFrame | None) -> tuple[DataFrame | None, int]:
    """Give the heads that are not what they stand for, None where all are, and how many are no series."""
    if heads is None:
        return None, 0
    others = metrics.other_heads(heads)
    is_bad = F.col("other_id").isNull()
    found = others.agg(F.count("*").alias("all"), F.count_if(is_bad).alias("bad")).collect()[0]
    return others if found["all"] else None, found["bad"]
