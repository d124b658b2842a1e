"""Parse a client metric that `--print-metrics` prints (`ToolsUtils.printMetrics`)."""

import re
from typing import NamedTuple

from transforms.parse.columns import ORIGIN, OriginColumns, row_type
from transforms.parse.perf.run import BEGIN_COLUMNS, Begin
from transforms.parse.record import Kept, Quarantined, sample

BEGIN = r"\s*+([A-Za-z][A-Za-z0-9._-]*+):([A-Za-z0-9._-]++):\{"
TAG = r"[A-Za-z0-9._-]++="
# Tags contain any text except Java's line breaks and the byte \x01.
LINE = re.compile(rf"{BEGIN}((?:{TAG}[^\x01\n\r\x85\u2028\u2029]*)?)\}} * : ([^\s\x01]++)\s*+", re.ASCII)
NEXT_TAG = re.compile(rf", (?={TAG})", re.ASCII)
NUMBER = re.compile(r"-?\d++(?:[.,]\d{3})?", re.ASCII)
"""A double has three digits after the point; a long has no point."""

MEASURED = re.compile(r"-metrics(?:-count)?\Z", re.ASCII)
CUT_NUMBER = re.compile(r"-?\d++(?:[.,]\d{0,2})?", re.ASCII)

ClientMetric = row_type(
    "ClientMetric", BEGIN_COLUMNS, "metric_group metric tags value text quality_flags", ORIGIN
)


class PerfMetric(NamedTuple):
    """The parts of a metric line."""

    group: str
    name: str
    tags: list[tuple[str, str]]
    text: str

    def fault(self, line: str) -> Quarantined | None:
        """Return a fault if the number is cut or a tag is there twice."""
        # Every measured value of the producer has three decimals.
        if MEASURED.search(self.group) and CUT_NUMBER.fullmatch(self.text):
            return Quarantined("truncated_line", sample(line))
        if len(dict(self.tags)) < len(self.tags):
            return Quarantined("duplicate_key", ", ".join(f"{key}={value}" for key, value in self.tags))
        return None

    def parsed(self, begin: Begin, flags: list[str], end: OriginColumns) -> Kept:
        """Return the row of a line that has no fault. A text, such as a version, has no value."""
        value = float(self.text.replace(",", ".")) if NUMBER.fullmatch(self.text) else None
        if value is not None and abs(value) == float("inf"):
            value = None
        metric = (*begin, self.group, self.name, dict(self.tags) or None, value, self.text, flags, *end)
        return Kept({"client_metrics": [ClientMetric(*metric)]})


def read_metric(line: str) -> PerfMetric | None:
    """Return the parts of a whole metric line; None for any other line."""
    found = LINE.fullmatch(line)
    if found is None:
        return None
    group, name, tags, text = found.groups()
    parts = (tag.partition("=") for tag in NEXT_TAG.split(tags) if tag)
    return PerfMetric(group, name, [(key, value) for key, _, value in parts], text)
