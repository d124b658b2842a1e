"""
The comparison of two arms: a verdict with its reason for each metric, from raw files or a warehouse.

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

from conf.atomic_file import write_atomically
from conf.names import Kind
from conf.settings import Settings
from engine.ingest.raw_files import Origin, readable, write_raw
from engine.process.progress import Progress
from engine.process.signals import interrupt_on_signals
from reports.compare.document import document, markdown, reasons, said, table
from reports.compare.options import WRONG_USE, Compare, Source, Targets, asked_of, check_targets, layout_of
from reports.compare.page import page
from reports.compare.run_tables import RunTables, tables_of_files, tables_of_warehouse
from reports.compare.runs import arms_of, misread, runs_of
from reports.compare.saved import save_comparison
from reports.document import as_text
from reports.page import Stamp
from reports.run.answering import STOPPED, found_in, interpreted, session, settings_of, version_of
from reports.run.change_points import NoChangePointsError, change_points
from reports.run.options import WrongUseError, nodes_of, zone_of
from reports.run.rows import SeveralClustersError
from schemas.rows import Row
from verdicts.comparison import Asked, Comparison, NothingToCompareError, compared
from verdicts.metrics import METRICS
from verdicts.overall import exit_code

WIDTH = 120
CUT = ".cut"
"""Ends the name of a run that was cut off and made again."""


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
        typer.Option(help="Metric to judge; the first one decides. All and the worst, unless told."),
    ] = None,
    tolerance: Annotated[str, typer.Option(help="Change that makes no difference.")] = "5%",
    scenario: Annotated[str | None, typer.Option(help="Only runs of this experiment.")] = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Runs of the same name in both arms are no block.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    json: Annotated[Path | None, typer.Option(help="JSON to write.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Markdown to write, for a pull request.")] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Keep it in gold.run_comparison of the warehouse, once.")
    ] = False,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster, if there are several.")] = None,
    node: Annotated[list[str] | None, typer.Option(help="As of `plumbline report`.")] = None,
    time_zone: Annotated[str, typer.Option(help="As of `plumbline report`.")] = "UTC",
) -> None:
    """
    Judge one arm of performance tests against another: improved, regressed, equivalent or inconclusive.

    The unit is the run; runs of one name in both arms are a block. What is compared and what may mislead:
    docs/comparison.md.

    Exit codes: 0 improved or equivalent; 1 regressed; 2 inconclusive, also for one run of each; 3 invalid:
    the runs cannot be compared; 4 wrong use, nothing was compared; 130 stopped.

    Example: `plumbline compare sticky adaptive --from .state/experiments/adaptive --metric p99_ms`

    Example: `plumbline compare main pr-17 --conf my.toml --tolerance 3% --markdown verdict.md`
    """
    interrupt_on_signals()
    progress = Progress()
    try:
        asked = asked_of(baseline, contender, metric or [], tolerance, is_unpaired=unpaired)
        source = Source(
            folder=folder,
            conf=conf or [],
            nodes=nodes_of(node or []),
            time_zone=zone_of(time_zone),
            cluster=cluster,
            scenario=scenario,
            is_saved=save,
        )
        told = run(asked, source, Targets(html=html, json=json, markdown=markdown), progress)
    except WrongUseError as error:
        progress.say(f"error: {error}")
        raise typer.Exit(WRONG_USE) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; nothing was written")
        raise typer.Exit(STOPPED) from error
    raise typer.Exit(exit_code(told.deciding))


def run(asked: Asked, source: Source, targets: Targets, progress: Progress) -> Comparison:
    """
    Read the runs, judge, write; return what was written.

    Raises:
        WrongUseError: there is nothing to compare, or nowhere to write.

    """
    if (source.folder is None) == (not source.conf):
        message = "give either --from DIR, for raw files, or --conf FILE, for the tables of a warehouse"
        raise WrongUseError(message)
    if source.is_saved and source.folder is not None:
        message = "--save keeps the comparison in a warehouse: give --conf FILE in place of --from DIR"
        raise WrongUseError(message)
    check_targets(targets.html, targets.json, targets.markdown)
    if source.folder is not None:
        told, cluster = _of_files(source.folder, asked, source, progress)
    else:
        told, cluster = _of_warehouse(asked, source, progress)
    inputs: Row = {
        "from": readable(source.folder) if source.folder else None,
        "conf": [str(path) for path in source.conf],
        "scenario": source.scenario,
    }
    _write(told, cluster, inputs, targets)
    return told


def _of_files(
    folder: Path, asked: Asked, source: Source, progress: Progress
) -> tuple[Comparison, str | None]:
    with progress.step(f"looking through {folder}"):
        found = found_in(folder, source.nodes, wanted=layout_of(folder, asked))
    cluster = source.cluster or readable(Path(folder.resolve().name))
    files = [file for file in found.understood if file.path.suffix != CUT]
    if len(files) < len(found.understood):
        progress.say(f"set aside, not read: {len(found.understood) - len(files)} files that end in {CUT}")
    kinds = {file.kind for file in files}
    with tempfile.TemporaryDirectory(prefix="plumbline-compare-", ignore_cleanup_errors=True) as scratch:
        raw = Path(scratch) / "raw"
        origin = Origin(folder=folder, cluster=cluster, time_zone=source.time_zone)
        with progress.step(f"reading {len(files)} files"):
            write_raw(files, origin, raw, on_file=lambda _file: None)
        with session(Settings(), "plumbline-compare") as spark, interpreted(spark):
            with progress.step("parsing"):
                has_requests = Kind.REQUEST_LOG.value in kinds
                tables = tables_of_files(spark, raw, Path(scratch), has_requests=has_requests)
            return _judged(tables, asked, source, progress), cluster


def _of_warehouse(asked: Asked, source: Source, progress: Progress) -> tuple[Comparison, str | None]:
    settings = settings_of(source.conf)
    root = settings.warehouse_root
    try:
        with session(settings, "plumbline-compare") as spark, interpreted(spark):
            tables, cluster = tables_of_warehouse(spark, root, source.cluster)
            told = _judged(tables, asked, source, progress)
            if source.is_saved:
                progress.say(
                    save_comparison(spark, settings, told, cluster=cluster, scenario=source.scenario)
                )
            return told, cluster
    except SeveralClustersError as error:
        message = f"choose one of the clusters in {root} with --cluster: {error}"
        raise WrongUseError(message) from error


def _judged(tables: RunTables, asked: Asked, source: Source, progress: Progress) -> Comparison:
    with progress.step("adding up the runs"):
        there = arms_of(tables, source.scenario)
        missing = [arm for arm in (asked.baseline, asked.contender) if arm not in there]
        if missing:
            raise WrongUseError(_no_run(missing[0], there, asked, source.folder))
        runs = runs_of(tables, (asked.baseline, asked.contender), source.scenario)
    try:
        told = compared(runs, asked)
    except NothingToCompareError as error:
        raise WrongUseError(str(error)) from error
    told = _with_change_points(told)
    doubt = misread(tables)
    return replace(told, cautions=[*told.cautions, doubt]) if doubt else told


def _no_run(arm: str, there: dict[str, int], asked: Asked, folder: Path | None) -> str:
    """Return which arm has no run and which arms have some, for a folder with the layout that it needs."""
    listed = ", ".join(f"{name} ({n} runs)" for name, n in there.items()) or "none"
    layout = f"; {layout_of(folder, asked)}" if folder is not None else ""
    return f"no run of arm {arm!r}; there are: {listed}{layout}"


def _with_change_points(told: Comparison) -> Comparison:
    """Say where an arm itself changed; runs before and after are not of one thing."""
    metric, points, cautions = METRICS[told.deciding.metric], [], list(told.cautions)
    for runs in (told.baseline, told.contender):
        try:
            points += change_points(runs, metric)
        except NoChangePointsError as error:
            cautions.append(str(error))
    cautions += [
        f"the runs of {of.arm} change with {of.run}: {of.metric} {100 * of.change:+.1f} %" for of in points
    ]
    return replace(told, cautions=list(dict.fromkeys(cautions)), change_points=points)


def _write(told: Comparison, cluster: str | None, inputs: Row, targets: Targets) -> None:
    stamp = Stamp(generated_at=datetime.now(UTC), version=version_of())
    try:
        if targets.json is not None:
            write_atomically(targets.json, as_text(document(told, cluster, inputs)))
        if targets.markdown is not None:
            write_atomically(targets.markdown, markdown(told))
        if targets.html is not None:
            write_atomically(targets.html, page(told, stamp))
    except OSError as error:
        message = f"{error.filename or 'the comparison'} cannot be written: {error.strerror or error}"
        raise WrongUseError(message) from error
    typer.echo(said(told))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(table(told))
    for reason in reasons(told):
        typer.echo(reason)
    for caution in told.cautions:
        typer.echo(f"caution: {caution}")
    for target in (targets.html, targets.json, targets.markdown):
        if target is not None:
            typer.echo(str(target))


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command(cls=Compare)(compare)
    app()
