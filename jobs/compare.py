"""
Compare two arms of a performance test: a verdict and its reason for each metric.

`plumbline compare BASELINE CONTENDER --from DIR`; under plain Spark, from the project's folder with its venv
activated: `PYTHONPATH=. spark-submit --driver-class-path '.jars/spark/*' jobs/compare.py A B --from DIR`.
"""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from answers.measured_runs import arms
from answers.selection import GoldSelection
from conf.atomic_file import write_atomically
from conf.exit_codes import ExitCode, WrongUseError
from conf.names import Kind
from conf.progress import Progress
from conf.signals import interrupt_on_signals
from engine.ingest.parsed_files import PARSERS
from engine.ingest.raw_files import Origin, readable, size_of, write_raw
from engine.process.cores import mapper
from schemas.rows import Row
from serving.report.compare.document import document, markdown, reasons, said, table
from serving.report.compare.options import (
    WRONG_USE,
    Compare,
    RunSource,
    Targets,
    asked_of,
    check_targets,
    layout_of,
)
from serving.report.compare.page import page
from serving.report.compare.run_tables import tables_of_files, tables_of_warehouse
from serving.report.compare.runs import misread, runs_of
from serving.report.compare.saved import save_comparison
from serving.report.document import as_text
from serving.report.page import Stamp
from serving.report.run.answering import found_in, settings_of, version_of
from serving.report.run.change_points import NoChangePointsError, change_points
from serving.report.run.options import nodes_of, zone_of
from serving.report.run.rows import SeveralClustersError
from verdicts.comparison import Asked, Comparison, NothingToCompareError, compared
from verdicts.metrics import METRICS
from verdicts.overall import exit_code

WIDTH = 120
CUT = ".cut"
"""Suffix of a run that was interrupted and repeated."""


def compare(  # noqa: PLR0913 (one option of the command each)
    *,
    baseline: Annotated[str, typer.Argument(help="Arm to compare with.")],
    contender: Annotated[str, typer.Argument(help="Arm to judge.")],
    folder: Annotated[Path | None, typer.Option("--from", help="Folder of raw files with the runs.")] = None,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings that name the warehouse; the last file wins.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Metric to judge; the first one decides. Default: all; the worst verdict decides."),
    ] = None,
    tolerance: Annotated[str, typer.Option(help="Largest change that counts as no difference.")] = "5%",
    scenario: Annotated[str | None, typer.Option(help="Only runs of this experiment.")] = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Do not pair the runs of the same name in both arms.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    json: Annotated[Path | None, typer.Option(help="JSON to write.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Markdown to write, for a pull request.")] = None,
    save: Annotated[
        bool,
        typer.Option(
            "--save", help="Also save the comparison in gold.run_comparison of the warehouse, once."
        ),
    ] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Name of the cluster; needed if there are several.")
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=ID: files that match the glob belong to that broker; repeatable."),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Zone of log layouts that write local time.")] = "UTC",
) -> None:
    """
    Compare two arms of a performance test: improved, regressed, equivalent or inconclusive.

    The unit is the run; runs of the same name in both arms are a pair. docs/comparison.md explains the method
    and its limits.

    Exit codes: 0 improved or equivalent; 1 regressed; 2 inconclusive, also with one run per arm; 3 invalid:
    the runs cannot be compared; 4 wrong use, nothing was compared; 130 stopped.

    Example: `plumbline compare sticky adaptive --from .state/experiments/adaptive --metric p99_ms`

    Example: `plumbline compare main pr-17 --conf my.toml --tolerance 3% --markdown verdict.md`
    """
    interrupt_on_signals()
    progress = Progress()
    try:
        request = asked_of(baseline, contender, metric or [], tolerance, is_unpaired=unpaired)
        source = RunSource(
            folder=folder,
            conf=conf or [],
            nodes=nodes_of(node or []),
            time_zone=zone_of(time_zone),
            cluster=cluster,
            scenario=scenario,
            is_saved=save,
        )
        comparison = run(request, source, Targets(html=html, json=json, markdown=markdown), progress)
    except WrongUseError as error:
        progress.say(f"error: {error}")
        raise typer.Exit(WRONG_USE) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; nothing was written")
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    raise typer.Exit(exit_code(comparison.deciding))


def run(request: Asked, source: RunSource, targets: Targets, progress: Progress) -> Comparison:
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
    folder: Path, request: Asked, source: RunSource, progress: Progress
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


def _of_warehouse(request: Asked, source: RunSource, progress: Progress) -> tuple[Comparison, str | None]:
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


def _judged(tables: GoldSelection, request: Asked, source: RunSource, progress: Progress) -> Comparison:
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


def _no_run(arm: str, runs_by_arm: dict[str, int], request: Asked, folder: Path | None) -> str:
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
    stamp = Stamp(generated_at=datetime.now(UTC), version=version_of())
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
    typer.echo(said(comparison))
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


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command(cls=Compare)(compare)
    app()
