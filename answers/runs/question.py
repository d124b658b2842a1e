"""The performance-test runs of a span, and where an arm changed from one run to the next."""

from answers.answer import (
    Answer,
    AnswerRows,
    DrawnFigure,
    FigureRow,
    Headline,
    Question,
    Section,
    empty_section,
    section_of,
)
from answers.gold.selection import GoldSelection
from answers.runs import summaries
from answers.runs.series import runs_over_time
from schemas.gold.perf_runs import PERF_RUNS
from schemas.gold.run_comparison import RUN_CHANGES
from schemas.rows import Row

FILL = "plumbline perf-test"


def changes(selection: GoldSelection) -> list[Row]:
    """Return the changes that Apache Otava found; a report looks for them."""
    return list(selection.outside.get("run_changes", ()))


def answer(selection: GoldSelection) -> Answer:
    """Return the runs, their p99 over time, and the changes of an arm."""
    rows = summaries.summaries(selection)
    if not rows:
        headline = Headline(sentence="No performance test ran in this span.", mood="calm")
        what = "no summary line of a performance test."
        section = empty_section("perf-tests", summaries.SUMMARY.title, what, FILL)
        return Answer(headline=headline, make_sections=lambda: [section])
    runs = {(row["arm"], row["run"]) for row in rows}
    sentence = f"{len(runs)} performance test{'s' * (len(runs) != 1)} ran in this span."

    def sections() -> list[Section]:
        figure = runs_over_time(rows, changes(selection))
        drawn = [] if figure is None else [_drawn(figure)]
        changed = summaries.CHANGES.listed(changes(selection))
        return [
            section_of(summaries.SUMMARY.listed(rows), "perf-tests", *drawn),
            *([section_of(changed, "changes")] if changed.rows else []),
        ]

    return Answer(headline=Headline(sentence=sentence, mood="calm"), make_sections=sections)


def _drawn(figure: "object") -> FigureRow:
    words = "p99 of each run over time; a dotted line is a change of an arm."
    return FigureRow([DrawnFigure(name="runs-over-time", figure=figure, words=words)])


QUESTION = Question(
    name="runs",
    word="Runs",
    title="Performance tests",
    filters=("span",),
    answer=answer,
    rows={
        "perf_summaries": AnswerRows(PERF_RUNS, summaries.summaries),
        "run_changes": AnswerRows(RUN_CHANGES, changes),
    },
)
