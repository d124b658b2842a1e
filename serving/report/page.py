"""The report as one HTML file that asks for nothing: templates, style, plotly and figures in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.io import to_json
from plotly.offline import get_plotlyjs

from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.clients.figures import lookups_over_time, redirect_times, shares
from serving.report.clients.rows import in_order, measured, short_runs, with_disconnects, with_redirects
from serving.report.clients.sentences import sentences
from serving.report.dashboard import beside_the_dashboard
from serving.report.document import BALANCE, doubts, passed_over, totals_of
from serving.report.figures import heat_map, latency_over_time, rtt_over_time
from serving.report.findings import WINDOW, Headline, findings, is_accused, sentence
from serving.report.matrix import Matrix, brokers_of, matrices, pair_rows, scale_ms
from serving.report.metrics import NO_PERCENTILE, busiest_first, said_of_means, why
from serving.report.opening import opening
from serving.report.page_text import count, decimal, instant, ms, percent
from serving.report.run.run_series import runs_over_time
from serving.report.throttles import mb, said_of_moves, said_of_throttles, worst_first

TEMPLATES = Path(__file__).parent / "templates"
MOST_LISTED = 200
MOST_LEADERS_DRAWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """When and by what a page was made."""

    generated_at: datetime
    version: str


def page(answers: Answers, stamp: Stamp) -> str:
    """Render the report; everything a user wrote is escaped, and no address of any host stands in it."""
    told = opening(answers)
    skews, lookups = in_order(measured(answers.partition_skew_summary)), in_order(answers.metadata_lookup)
    shown = matrices(_matrix_rows(answers, told), _brokers(answers))
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            answers=answers,
            headline=told,
            findings=[(finding, sentence(finding)) for finding in findings(answers.broker_rtt_culprit)],
            span=_span(answers),
            map_span=_map_span(answers, told),
            matrices=shown,
            pairs=pair_rows(_matrix_rows(answers, told), answers.broker_rtt_quiet if told.finding else []),
            is_accused=lambda row: _is_accused(row, told),
            dashboard=beside_the_dashboard(
                answers.stock_fetch_total, answers.fetch_latency_accused or answers.fetch_latency_summary
            ),
            consumers=_of_kind(answers, "consumer"),
            rafts=_of_kind(answers, "raft"),
            leaders=_leaders(answers),
            said=sentences(answers),
            skews=skews,
            lookups=lookups,
            runs={"skews": short_runs(skews), "lookups": short_runs(lookups)},
            redirects=with_redirects(answers),
            means=busiest_first(answers.leader_local_mean_summary),
            said_of_means=said_of_means(answers),
            no_percentile=NO_PERCENTILE,
            why=why,
            throttles=worst_first(answers.throttle_compliance),
            said_of_throttles=said_of_throttles(answers),
            said_of_moves=said_of_moves(answers),
            disconnects=with_disconnects(answers),
            totals=totals_of(answers.data_quality),
            doubts=doubts(answers),
            passed_over=passed_over(answers),
            parts=BALANCE[1:],
            nodes=freshness(answers.data_quality),
            figures=figures(answers, told, shown),
            stamp=stamp,
            most_listed=MOST_LISTED,
            style=inline("style.css"),
            script=inline("page.js"),
            plotly=Markup(get_plotlyjs()),  # noqa: S704 (plotly's own script, no user's text)
        )
    )


def figures(answers: Answers, told: Headline, shown: Sequence[Matrix]) -> dict[str, Markup]:
    """Make every figure of the page as JSON that is safe inside a script element."""
    found = findings(answers.broker_rtt_culprit)
    ends = scale_ms(shown)
    drawn = {f"heat-{matrix.method}": heat_map(matrix, ends) for matrix in shown}
    for matrix in shown:
        if any(row["method"] == matrix.method for row in answers.broker_rtt):
            drawn[f"rtt-{matrix.method}"] = rtt_over_time(
                answers.broker_rtt, matrix.method, found, told.finding
            )
    for leader in _leaders(answers):
        drawn[f"latency-{leader}"] = latency_over_time(answers.fetch_latency, leader, told.finding)
    if answers.partition_skew_summary:
        drawn["shares"] = shares(answers.partition_skew, answers.partition_skew_summary)
    if with_redirects(answers):
        drawn["redirects"] = redirect_times(answers.leader_redirect)
    if answers.metadata_lookup_windows:
        drawn["lookups"] = lookups_over_time(answers.metadata_lookup_windows)
    if (nights := runs_over_time(answers.perf_summaries, answers.run_changes)) is not None:
        drawn["runs"] = nights
    # plotly's JSON engine writes <, > and / as \u escapes, so no text can end the script element.
    return {name: Markup(to_json(figure, engine="json")) for name, figure in drawn.items()}  # noqa: S704


def freshness(by_source: Sequence[Row]) -> list[Row]:
    """Tell for each node and kind how fresh it is, and how far behind the freshest one."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in by_source:
        groups.setdefault((row["node"] or "?", row["kind"] or "?"), []).append(row)
    newest = _newest(by_source)
    return [
        {
            "node": node,
            "kind": kind,
            "first_logged_at": min(present_instants(rows, "first_logged_at"), default=None),
            "last_logged_at": _newest(rows),
            "behind_s": _behind_s(_newest(rows), newest),
            **totals_of(rows),
        }
        for (node, kind), rows in sorted(groups.items())
    ]


