"""The report as one HTML file without requests: templates, style, plotly and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.io import to_json
from plotly.offline import get_plotlyjs

from answers.data_quality.counts import BALANCE, totals_of
from answers.fetches import leader_local_means
from answers.formats import count, instant
from answers.leader_redirects import redirects as leader_redirects
from answers.metadata_lookups import lookups as metadata_lookups
from answers.partition_skew import sentences as skew
from answers.slow_links.culprits import WINDOW, Headline, findings
from answers.throttles.sentences import of_moves, of_throttles
from serving.report.answers import Answers
from serving.report.client_figures import lookups_over_time, redirect_times, shares
from serving.report.document import doubts, passed_over
from serving.report.figures import heat_map, latency_over_time, rtt_over_time
from serving.report.headline import headline_of
from serving.report.matrix import Matrix, brokers_of, matrices, scale_ms
from serving.report.run.run_series import runs_over_time
from serving.report.tables import pairs_of, tables_of

TEMPLATES = Path(__file__).parent / "templates"
MOST_LISTED = 200
MOST_LEADERS_DRAWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The time and the version that made a page."""

    generated_at: datetime
    version: str


def page(answers: Answers, stamp: Stamp) -> str:
    """Return the report; user input is escaped, and the page names no host."""
    headline = headline_of(answers)
    shown = matrices(pairs_of(answers, headline), _brokers(answers))
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            answers=answers,
            headline=headline,
            span=_span(answers),
            map_span=_map_span(answers, headline),
            matrices=shown,
            leaders=_leaders(answers),
            tables=tables_of(answers, headline),
            lines=_sentences(answers),
            totals=totals_of(answers.data_quality),
            doubts=doubts(answers),
            passed_over=passed_over(answers),
            parts=BALANCE[1:],
            figures=figures(answers, headline, shown),
            stamp=stamp,
        )
    )


def _sentences(answers: Answers) -> dict[str, list[str]]:
    """Return the sentences of each section."""
    return {
        "means": leader_local_means.sentences(answers.leader_local_mean_summary),
        "throttles": of_throttles(answers.throttle_compliance),
        "moves": of_moves(answers.reassignment_progress),
        "skew": skew.sentences(answers.partition_skew_summary),
        "redirects": leader_redirects.sentences(answers.leader_redirect_summary, answers.leader_redirect),
        "lookups": metadata_lookups.sentences(answers.metadata_lookup),
    }


def figures(answers: Answers, headline: Headline, shown: Sequence[Matrix]) -> dict[str, Markup]:
    """Return the figures of the page as JSON that is safe inside a script element."""
    found = findings(answers.broker_rtt_culprit)
    ends = scale_ms(shown)
    drawn = {f"heat-{matrix.method}": heat_map(matrix, ends) for matrix in shown}
    for matrix in shown:
        if any(row["method"] == matrix.method for row in answers.broker_rtt):
            drawn[f"rtt-{matrix.method}"] = rtt_over_time(
                answers.broker_rtt, matrix.method, found, headline.finding
            )
    for leader in _leaders(answers):
        drawn[f"latency-{leader}"] = latency_over_time(answers.fetch_latency, leader, headline.finding)
    if answers.partition_skew_summary:
        drawn["shares"] = shares(answers.partition_skew, answers.partition_skew_summary)
    if leader_redirects.moved(answers.leader_redirect_summary):
        drawn["redirect-times"] = redirect_times(answers.leader_redirect)
    if answers.metadata_lookup_windows:
        drawn["lookups-over-time"] = lookups_over_time(answers.metadata_lookup_windows)
    if (nights := runs_over_time(answers.perf_summaries, answers.run_changes)) is not None:
        drawn["runs-over-time"] = nights
    # plotly's JSON engine writes <, > and / as \u escapes, so no text can end the script element.
    return {name: Markup(to_json(figure, engine="json")) for name, figure in drawn.items()}  # noqa: S704


def _map_span(answers: Answers, headline: Headline) -> str:
    rows = pairs_of(answers, headline)
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


def inline(name: str) -> Markup:
    """Return one of our files."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 (our own file)


def environment() -> Environment:
    """Return the environment of all templates; text is escaped."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(instant=instant, count=count)
    templates.globals.update(
        most_listed=MOST_LISTED,
        style=inline("style.css"),
        script=inline("page.js"),
        plotly=Markup(get_plotlyjs()),  # noqa: S704 (plotly's own script, no user's text)
    )
    return templates
