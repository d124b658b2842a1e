"""The outputs of a report: the page, the JSON, and the lines at the terminal."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from answers.data_quality import counts
from answers.data_quality.question import doubts, passed_over
from conf.atomic_file import write_atomically
from conf.exit_codes import WrongUseError
from conf.progress import Progress
from serving.report.document import as_text, document
from serving.report.page import Stamp, page
from serving.report.run.options import Wanted
from serving.report.terminal import summary, tables

if TYPE_CHECKING:
    from serving.report.run.making import ReportContent

HTML, JSON = Path("report.html"), Path("report.json")
MOST_WARNINGS = 5


def check_targets(wanted: Wanted) -> None:
    """Refuse, before any work, a target that cannot be written."""
    for target in (wanted.html, wanted.json):
        if target is None:
            continue
        if target.is_dir():
            message = f"{target} is a folder; name the file to write, as in {target / HTML}"
            raise WrongUseError(message)
        parent = next(folder for folder in target.absolute().parents if folder.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            message = f"{target} cannot be written: {parent} is no folder that can be written to"
            raise WrongUseError(message)


def write(content: "ReportContent", wanted: Wanted, progress: Progress) -> None:
    """Write the page and the JSON; print the sentence, its evidence and the paths."""
    stamp = Stamp.now()
    headline = content.whole.headline
    try:
        if wanted.html is not None:
            write_atomically(wanted.html, page(content.whole, content.span, stamp))
        if wanted.json is not None:
            found = document(content.selection, headline, content.inputs)
            write_atomically(wanted.json, as_text(found))
            for key, rows in found["left_out"].items():
                progress.say(f"left out of {wanted.json}: {key}, {rows:,} rows; choose a shorter span")
    except OSError as error:
        message = f"{error.filename or 'the report'} cannot be written: {error.strerror or error}"
        raise WrongUseError(message) from error
    _warn(content, progress)
    for line in summary(headline):
        typer.echo(line)
    if wanted.has_tables:
        console = Console(highlight=False)
        for table in tables(one for answer in content.whole.answers for one in answer.tables):
            console.print(table)
    for target in (wanted.html, wanted.json):
        if target is not None:
            typer.echo(str(target))


def _warn(content: "ReportContent", progress: Progress) -> None:
    """Print what was left out or is doubtful, and the counts of lines."""
    unknown = content.selection.outside["not_understood"]
    for kind, facts in (
        ("not understood", [f"{file['path']}: {file['reason']}" for file in unknown]),
        ("doubtful", doubts(content.selection)),
    ):
        for fact in facts[:MOST_WARNINGS]:
            progress.say(f"{kind}: {fact}")
        if len(facts) > MOST_WARNINGS:
            progress.say(f"{kind}: {len(facts) - MOST_WARNINGS} more, see the data quality of the page")
    for line in passed_over(content.selection):
        progress.say(line)
    totals = counts.totals_of(counts.by_source(content.selection))
    progress.say(", ".join(f"{name} {n}" for name, n in totals.items()))
