"""Write docs/performance.md from the state files of all parts; other programs write sizes and metrics."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import pages
from benchmarks.pages import find, render
from benchmarks.pipeline import sections, targets
from benchmarks.pipeline.machine import measured_on
from benchmarks.pipeline.targets import Document
from conf.settings import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = PROJECT / "docs" / "performance.md"
TITLES = {
    "costs": "CPU seconds per million request-log lines",
    targets.FRESH: "Freshness of the ingest alone",
    targets.FRESH_GOLD: "Freshness with gold",
    "quiet": "A quiet cluster",
    "aged": "One append to an aged table",
    "scrapes": "Scrapes",
    "hour": "An hour of silver at once",
}


def write(state: Path, page: Path = PAGE) -> None:
    """Write the sections of all parts; a part without a state file keeps what the page says about it."""
    before = page.read_text() if page.exists() else "# Performance\n"
    pages.write(page, written(documents_in(state), before), head=before)


def documents_in(state: Path) -> dict[str, Document]:
    """Return the state files, by part."""
    files = {part: state / f"{part}.json" for part in TITLES}
    return {part: json.loads(file.read_text()) for part, file in files.items() if file.exists()}


def written(documents: dict[str, Document], before: str = "") -> dict[str, str]:
    """Return the text of every section, by name, in page order; `before` is the page as it was."""
    makers: dict[str, Callable[[Document], str]] = {
        "costs": sections.of_costs,
        targets.FRESH: sections.of_freshness,
        targets.FRESH_GOLD: sections.of_freshness,
        "quiet": sections.of_quiet,
        "aged": sections.of_aged,
        "scrapes": sections.of_scrapes,
        "hour": sections.of_hour,
    }
    made = {
        part: f"{maker(documents[part])}\n\n{made_on(documents[part], part)}"
        if part in documents
        else find(before, part) or _missing(part)
        for part, maker in makers.items()
    }
    return {"head": _head(documents, before), **made, "history": render("performance/history")}


def made_on(document: Document, part: str) -> str:
    """Return the date, tree and machine of the figures, and whether they are of a smoke run."""
    meta = document["meta"]
    smoke = "\n**A smoke run: these figures mean nothing.**" if meta["is_short"] else ""
    return f"{run_of(part)}\n{measured_on(meta)}{smoke}"


def run_of(part: str) -> str:
    """Return the sentence with the command that measures a part."""
    option = " --with-gold" if part == targets.FRESH_GOLD else ""
    return f"Run it: `python -m benchmarks.pipeline --only {part.removesuffix('-with-gold')}{option}`."


def _head(documents: dict[str, Document], before: str) -> str:
    rows = {
        target.question: sections.row(*target.row(documents.get(target.part))) for target in targets.TARGETS
    }
    measured = {
        target.question
        for target in targets.TARGETS
        if target.part in documents and target.figure(documents[target.part]) is not None
    }
    for line in find(before, "head").splitlines():
        question = line.removeprefix("| ").partition(" | ")[0]
        if question in rows.keys() - measured:
            rows[question] = line
    is_short = any(document["meta"]["is_short"] for document in documents.values())
    smoke = "\n\n**Some parts are of a smoke run: their figures mean nothing.**" if is_short else ""
    return render("performance/head", table="\n".join(rows.values()), smoke=smoke)


def _missing(part: str) -> str:
    return f"## {TITLES[part]}\n\nNot measured yet on this tree. {run_of(part)}"
