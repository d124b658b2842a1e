"""Where a report goes: the page, the JSON, and what the terminal is told."""

import os
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from conf.atomic_file import write_atomically
from conf.exit_codes import WrongUseError
from conf.progress import Progress
from serving.report.answers import Answers
from serving.report.document import as_text, document, doubts, passed_over, totals_of
from serving.report.opening import opening
from serving.report.page import Stamp, page
from serving.report.run.answering import version_of
from serving.report.run.options import Wanted
from serving.report.terminal import client_tables, metric_tables, throttle_tables, truth_table

HTML, JSON = Path("report.html"), Path("report.json")


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


def write(answers: Answers, wanted: Wanted, progress: Progress) -> None:
    """Write the page and the JSON, and tell the terminal what matters."""
    stamp = Stamp(generated_at=datetime.now(UTC), version=version_of())
    try:
        if wanted.html is not None:
            write_atomically(wanted.html, page(answers, stamp))
        if wanted.json is not None:
            write_atomically(wanted.json, as_text(document(answers)))
    except OSError as error:
        message = f"{error.filename or 'the report'} cannot be written: {error.strerror or error}"
        raise WrongUseError(message) from error
    _tell(answers, progress)
    typer.echo(opening(answers).sentence)
    for target in (wanted.html, wanted.json):
        if target is not None:
            typer.echo(str(target))


def _tell(answers: Answers, progress: Progress) -> None:
    """Say what was left out or is doubtful, then what the tables hold."""
    for file in answers.inputs.get("not_understood", []):
        progress.say(f"not understood: {file['path']}: {file['reason']}")
    if others := passed_over(answers):
        progress.say(others)
    for doubt in doubts(answers):
        progress.say(f"doubtful: {doubt}")
    counts = totals_of(answers.data_quality)
    progress.say(", ".join(f"{name} {n}" for name, n in counts.items()))
    console = Console(highlight=False)
    if answers.truth:
        console.print(truth_table(answers.truth))
    for table in (*throttle_tables(answers), *metric_tables(answers), *client_tables(answers)):
        console.print(table)
