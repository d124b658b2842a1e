"""
What a question exports: queries, their metrics, and the expressions of its alerts.

A query returns `moment`, labels, and a column for each metric, which has its name. NULL is not served.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from answers.gold.histogram import added_up


class ExportedMetric(NamedTuple):
    """A gauge: gold restates windows, and a counter cannot be restated."""

    name: str
    source: str  # table.column of gold
    help: str
    labels: tuple[str, ...]


class Exported(NamedTuple):
    """A query and its metrics, which share their labels."""

    metrics: tuple[ExportedMetric, ...]
    query: str


@dataclass(frozen=True, slots=True)
class ExportedQuestion:
    """
    The metrics of one question.

    Queries read `latest.TABLE` (back by `span_s`), `rare.TABLE` (`events_span_s`), or the distinct rows
    of `remembered.TABLE` (`remember_s`). Instants are seconds since the epoch. `prepared` are tables that
    queries share.
    """

    exported: tuple[Exported, ...]
    prepared: Mapping[str, str] = field(default_factory=dict)
    alerts: Mapping[str, str] = field(default_factory=dict)  # the expression of each alert

    @property
    def queries(self) -> tuple[str, ...]:
        """All queries."""
        return (*self.prepared.values(), *(each.query for each in self.exported))


def exported(text: str) -> Exported:
    """Return the declaration before a query, in comments: labels, then `name | source | help` each."""
    comments = [line for line in text.splitlines() if line.startswith("-- ")]
    labels, *rows = ([cell.strip() for cell in line[3:].split("|")] for line in comments)
    metrics = (
        ExportedMetric(f"plumbline_{row[0]}", row[1], row[2], tuple(labels[0].split())) for row in rows
    )
    return Exported(tuple(metrics), text.partition(comments[-1])[2])


def quantiles(text: str, quantiles: Sequence[float] = (0.5, 0.99)) -> Exported:
    """Return true quantiles in seconds: the histograms of a query are added up by label, then read."""
    metrics, hists = exported(text)
    by = ", ".join(("moment", *metrics[0].labels))
    columns = {metric.name: metric.source.partition(".")[2] for metric in metrics}
    ranks = {f"rank_{nth}": f"rank_of({q}, total)" for nth, q in enumerate(quantiles)}
    rows = []
    for q, rank in zip(quantiles, ranks, strict=True):
        values = ", ".join(f"{name} := bucket_ms({name}_{rank}) / 1000" for name in columns)
        rows.append(f"struct_pack(quantile := '{q}', {values})")
    query = f"""
SELECT {by}, unnest([{", ".join(rows)}], recursive := true)
FROM ({added_up(f"({hists})", by, columns, ranks)})"""
    return Exported(tuple(each._replace(labels=(*each.labels, "quantile")) for each in metrics), query)
