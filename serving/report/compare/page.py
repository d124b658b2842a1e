"""A comparison as one HTML file without requests: verdict, differences, distributions."""

from collections.abc import Mapping
from dataclasses import replace

import plotly.graph_objects as go

from answers.answer import Answer, DrawnFigure, FigureRow, Headline, Section, Sentences, section_of
from answers.questions import WholeAnswer
from answers.runs.comparison_question import changes, mood_of
from answers.runs.summaries import COMPARED
from schemas.gold.perf_runs import PERF_RUNS
from schemas.rows import Row
from serving.report.compare.document import metrics, sentence_of, title
from serving.report.compare.figures import (
    has_percentiles,
    has_series,
    over_time,
    quantiles,
    series,
    strip,
)
from serving.report.page import Stamp
from serving.report.page import page as page_of
from verdicts.comparison import Comparison
from verdicts.doubts import settings_of
from verdicts.overall import counted
from verdicts.runs import RunFigures

MOST_STRIPS = 12


def page(comparison: Comparison, stamp: Stamp) -> str:
    """Return the page; user input is escaped."""
    answer = answer_of(comparison)
    return page_of(WholeAnswer(headline=answer.headline, answers=[answer]), title(comparison), stamp)


def answer_of(comparison: Comparison) -> Answer:
    """Return the verdict of a comparison, its metrics and its runs."""
    headline = Headline(
        sentence=sentence_of(comparison),
        mood=mood_of(counted(comparison.deciding)),
        evidence=[f"Caution: {caution}" for caution in comparison.cautions],
    )

    def sections() -> list[Section]:
        return [_metrics(comparison), _strips(comparison), *_of_many_runs(comparison), _runs(comparison)]

    return Answer(headline=headline, make_sections=sections)


def _metrics(comparison: Comparison) -> Section:
    listed = metrics(comparison)
    figure = DrawnFigure(
        name="intervals",
        figure=changes(listed.rows),
        words="Change of each metric with its interval; the table has the same figures.",
    )
    section = section_of(listed, "metrics", FigureRow([figure]))
    return replace(section, lead=f"{section.lead} The band is the tolerance.")


def _strips(comparison: Comparison) -> Section:
    shown = [of for of in comparison.judged if of.values and of.n_baseline and of.n_contender]
    first = sorted(shown, key=lambda metric: metric is not comparison.deciding)[:MOST_STRIPS]
    drawn = [
        DrawnFigure(name=f"strip-{nth}", figure=strip(comparison, of), words=f"{of.metric} of each run.")
        for nth, of in enumerate(first)
    ]
    return Section(
        name="runs-against-runs",
        title="Run against run",
        lead="A point is a run; a line joins the runs of a block.",
        blocks=[FigureRow(drawn)],
    )


def _of_many_runs(comparison: Comparison) -> list[Section]:
    """Return what single runs hide: the order of time, percentiles, the windows of a run."""
    sections = []
    if has_series(comparison):
        lead = "The deciding metric in the order of time; a dotted line where an arm itself changed."
        sections.append(_drawn("series", "Run after run", lead, {"series-figure": series(comparison)}))
    if has_percentiles(comparison):
        lead = "Each run's percentiles as the tool printed them; those to the right are rarer."
        sections.append(_drawn("quantiles", "Percentiles", lead, {"quantiles-figure": quantiles(comparison)}))
    if any(run.windows for run in (*comparison.baseline, *comparison.contender)):
        lead = "The tool's windows: mean and highest latency. It prints no percentiles of a window."
        drawn = {
            "avg": over_time(comparison, "avg_ms", "mean of a window, ms"),
            "max": over_time(comparison, "max_ms", "highest of a window, ms"),
        }
        sections.append(_drawn("over-time", "Over time", lead, drawn))
    return sections


def _drawn(name: str, title: str, lead: str, figures: Mapping[str, go.Figure]) -> Section:
    words = f"{title}: {lead}"
    row = FigureRow([DrawnFigure(name=one, figure=figure, words=words) for one, figure in figures.items()])
    return Section(name=name, title=title, lead=lead, blocks=[row])


def _runs(comparison: Comparison) -> Section:
    rows = [_row(run) for run in (*comparison.baseline, *comparison.contender)]
    settings = [f"{arm}: {word}" for arm, word in differing(comparison)]
    before = [Sentences(["Settings of only one arm:", *settings])] if settings else []
    return section_of(COMPARED.listed(rows), "runs", *before)


def _row(run: RunFigures) -> Row:
    """Return a run with its figures as a row; figures that it lacks are NULL."""
    facts = {name: getattr(run, name) for name in ("arm", "run", "client_version", "started_at", "method")}
    return dict.fromkeys(PERF_RUNS.schema.names) | dict(run.values) | facts


def differing(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the settings that only one arm has, with its name."""
    contender, baseline = (
        {word for run in arm for word in settings_of(run.configuration)}
        for arm in (comparison.contender, comparison.baseline)
    )
    return [
        *((comparison.request.baseline, word) for word in sorted(baseline - contender)),
        *((comparison.request.contender, word) for word in sorted(contender - baseline)),
    ]
