"""Tables of the report laid out for a terminal: injected against measured, and what clients do."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from reports.answers import NONE, Answers, Row
from reports.clients import measured, version_of, who, with_disconnects, with_redirects
from reports.page_text import count, decimal, ms, percent

MOST_LISTED = 60


def truth_table(rows: Sequence[Row]) -> Table:
    """Lay out injected against measured for a terminal; the delayed pairs first and in bold."""
    table = Table(title="injected against measured, ms")
    for name in ("follower", "leader", "method", "quantile", "injected", "measured", "error", "n"):
        table.add_column(name, justify="left" if name in {"method", "quantile"} else "right")
    for row in rows:
        figures = (ms(row[name]) for name in ("injected_ms", "rise_ms", "error_ms"))
        pair = (str(row["follower_id"]), str(row["leader_id"]), row["method"], row["quantile"] or NONE)
        table.add_row(*pair, *figures, str(row["n"]), style="bold" if row["is_delayed"] else "dim")
    return table


def client_tables(answers: Answers) -> list[Table]:
    """Lay out what clients do, a table a question; none where there is nothing to tell."""
    tables = [
        _table(
            "partition skew",
            ("client", "topic", "batches", "max/mean", "slowest leader", "its share / others", "speaks for"),
            [
                (
                    who(row),
                    row["topic"],
                    count(row["batches"]),
                    decimal(row["max_over_mean"]),
                    str(row["slowest_leader_id"] or NONE),
                    decimal(row["slowest_ratio"]),
                    row["partitioner"] or "undecided",
                )
                for row in measured(answers.partition_skew_summary)
            ],
        ),
        _table(
            "leader redirects, ms",
            ("client", "API", "n", "p50", "p99", "client p50", "broker p50", "hinted", "wasted"),
            [
                (
                    version_of(row),
                    row["api"],
                    count(row["n"]),
                    *(
                        ms(row[name])
                        for name in (
                            "redirect_p50_ms",
                            "redirect_p99_ms",
                            "client_part_p50_ms",
                            "broker_part_p50_ms",
                        )
                    ),
                    percent(row["hinted_share"]),
                    count(row["wasted_requests"]),
                )
                for row in with_redirects(answers)
            ],
        ),
        _disconnects(answers),
        _table(
            "metadata lookups",
            (
                "client",
                "version",
                "lookups",
                "topics asked",
                "bytes answered",
                "new topics",
                "let go",
                "growth",
            ),
            [
                (
                    row["client_id"] or NONE,
                    version_of(row),
                    *(count(row[name]) for name in ("lookups", "topics_asked", "response_bytes")),
                    *(count(row[name]) for name in ("new_topics", "evicted_topics")),
                    decimal(row["growth_exponent"]),
                )
                for row in answers.metadata_lookup
            ],
        ),
    ]
    return [table for table in tables if table.rows]


def _disconnects(answers: Answers) -> Table:
    figures = ("disconnect_p50_ms", "disconnect_max_ms")
    return _table(
        "leader disconnects, ms",
        ("client", "API", "n", "p50", "longest"),
        [
            (version_of(row), row["api"], count(row["disconnects"]), *(ms(row[name]) for name in figures))
            for row in with_disconnects(answers)
        ],
    )


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title)
    for nth, name in enumerate(columns):
        is_text = nth == 0 or name in {"topic", "API", "speaks for"}
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    for row in rows[:MOST_LISTED]:
        table.add_row(*(Text(cell) for cell in row))
    if len(rows) > MOST_LISTED:
        table.caption = f"the first {MOST_LISTED} of {count(len(rows))}; the JSON has them all"
    return table
