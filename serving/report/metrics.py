"""What the report says of metrics: the mean of leader_local without a request log, and what is missing."""

from collections.abc import Sequence

from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.page_text import count, ms

WHY = {
    "no_mean": "the exporter's rules drop Mean, so the mean cannot be had",
    "reset": "another process under the same name",
    "too_few": "fewer than 10 requests",
    "counts_differ": "the two beans counted different requests",
    "below_resolution": "below 2 ms, where rounding to whole ms is most of it",
}
NO_PERCENTILE = (
    "A mean is all that metrics can give: the percentiles of total and of remote are of different requests, "
    "so their difference is no percentile of anything. With the request log it is told per request."
)


def said_of_means(answers: Answers) -> list[str]:
    """Say what the metrics' means come to, beside the request log where there is one."""
    return [_said(row) for row in answers.leader_local_mean_summary if row["reason"] is None]


def _said(row: Row) -> str:
    start = f"{row['node']}, {row['request']}: leader_local {ms(row['leader_local_mean_ms'])} ms on average"
    of = f" over {count(row['n'])} requests"
    if row["difference_ms"] is None:
        return start + of
    is_near = "as the request log has it" if row["is_within"] else "the request log says otherwise"
    told = f"{ms(row['log_leader_local_mean_ms'])} ms, difference {row['difference_ms']:+.2f} ms"
    return f"{start}{of}; {is_near}: {told}"


def why(row: Row) -> str:
    """Tell why a row has no mean; nothing where it has one."""
    return WHY.get(row["reason"] or "", row["reason"] or "")


def busiest_first(rows: Sequence[Row]) -> list[Row]:
    """Put what has a mean first, and the busiest of it before the others."""
    return sorted(rows, key=lambda row: (row["reason"] is not None, -(row["n"] or 0)))


def missing_doubts(answers: Answers) -> list[str]:
    """Say what each node's metrics do not suffice for; the rule to add stands in the table."""
    return [
        f"{row['node']} ({row['dialect']}): {row['answer']} cannot be had from its metrics, which lack "
        f"{', '.join(row['missing'])}. {row['advice']}"
        for row in answers.missing_metrics
    ]
