"""
Parse one line of a performance test: figures, a client metric, a run document, or other output.

The tool writes no timestamps, so `plumbline perf-test` prefixes each line with the instant it read the line.
The record's headers name the run of a line.
"""

import re

from transforms.parse.columns import origin
from transforms.parse.documents import whole_text
from transforms.parse.perf import figures, metrics
from transforms.parse.perf.figures import Figures, read_figures
from transforms.parse.perf.metrics import PerfMetric, read_metric
from transforms.parse.perf.run import DOCUMENT_BEGIN, RUN_DOCUMENT, PerfRun, instant, read_run, run_names
from transforms.parse.record import NO_CLUSTER, Outcome, Quarantined, Record, Skipped, sample

LONGEST_BYTES = 64 * 1024
"""No line of the tool is longer, including metrics with long tags."""

BLANKS = " \t\n\r\f\v"
STAMP = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z) ", re.ASCII)

# Only whole or cut lines of figures, metrics and runs contain these words. Such a line is never skipped.
WORDS = ("records sent", "records/sec", "MB/sec", "ms avg", "ms max", RUN_DOCUMENT)
END = r"\s*+[\x85\u2028\u2029]?\Z"
CUT_FIGURES = re.compile(rf"\s*+\d[\d.,]*+(?: r[a-z]*+)?{END}", re.ASCII)
CUT_METRIC = re.compile(
    rf"\s*+(?:[a-z][a-z0-9-]*-metrics?|app-info|kafka-metrics-count):|{metrics.BEGIN}", re.ASCII
)
PERCENTILE = re.compile(r"ms \d+(?:\.9)?th", re.ASCII)
METRIC_NAME = re.compile(r":[A-Za-z0-9._-]++:\{", re.ASCII)
METRIC_END = re.compile(r"\} * : ", re.ASCII)
METRIC_VALUE = re.compile(rf"\}} * : \S+{END}", re.ASCII)
PIECES = ("records sent, ", "records/sec (", "MB/sec), ", "ms avg latency", "ms max latency")

Form = Figures | PerfMetric | PerfRun | Quarantined | None
"""The content of a line. Quarantined: a run with a mistyped field. None: other output, or a cut line."""


def parse(record: Record) -> Outcome:
    """Parse one line into a row of `perf_windows`, `perf_summaries`, `client_metrics` or `runs`."""
    text = whole_text(record)
    if isinstance(text, Quarantined):
        return text
    if len(record.value or b"") > LONGEST_BYTES:
        return Quarantined("oversized", f"{len(record.value or b'')} bytes")
    stamp = STAMP.match(text)
    line = text[stamp.end() :] if stamp else text
    logged_at = instant(stamp[1]) if stamp else None
    late = Quarantined("impossible_timestamp", sample(line)) if stamp and logged_at is None else None
    form = read_figures(line) or read_metric(line) or read_run(line)
    if form is None and not _is_part(line):
        return late or Skipped("not_a_figure" if line.strip(BLANKS) else "blank")
    run, arm, scenario, client_version = run_names(record, form if isinstance(form, PerfRun) else None)
    fault = _unnamed(record, form, run) or late or _several(form, line)
    if fault or form is None:
        return fault or _unread(line)
    if isinstance(form, Quarantined):
        return form
    begin = (record.cluster, run, arm, scenario, client_version, logged_at)
    flags = ["no_instant"] if logged_at is None else []
    return form.fault(line) or form.parsed(begin, flags, origin(record))


def _is_part(line: str) -> bool:
    return (
        any(word in line for word in WORDS)
        or any(pattern.match(line) for pattern in (CUT_FIGURES, CUT_METRIC))
        or any(pattern.search(line) for pattern in (PERCENTILE, METRIC_NAME, METRIC_VALUE))
    )


def _unnamed(record: Record, form: Form, run: str | None) -> Quarantined | None:
    if record.cluster is None:
        return NO_CLUSTER
    if run is None and not isinstance(form, Quarantined):
        return Quarantined("no_run", "the record names no run")
    return None


def _several(form: Form, line: str) -> Quarantined | None:
    """Return a fault if the line contains another line, or a piece of one."""
    begins = line.count("records sent") + len(METRIC_NAME.findall(line)) + line.count(f'"{RUN_DOCUMENT}"')
    has_piece = form and not isinstance(form, Figures) and any(piece in line for piece in PIECES)
    is_several = begins > 1 or has_piece or len(METRIC_END.findall(line)) > 1
    return Quarantined("several_objects", sample(line)) if is_several else None


def _unread(line: str) -> Quarantined:
    if line.startswith(DOCUMENT_BEGIN):
        return Quarantined("bad_json", sample(line))
    is_cut = figures.BEGIN.match(line) or CUT_METRIC.match(line)
    return Quarantined("truncated_line" if is_cut else "unknown_form", sample(line))
