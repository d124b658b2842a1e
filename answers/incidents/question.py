"""What is wrong now, or was: the list of incidents, and the page of one."""

from dataclasses import replace
from datetime import timedelta

from answers.answer import Answer, Download, Headline, Question, Section, empty_section, section_of
from answers.data_quality import question as data_quality
from answers.formats import count
from answers.gold.contents import READ_AT_ALL
from answers.gold.selection import GoldSelection, step_of
from answers.incidents.found import ENDED, INCIDENTS, OPEN, incident_of, incidents
from answers.incidents.note import markdown
from answers.leader_redirects import question as leader_redirects
from answers.metadata_lookups import question as metadata_lookups
from answers.nothing import without_rows
from answers.produce_held import hurt
from answers.slow_links import question as slow_links
from answers.slow_links.culprits import findings
from answers.slow_links.round_trips import culprits
from answers.throttles import question as throttles
from schemas.rows import Row

MARGIN = timedelta(minutes=10)
"""The time before and after an incident that its page shows."""

QUESTIONS = {
    "culprit": slow_links.QUESTION,
    "throttle": throttles.QUESTION,
    "redirect": leader_redirects.QUESTION,
    "lookups": metadata_lookups.QUESTION,
    "lines": data_quality.QUESTION,
    "failed_rule": data_quality.QUESTION,
}
"""The question whose answer shows an incident of each kind."""


def answer(selection: GoldSelection) -> Answer:
    """Return the list of incidents of the span."""
    rows = incidents(selection)
    if not rows:
        return without_rows(
            selection,
            Headline(sentence="No incident.", mood="calm"),
            name="incidents-of",
            title=INCIDENTS.title,
            what="no incident in this span.",
            read=READ_AT_ALL,
            source="data",
        )
    going = sum(row["state"] == OPEN for row in rows)
    sentence = f"{_number(going, 'open')}, {count(len(rows) - going)} {ENDED}."
    mood = "alarm" if going else "unsure"
    return Answer(
        headline=Headline(sentence=sentence, mood=mood),
        make_sections=lambda: [section_of(INCIDENTS.listed(rows), "incidents-of")],
    )


def _number(n: int, state: str) -> str:
    return f"{count(n)} {state} incident{'s' * (n != 1)}"


def answer_of_one(selection: GoldSelection) -> Answer:
    """Return the incident of the selection: what was found, what to do, and the figures of its time."""
    row = incident_of(selection, selection.incident) if selection.incident else None
    if row is None:
        headline = Headline(sentence="There is no such incident in this span.", mood="unsure")
        what, fill = "no incident with this id in this span.", "plumbline ask incidents, which lists the ids"
        section = empty_section("incident", "Incident", what, fill)
        return Answer(headline=headline, make_sections=lambda: [section])
    row = row | {"evidence": [*row["evidence"], *_clients(selection, row)]}
    note = Section(
        name="note",
        title="Note",
        lead="For the channel of the incident, as Markdown.",
        blocks=[Download(row["incident"], markdown(row, row["evidence"]))],
    )
    headline = Headline(
        sentence=row["found"],
        mood="alarm" if row["state"] == OPEN else "unsure",
        evidence=[f"{row['effect']}; {row['state']}.", *row["evidence"], f"Measured: {row['measured']}"],
        steps=row["next_steps"],
    )
    figures = QUESTIONS[row["kind"]].answer(around(selection, row))
    return Answer(headline=headline, make_sections=lambda: [note, *figures.sections])


def _clients(selection: GoldSelection, row: Row) -> list[str]:
    """Return the producers that an incident of the round trips hurt."""
    found = findings(culprits(selection)) if row["kind"] == "culprit" else []
    return [line for one in found if one.since == row["since"] for line in hurt.clients(selection, one)]


def around(selection: GoldSelection, row: Row) -> GoldSelection:
    """Return the time of an incident with a margin, within the selection."""
    since = max(selection.since, row["since"] - MARGIN) if row["since"] else selection.since
    until = min(selection.until, row["until"] + MARGIN) if row["until"] else selection.until
    return replace(selection, since=since, until=until, step=step_of(until - since))


QUESTION = Question(
    name="incidents",
    word="Incidents",
    title="Incidents",
    filters=("span",),
    answer=answer,
    is_in_report=False,
)
INCIDENT = Question(
    name="incident",
    word="",
    title="An incident",
    filters=("span",),
    answer=answer_of_one,
    is_in_report=False,
)
