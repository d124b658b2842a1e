"""Make a comparison: read its runs, judge them, and write the result."""

import tempfile
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from answers.gold.selection import GoldSelection
from answers.runs.measured import arms
from conf.atomic_file import write_atomically
from conf.exit_codes import WrongUseError
from conf.names import Kind
from conf.progress import Progress
from engine.ingest.parsed_files import PARSERS
from engine.ingest.raw_files import Origin, readable, size_of, write_raw
from engine.process.cores import mapper
from schemas.rows import Row
from serving.report.compare.document import document, markdown, reasons, sentence_of, table
from serving.report.compare.options import (
    RunSource,
    Targets,
    check_targets,
    layout_of,
)
from serving.report.compare.page import page
from serving.report.compare.run_tables import tables_of_files, tables_of_warehouse
from serving.report.compare.runs import misread, runs_of
from serving.report.compare.saved import save_comparison
from serving.report.document import as_text
from serving.report.page import Stamp
from serving.report.run.change_points import NoChangePointsError, change_points
from serving.report.run.found import found_in
from serving.selecting import SeveralClustersError
from serving.settings import settings_of
from verdicts.comparison import Comparison, ComparisonRequest, NothingToCompareError, compared
from verdicts.metrics import METRICS

WIDTH = 120
CUT = ".cut"
"""Suffix of a run that was interrupted and repeated."""


def run(request: ComparisonRequest, source: RunSource, targets: Targets, progress: Progress) -> Comparison:
    """
    Read the runs, compare them and write the results; return the comparison.

    Raises:
        WrongUseError: there is nothing to compare, or a result cannot be written.

    """
    if (source.folder is None) == (not source.conf):
        message = "give either --from DIR, for raw files, or --conf FILE, for the tables of a warehouse"
        raise WrongUseError(message)
    if source.is_saved and source.folder is not None:
        message = "--save writes to a warehouse: give --conf FILE instead of --from DIR"
        raise WrongUseError(message)
    check_targets(targets.html, targets.json, targets.markdown)
    if source.folder is not None:
        comparison, cluster = _of_files(source.folder, request, source, progress)
    else:
        comparison, cluster = _of_warehouse(request, source, progress)
    inputs: Row = {
        "from": readable(source.folder) if source.folder else None,
        "conf": [str(path) for path in source.conf],
        "scenario": source.scenario,
    }
    _write(comparison, cluster, inputs, targets)
    return comparison


def _of_files(
    folder: Path, request: ComparisonRequest, source: RunSource, progress: Progress
) -> tuple[Comparison, str | None]:
    with progress.step(f"searching {folder}"):
        found = found_in(folder, source.nodes, wanted=layout_of(folder, request))
    cluster = source.cluster or readable(Path(folder.resolve().name))
    files = [file for file in found.understood if file.path.suffix != CUT]
    if len(files) < len(found.understood):
        progress.say(f"set aside, not read: {len(found.understood) - len(files)} files that end in {CUT}")
    kinds = {file.kind for file in files}
    with tempfile.TemporaryDirectory(prefix="plumbline-compare-", ignore_cleanup_errors=True) as scratch:
        raw = Path(scratch) / "raw"
        origin = Origin(folder=folder, cluster=cluster, time_zone=source.time_zone)
        with mapper(size_of(files), *PARSERS) as run_all:
            with progress.step(f"reading {len(files)} files"):
                write_raw(files, origin, raw, on_file=lambda _file: None, run_all=run_all)
            with progress.step("parsing"):
                has_requests = Kind.REQUEST_LOG.value in kinds
                tables = tables_of_files(
                    raw, Path(scratch), cluster, has_requests=has_requests, run_all=run_all
                )
    return _judged(tables, request, source, progress), cluster


def _of_warehouse(
    request: ComparisonRequest, source: RunSource, progress: Progress
) -> tuple[Comparison, str | None]:
    settings = settings_of(source.conf)
    root = settings.warehouse_root
    try:
        tables = tables_of_warehouse(root, source.cluster)
    except SeveralClustersError as error:
        message = f"choose one of the clusters in {root} with --cluster: {error}"
        raise WrongUseError(message) from error
    comparison = _judged(tables, request, source, progress)
    if source.is_saved:
        progress.say(save_comparison(root, comparison, cluster=tables.cluster, scenario=source.scenario))
    return comparison, tables.cluster


def _judged(
    tables: GoldSelection, request: ComparisonRequest, source: RunSource, progress: Progress
) -> Comparison:
    with progress.step("summarizing the runs"):
        runs_by_arm = arms(tables, source.scenario)
        missing = [arm for arm in (request.baseline, request.contender) if arm not in runs_by_arm]
        if missing:
            raise WrongUseError(_no_run(missing[0], runs_by_arm, request, source.folder))
        runs = runs_of(tables, (request.baseline, request.contender), source.scenario)
    try:
        comparison = compared(runs, request)
    except NothingToCompareError as error:
        raise WrongUseError(str(error)) from error
    comparison = _with_change_points(comparison)
    caution = misread(tables)
    return replace(comparison, cautions=[*comparison.cautions, caution]) if caution else comparison


def _no_run(arm: str, runs_by_arm: dict[str, int], request: ComparisonRequest, folder: Path | None) -> str:
    """Return the message for an arm without runs: the arms that have some, and the layout of the folder."""
    listed = ", ".join(f"{name} ({n} runs)" for name, n in runs_by_arm.items()) or "none"
    layout = f"; {layout_of(folder, request)}" if folder is not None else ""
    return f"no run of arm {arm!r}; there are: {listed}{layout}"


def _with_change_points(comparison: Comparison) -> Comparison:
    """Add the runs from which on an arm itself changed; runs before and after them do not compare."""
    metric, points, cautions = METRICS[comparison.deciding.metric], [], list(comparison.cautions)
    for runs in (comparison.baseline, comparison.contender):
        try:
            points += change_points(runs, metric)
        except NoChangePointsError as error:
            cautions.append(str(error))
    cautions += [
        f"the runs of {point.arm} change from {point.run} on: {point.metric} {100 * point.change:+.1f} %"
        for point in points
    ]
    return replace(comparison, cautions=list(dict.fromkeys(cautions)), change_points=points)


def _write(comparison: Comparison, cluster: str | None, inputs: Row, targets: Targets) -> None:
    stamp = Stamp.now()
    try:
        if targets.json is not None:
            write_atomically(targets.json, as_text(document(comparison, cluster, inputs)))
        if targets.markdown is not None:
            write_atomically(targets.markdown, markdown(comparison))
        if targets.html is not None:
            write_atomically(targets.html, page(comparison, stamp))
    except OSError as error:
        message = f"{error.filename or 'the comparison'} cannot be written: {error.strerror or error}"
        raise WrongUseError(message) from error
    typer.echo(sentence_of(comparison))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(table(comparison))
    for reason in reasons(comparison):
        typer.echo(reason)
    for caution in comparison.cautions:
        typer.echo(f"caution: {caution}")
    for target in (targets.html, targets.json, targets.markdown):
        if target is not None:
            typer.echo(str(target))
