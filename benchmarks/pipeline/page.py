"""Write docs/performance.md from the state files of all parts; other programs write sizes and metrics."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import pages
from benchmarks.pages import find, render
from benchmarks.pipeline import sections, targets
from benchmarks.pipeline.targets import Document
from conf.settings import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = PROJECT / "docs" / "performance.md"
WITH_GOLD = targets.FRESH_GOLD
RUN = "Run it: `python -m benchmarks.pipeline --only {part}`."
TITLES = {
    "costs": "CPU seconds per million request-log lines",
    "freshness": "Freshness",
    "quiet": "A quiet cluster",
    "aged": "One append to an aged table",
    "scrapes": "Scrapes",
}
FILES = ("costs", targets.FRESH, WITH_GOLD, "quiet", "aged", "scrapes")


def write(state: Path, page: Path = PAGE) -> None:
    """Write the sections of all parts; a part without a state file keeps what the page says about it."""
    before = page.read_text() if page.exists() else "# Performance\n"
    pages.write(page, written(documents_in(state), before), head=before)


def documents_in(state: Path) -> dict[str, Document]:
    """Return the state files, by part."""
    files = {part: state / f"{part}.json" for part in FILES}
    return {part: json.loads(file.read_text()) for part, file in files.items() if file.exists()}


def written(documents: dict[str, Document], before: str = "") -> dict[str, str]:
    """Return the text of every section, by name, in page order; `before` is the page as it was."""
    makers: dict[str, Callable[[Document], str]] = {
        "costs": sections.of_costs,
        "quiet": sections.of_quiet,
        "aged": sections.of_aged,
        "scrapes": sections.of_scrapes,
    }
    made = {
        part: f"{maker(documents[part])}\n\n{made_on([documents[part]], part)}"
        if part in documents
        else find(before, part) or _missing(part)
        for part, maker in makers.items()
    }
    fresh = [documents.get(part) for part in (targets.FRESH, WITH_GOLD)]
    found = [document for document in fresh if document]
    of_freshness = (
        f"{sections.of_freshness(*fresh)}\n\n{made_on(found, 'freshness')}"
        if found
        else find(before, "freshness") or _missing("freshness")
    )
    return {
        "head": _head(documents, before),
        "costs": made["costs"],
        "freshness": of_freshness,
        **{part: made[part] for part in ("quiet", "aged", "scrapes")},
        "history": render("performance/history"),
    }


def made_on(documents: list[Document], part: str) -> str:
    """Return the date, tree and machine of the figures, and whether they are of a smoke run."""
    lines = [RUN.format(part=part)]
    for meta in (document["meta"] for document in documents):
        changed = " with uncommitted changes" if meta["is_changed"] else ""
        lines.append(
            f"Measured on {meta['measured_on']}, tree `{meta['tree']}`{changed}: {meta['cores']} cores "
            f"({meta['cpu']}), {meta['memory_gib']} GiB, load before {meta['load_before']}."
        )
        if meta["is_short"]:
            lines.append("**A smoke run: these figures mean nothing.**")
    return "\n".join(lines)


def _head(documents: dict[str, Document], before: str) -> str:
    rows = {
        target.question: sections.row(*target.row(documents.get(target.part))) for target in targets.TARGETS
    }
    measured = {target.question for target in targets.TARGETS if target.part in documents}
    for line in find(before, "head").splitlines():
        question = line.removeprefix("| ").partition(" | ")[0]
        if question in rows.keys() - measured:
            rows[question] = line
    is_short = any(document["meta"]["is_short"] for document in documents.values())
    smoke = "\n\n**Some parts are of a smoke run: their figures mean nothing.**" if is_short else ""
    return render("performance/head", table="\n".join(rows.values()), smoke=smoke)


def _missing(part: str) -> str:
    return f"## {TITLES[part]}\n\nNot measured yet on this tree. {RUN.format(part=part)}"
