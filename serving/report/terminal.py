"""Tables of the report laid out for a terminal: injected against measured, and what clients do."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from schemas.rows import Row
from serving.report.answers import NONE, Answers
from serving.report.clients.rows import (
    in_order,
    measured,
    short_runs,
    version_of,
    who,
    with_disconnects,
    with_redirects,
)
from serving.report.metrics import busiest_first, why
from serving.report.page_text import count, decimal, instant, ms, percent
from serving.report.throttles import mb, worst_first

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
        _skew(in_order(measured(answers.partition_skew_summary))),
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
        _lookups(in_order(answers.metadata_lookup)),
    ]
    return [table for table in tables if table.rows]


def metric_tables(answers: Answers) -> list[Table]:
    """Lay out the means that metrics give; none where there is nothing to tell."""
    figures = ("total_mean_ms", "remote_mean_ms", "leader_local_mean_ms", "log_leader_local_mean_ms")
    table = _table(
        "leader_local by metrics alone, mean ms",
        (
            "broker",
            "request",
            "n",
            "total",
            "remote",
            "leader_local",
            "request log",
            "difference",
            "why none",
        ),
        [
            (
                row["node"],
                row["request"],
                count(row["n"]),
                *(ms(row[name]) for name in figures),
                ms(row["difference_ms"]),
                why(row),
            )
            for row in busiest_first(answers.leader_local_mean_summary)
        ],
    )
    return [table] if table.rows else []


def throttle_tables(answers: Answers) -> list[Table]:
    """Lay out throttles and moves; none where there is nothing to tell."""
    rates = ("limit_bytes_per_s", "rate_bytes_per_s", "best_window_bytes_per_s", "bean_bytes_per_s")
    throttles = _table(
        "throttles, MB/s",
        ("broker", "direction", "limit", "rate", "best 11 s", "byte-rate bean", "state", "cause"),
        [
            (
                str(row["broker_id"]),
                row["direction"],
                *(mb(row[name]) for name in rates),
                row["state"],
                row["cause"] or NONE,
            )
            for row in worst_first(answers.throttle_compliance)
        ],
    )
    ends = ("forecast_end_at", "kip_end_at", "ended_at")
    moves = _table(
        "moves of replicas",
        ("move of", "partitions", "moved MB", "to go MB", "MB/s", "forecast end", "KIP-73", "ended", "state"),
        [
            (
                instant(row["moved_at"]),
                f"{count(row['partitions_done'])} / {count(row['partitions'])}",
                *(mb(row[name]) for name in ("bytes_moved", "bytes_to_go", "rate_bytes_per_s")),
                *(instant(row[name]) for name in ends),
                row["state"],
            )
            for row in answers.reassignment_progress
        ],
    )
    return [table for table in (throttles, moves) if table.rows]


def _skew(rows: Sequence[Row]) -> Table:
    runs = short_runs(rows)
    return _table(
        "partition skew",
        ("client", "run", "topic", "batches", "max/mean", "slow leader", "its share / others", "speaks for"),
        [
            (
                who(row),
                runs[row["run"]],
                row["topic"],
                count(row["batches"]),
                decimal(row["max_over_mean"]),
                NONE if row["slow_by"] is None else str(row["slowest_leader_id"]),
                NONE if row["slow_by"] is None else decimal(row["slowest_ratio"]),
                row["partitioner"] or "undecided",
            )
            for row in rows
        ],
    )


def _lookups(rows: Sequence[Row]) -> Table:
    runs = short_runs(rows)
    counts = ("lookups", "topics_asked", "response_bytes", "new_topics", "evicted_topics")
    told = ("lookups", "topics asked", "bytes answered", "new topics", "let go", "growth")
    return _table(
        "metadata lookups",
        ("client", "run", "version", *told),
        [
            (
                row["client_id"] or NONE,
                runs[row["run"]],
                version_of(row),
                *(count(row[name]) for name in counts),
                decimal(row["growth_exponent"]),
            )
            for row in rows
        ],
    )


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
        is_text = nth == 0 or name in {
            "run",
            "topic",
            "API",
            "speaks for",
            "request",
            "why none",
            "direction",
            "state",
            "cause",
        }
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    for row in rows[:MOST_LISTED]:
        table.add_row(*(Text(cell) for cell in row))
    if len(rows) > MOST_LISTED:
        table.caption = f"the first {MOST_LISTED} of {count(len(rows))}; the JSON has them all"
    return table