def present_instants(rows: Sequence[Row], column: str) -> list[datetime]:
    """Keep the instants that are known."""
    return [row[column] for row in rows if row.get(column) is not None]


def _newest(rows: Sequence[Row]) -> datetime | None:
    return max(present_instants(rows, "last_logged_at"), default=None)


def _behind_s(last: datetime | None, newest: datetime | None) -> float | None:
    return None if last is None or newest is None else (newest - last).total_seconds()


def _is_accused(row: Row, told: Headline) -> bool:
    finding = told.finding
    return finding is not None and is_accused(finding.row, row["follower_id"], row["leader_id"])


def _matrix_rows(answers: Answers, told: Headline) -> Sequence[Row]:
    """Show the time of the finding where there is one: over the whole span a short fault would drown."""
    return (
        answers.broker_rtt_accused
        if told.finding and answers.broker_rtt_accused
        else answers.broker_rtt_summary
    )


def _map_span(answers: Answers, told: Headline) -> str:
    rows = _matrix_rows(answers, told)
    if not rows:
        return ""
    since, until = min(row["since"] for row in rows), max(row["until"] for row in rows)
    what = "the time of the finding" if rows is answers.broker_rtt_accused else "the whole span"
    return f"{what}, {_clock_span(since, until)}"


def _span(answers: Answers) -> str:
    starts = [row["window_start"] for rows in (answers.fetch_latency, answers.broker_rtt) for row in rows]
    return _clock_span(min(starts), max(starts) + WINDOW) if starts else "no window of data"


def _clock_span(since: datetime, until: datetime) -> str:
    first, last = since.astimezone(UTC), until.astimezone(UTC)
    end = f"{last:%H:%M:%S}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"{first:%Y-%m-%d %H:%M:%S} to {end} UTC"


def _brokers(answers: Answers) -> list[int]:
    followers = [row for row in answers.fetch_latency_summary if row["kind"] == "follower"]
    return brokers_of(answers.broker_rtt_summary, answers.broker_rtt_accused, followers)


def _leaders(answers: Answers) -> list[int]:
    leaders = {row["leader_id"] for row in answers.fetch_latency if row["kind"] == "follower"}
    return sorted(leaders)[:MOST_LEADERS_DRAWN]


def _of_kind(answers: Answers, kind: str) -> list[Row]:
    rows = [row for row in answers.fetch_latency_summary if row["kind"] == kind]
    return sorted(rows, key=lambda row: -row["n"])


def inline(name: str) -> Markup:
    """Give a file of our own as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 (our own file)


def environment() -> Environment:
    """Give the templates, with what writes numbers; all text is escaped."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(ms=ms, instant=instant, count=count, percent=percent, decimal=decimal, mb=mb)
    return templates
