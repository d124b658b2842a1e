"""
Parse a window line or a summary line of ProducerPerformance.

The formats are those of Kafka 2.4 to 4.x (`org.apache.kafka.tools.ProducerPerformance`). The JVM's locale
decides between decimal point and decimal comma.
"""

import re
from typing import NamedTuple

from transforms.parse.columns import ORIGIN, OriginColumns, row_type
from transforms.parse.perf.run import BEGIN_COLUMNS, Begin
from transforms.parse.record import Kept, Quarantined, sample

# Any word matches in place of a number; `fault` names the words that are no numbers. No word contains \x01.
WORD = r"([^\s\x01]++)"
BEGIN = re.compile(r"\s*+\S++(?: steady state)? records sent, ", re.ASCII)
LINE = re.compile(
    rf"\s*+{WORD}( steady state)? records sent, {WORD} records/sec \({WORD} MB/sec\), {WORD} ms avg latency,"
    rf" {WORD} ms max latency(?:, {WORD} ms 50th, {WORD} ms 95th, {WORD} ms 99th, {WORD} ms 99\.9th)?\.?\s*+",
    re.ASCII,
)
NO_NUMBER = ("NaN", "Infinity", "-Infinity")
COUNT = re.compile(r"\d{1,18}", re.ASCII)
SUMMARY_RATE = re.compile(r"[.,]\d{6}\Z", re.ASCII)

# Digits after the point in a window and in a summary. No rate and no latency has more than 12 before it.
DECIMALS = {"records_per_s": (1, 6), "mib_per_s": (2, 2), "avg_ms": (1, 2), "max_ms": (1, 2)}
NUMBER = {digits: re.compile(rf"\d{{1,12}}[.,]\d{{{digits}}}", re.ASCII) for digits in (1, 2, 6)}
PERCENTILES = ("p50_ms", "p95_ms", "p99_ms", "p999_ms")

FIGURES = "records records_per_s mib_per_s avg_ms max_ms is_steady_state"
PerfWindow = row_type("PerfWindow", BEGIN_COLUMNS, FIGURES, "quality_flags", ORIGIN)
PerfSummary = row_type("PerfSummary", BEGIN_COLUMNS, FIGURES, *PERCENTILES, "quality_flags", ORIGIN)


class Figures(NamedTuple):
    """The figures of a line as text; a window has no percentiles."""

    records: str
    steady_state: str | None
    numbers: list[str]  # rates and latencies, in the order of `DECIMALS`
    percentiles: list[str]

    def fault(self, line: str) -> Quarantined | None:
        """Return a fault if the line is cut, or if a figure is not in the tool's format."""
        if not self.percentiles and (self.steady_state or SUMMARY_RATE.search(self.numbers[0])):
            return Quarantined("truncated_line", sample(line))
        counts = zip(("records", *PERCENTILES), (self.records, *self.percentiles), strict=False)
        bad = [name for name, word in counts if not COUNT.fullmatch(word)]
        for (name, digits), word in zip(DECIMALS.items(), self.numbers, strict=True):
            if word not in NO_NUMBER and not NUMBER[digits[bool(self.percentiles)]].fullmatch(word):
                bad.append(name)
        if {".", ","} <= set("".join(self.numbers)):
            bad.append("decimal point and comma")
        return Quarantined("bad_number", ", ".join(bad)) if bad else None

    def parsed(self, begin: Begin, flags: list[str], end: OriginColumns) -> Kept:
        """Return the row of a line that has no fault."""
        per_s, mib_per_s, avg_ms, max_ms = map(_number, self.numbers)
        figures = (int(self.records), per_s, mib_per_s, avg_ms, max_ms, self.steady_state is not None)
        has_comma = any("," in word for word in self.numbers)
        is_none = any(word in NO_NUMBER for word in self.numbers)
        flags = ["decimal_comma"] * has_comma + ["not_a_number"] * is_none + flags
        if not self.percentiles:
            window = (*begin, *figures, flags, *end)
            return Kept({"perf_windows": [PerfWindow(*window)]})
        p50, p95, p99, p999 = map(float, self.percentiles)
        summary = (*begin, *figures, p50, p95, p99, p999, flags, *end)
        return Kept({"perf_summaries": [PerfSummary(*summary)]})


def read_figures(line: str) -> Figures | None:
    """Return the figures of a whole window or summary line; None for any other line."""
    found = LINE.fullmatch(line)
    if found is None:
        return None
    records, steady_state, *words = found.groups()
    return Figures(records, steady_state, words[:4], words[4:] if words[4] else [])


def _number(word: str) -> float | None:
    return None if word in NO_NUMBER else float(word.replace(",", "."))
