"""Write docs/performance.md from the state files of all parts; other programs write sizes and metrics."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.page_sections import find, put
from benchmarks.pipeline import page_text, sections, targets
from benchmarks.pipeline.targets import Document
from conf.settings import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = PROJECT / "docs" / "performance.md"
WITH_GOLD = targets.FRESH_GOLD
FILES = ("costs", targets.FRESH, WITH_GOLD, "quiet", "aged", "scrapes")


def write(state: Path, page: Path = PAGE) -> None:
    """Write the sections of all parts; a part without a state file keeps what the page says about it."""
    text = page.read_text() if page.exists() else "# Performance\n"
    for name, section in written(documents_in(state), before=text).items():
        text = put(text, name, section)
    page.write_text(text)
    print(f"written: {page}")


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
        else find(before, part) or page_text.missing(part)
        for part, maker in makers.items()
    }
    fresh = [documents.get(part) for part in (targets.FRESH, WITH_GOLD)]
    found = [document for document in fresh if document]
    of_freshness = (
        f"{sections.of_freshness(*fresh)}\n\n{made_on(found, 'freshness')}"
        if found
        else find(before, "freshness") or page_text.missing("freshness")
    )
    return {
        "head": _head(documents, before),
        "costs": made["costs"],
        "freshness": of_freshness,
        **{part: made[part] for part in ("quiet", "aged", "scrapes")},
        "history": page_text.HISTORY,
    }


def made_on(documents: list[Document], part: str) -> str:
    """Return the date, tree and machine of the figures, and whether they are of a smoke run."""
    lines = [page_text.RUN.format(part=part)]
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
    return page_text.HEAD.format(table="\n".join(rows.values()), smoke=smoke)
