"""What can be wrong with a line of a performance test, and which lines are not ours to parse."""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemas.perf_test import RUN_DOCUMENT
from transforms.parse.outcome import fails, sample
from transforms.parse.perf_lines import (
    FIGURES_BEGIN,
    INSTANTS,
    LINE_BYTES,
    METRIC_BEGIN,
    NAME_OF_METRIC,
    NO_NUMBER,
    NUMBERS,
    PERCENTILES,
    instant,
    is_document,
)
from transforms.parse.stamp import unreadable_value

OF_FIGURES = r"records sent|records/sec|MB/sec|ms avg|ms max|ms \d+(\.9)?th"
PIECES = r"records sent, |records/sec \(|MB/sec\), |ms avg latency|ms max latency"
CUT_FIGURES = r"^\s*\d[\d.,]*( r[a-z]*)?\s*$"
CUT_METRIC = rf"^\s*([a-z][a-z0-9-]*-metrics?|app-info|kafka-metrics-count):|{METRIC_BEGIN}"
END_OF_METRIC = r"\} * : "
OF_METRIC = rf"{CUT_METRIC}|{NAME_OF_METRIC}|{END_OF_METRIC}\S+\s*$"
"""What only lines of figures and of metrics hold, whole or cut: such a line is never skipped."""

# How many digits follow the point: in a window's line, in a summary's.
DECIMALS = {"records_per_s": (1, 6), "mib_per_s": (2, 2), "avg_ms": (1, 2), "max_ms": (1, 2)}
COUNT = r"^\d{1,18}$"
WHOLE_DIGITS = 12
"""No rate and no latency of this world has more."""

AMOUNTS = ("warm_up_s", "asked_records", "asked_records_per_s", "record_size_bytes")


def failure() -> Column:
    """Give the first thing wrong with a line."""
    line = F.col("line")
    bytes_told = F.concat(F.octet_length("value").cast("string"), F.lit(" bytes"))
    return F.coalesce(
        unreadable_value(),
        fails(F.octet_length("value") > LINE_BYTES, "oversized", bytes_told),
        F.when(_is_ours(), _untold()),
        fails((F.col("stamp") != "") & F.col("logged_at").isNull(), "impossible_timestamp", sample(line)),
        F.when(_is_ours(), _misread()),
        F.when(F.col("figures").isNotNull(), fails(_bad_figures() != "", "bad_number", _bad_figures())),
        F.when(F.col("metric").isNotNull(), _bad_metric()),
        F.when(F.col("document").isNotNull(), _bad_document()),
    )


def skip() -> Column:
    """Tell why a line that is well is not ours, NULL for one that is kept."""
    is_blank = F.trim(F.regexp_replace("line", r"\s", "")) == ""
    return F.when(_is_read(), None).when(is_blank, "blank").otherwise("not_a_figure")


def is_each_tag_once() -> Column:
    """Tell whether a metric's tags are a map."""
    keys = F.transform("tags", lambda tag: F.substring_index(tag, "=", 1))
    return F.size(F.array_distinct(keys)) == F.size(keys)


def _is_ours() -> Column:
    line = F.col("line")
    has_words = line.rlike(OF_FIGURES) | line.rlike(CUT_FIGURES) | line.rlike(OF_METRIC)
    return has_words | F.contains(line, F.lit(RUN_DOCUMENT))


def _is_read() -> Column:
    parts = (F.col(part).isNotNull() for part in ("figures", "metric", "document"))
    return reduce(Column.__or__, parts)


def _untold() -> Column:
    is_known = F.coalesce(F.col("document.run") != "", F.lit(False)) | F.col("run").isNotNull()
    return F.coalesce(
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(~is_known, "no_run", "the record names no run"),
    )


def _misread() -> Column:
    line, shown = F.col("line"), sample(F.col("line"))
    is_cut = line.rlike(FIGURES_BEGIN) | line.rlike(CUT_METRIC)
    return F.coalesce(
        fails(_is_several(), "several_objects", shown),
        fails(is_document() & ~_is_read(), "bad_json", shown),
        fails(~_is_read() & is_cut, "truncated_line", shown),
        fails(~_is_read(), "unknown_form", shown),
        fails(_is_cut_summary(), "truncated_line", shown),
        fails(_is_cut_metric(), "truncated_line", shown),
    )


def _is_several() -> Column:
    """Tell whether more than one line, or a piece of another, stands in the line."""
    line = F.col("line")
    begins = (r"records sent", NAME_OF_METRIC, f'"{RUN_DOCUMENT}"')
    count = reduce(Column.__add__, (F.regexp_count(line, F.lit(begin)) for begin in begins))
    is_other = F.col("metric").isNotNull() | F.col("document").isNotNull()
    has_piece = is_other & line.rlike(PIECES)
    return (count > 1) | (F.regexp_count(line, F.lit(END_OF_METRIC)) > 1) | has_piece


def _is_cut_summary() -> Column:
    """Tell a summary that was cut before its percentiles from the window it then looks like."""
    is_of_summary = F.col("figures.steady").isNotNull() | F.col("figures.records_per_s").rlike(r"[.,]\d{6}$")
    return F.col("figures.p50_ms").isNull() & is_of_summary


def _is_cut_metric() -> Column:
    """Tell a number that was cut: all that the producer measures is written with three decimals."""
    is_measured = F.col("metric.metric_group").rlike("-metrics(-count)?$")
    return is_measured & F.col("metric.text").rlike(r"^-?\d+([.,]\d{0,2})?$")


def _bad_figures() -> Column:
    """Name the figures that are not written as the tool writes a number, `''` when there are none."""
    is_summary = F.col("figures.p50_ms").isNotNull()
    bad = {name: ~F.col(f"figures.{name}").rlike(COUNT) for name in ("records", *PERCENTILES)}
    for name, (of_window, of_summary) in DECIMALS.items():
        written = F.col(f"figures.{name}")
        is_number = F.when(is_summary, _has(written, of_summary)).otherwise(_has(written, of_window))
        bad[name] = ~is_number & ~written.isin(*NO_NUMBER)
    written = F.concat(*(F.col(f"figures.{name}") for name in NUMBERS))
    bad["decimal point and comma"] = F.contains(written, F.lit(".")) & F.contains(written, F.lit(","))
    return F.concat_ws(", ", *(F.when(is_bad, name) for name, is_bad in bad.items()))


def _has(written: Column, decimals: int) -> Column:
    return written.rlike(rf"^\d{{1,{WHOLE_DIGITS}}}[.,]\d{{{decimals}}}$")


def _bad_metric() -> Column:
    return fails(~is_each_tag_once(), "duplicate_key", F.col("metric.tags"))


def _bad_document() -> Column:
    written = {name: F.col(f"document.{name}") for name in INSTANTS}
    wrong = [F.when(text.isNotNull() & instant(text).isNull(), name) for name, text in written.items()]
    amounts = {name: F.col(f"document.{name}") for name in AMOUNTS}
    bad = [F.when((amount < 0) | (amount == float("inf")), name) for name, amount in amounts.items()]
    return F.coalesce(
        fails(F.concat_ws(", ", *wrong) != "", "impossible_timestamp", F.concat_ws(", ", *wrong)),
        fails(F.concat_ws(", ", *bad) != "", "bad_number", F.concat_ws(", ", *bad)),
    )
