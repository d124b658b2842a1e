"""
Write the report: one offline HTML page and the same results as JSON, from raw files or the gold tables.

`plumbline report --from DIR`; under plain Spark, from the project's folder with its venv activated:
`PYTHONPATH=. spark-submit --driver-class-path '.jars/spark/*' jobs/report.py --from DIR`.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from answers.gold import GoldReader, NoGoldError
from conf.exit_codes import ExitCode, WrongUseError
from conf.instants import SINCE_HELP, time_range
from conf.progress import Progress
from conf.signals import interrupt_on_signals
from engine.ingest.parsed_files import PARSERS
from engine.ingest.raw_files import FileRead, Origin, readable, size_of, write_raw
from engine.process.cores import mapper
from engine.quality import results_table
from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.run.answering import found_in, settings_of
from serving.report.run.gold_of_files import rows_of_files
from serving.report.run.inputs import inputs_of_files, span_of
from serving.report.run.options import Wanted, nodes_of, truth_of, zone_of
from serving.report.run.output import HTML, JSON, check_targets, write
from serving.report.run.rows import NoRowsError, ReportSpan, SeveralClustersError, answers_of, selection_of

WRONG_USE = 2


def report(  # noqa: PLR0913 (one option of the command each)
    *,
    folder: Annotated[
        Path | None, typer.Option("--from", help="Folder of log files as brokers write them.")
    ] = None,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings that name the warehouse; the last file wins.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    json: Annotated[Path | None, typer.Option(help="JSON to write.")] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=ID: files that match the glob belong to that broker; repeatable."),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Zone of log layouts that write local time.")] = "UTC",
    cluster: Annotated[
        str | None, typer.Option(help="Name of the cluster; needed if there are several.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"First instant. {SINCE_HELP}")] = None,
    until: Annotated[str | None, typer.Option(help="End, exclusive. The same form.")] = None,
    network: Annotated[
        float | None,
        typer.Option(help="Network bandwidth of a broker in bytes/s, for the throttle range of KIP-73."),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Ground truth of a lab scenario, to check the verdicts.")
    ] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Also print all tables.")] = False,
) -> None:
    """
    Show who is slow: from raw log files, or from the gold tables of a warehouse.

    Without --html and --json, write both: report.html and report.json.

    Exit code 2: there is nothing to read (also: gold has no rows), or a file cannot be written. A line that
    cannot be read is not an error; the report counts it under data quality.

    Example: `plumbline report --from logs --html report.html --json report.json`

    Example: `plumbline report --from logs --node 'east/*=1' --time-zone Europe/Berlin`

    Example: `plumbline report --conf my.toml --since 2026-11-21T11:00Z --until 2026-11-21T12:00Z`
    """
    interrupt_on_signals()
    progress = Progress()
    try:
        wanted = Wanted(
            folder=folder,
            conf=conf or [],
            html=html if html or json else HTML,
            json=json if html or json else JSON,
            nodes=nodes_of(node or []),
            time_zone=zone_of(time_zone),
            cluster=cluster,
            span=ReportSpan(*time_range(since, until)),
            truth=truth_of(truth),
            network_bytes_per_s=network,
            has_tables=tables,
        )
        run(wanted, progress)
    except WrongUseError as error:
        progress.say(f"error: {error}")
        raise typer.Exit(WRONG_USE) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; nothing was written")
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def run(wanted: Wanted, progress: Progress) -> Answers:
    """
    Read the input, evaluate it and write the report; return its content.

    Raises:
        WrongUseError: there is nothing to read, or a file cannot be written.

    """
    if (wanted.folder is None) == (not wanted.conf):
        message = "give either --from DIR, for raw files, or --conf FILE, for the gold tables of a warehouse"
        raise WrongUseError(message)
    check_targets(wanted)
    if wanted.folder is not None:
        answers = from_files(wanted.folder, wanted, progress)
    else:
        answers = from_warehouse(wanted, progress)
    write(answers, wanted, progress)
    return answers


def from_files(folder: Path, wanted: Wanted, progress: Progress) -> Answers:
    """Parse the files of a folder and build gold from them, in a temporary folder that is always removed."""
    with progress.step(f"searching {folder}"):
        found = found_in(folder, wanted.nodes)
    cluster = wanted.cluster or readable(Path(folder.resolve().name))
    origin = Origin(folder=folder, cluster=cluster, time_zone=wanted.time_zone)
    with tempfile.TemporaryDirectory(prefix="plumbline-report-", ignore_cleanup_errors=True) as scratch:
        raw = Path(scratch) / "raw"
        with mapper(size_of(found.understood), *PARSERS) as run_all:
            with progress.step(f"reading {len(found.understood)} files"):
                read = write_raw(
                    found.understood,
                    origin,
                    raw,
                    on_file=lambda file: progress.say(_file_line(file)),
                    run_all=run_all,
                )
            if not any(file.lines for file in read):
                message = f"no line in the {len(read)} files of {folder}: all are empty; is the logger on?"
                raise WrongUseError(message)
            inputs = inputs_of_files(folder, wanted, found, read)
            with progress.step("parsing and building gold"):
                damages = {file.source: file.damage for file in read if file.damage}
                rows = rows_of_files(raw, Path(scratch), damages, run_all)
    with progress.step("summarizing"):
        return _answers(GoldReader.of_rows(rows), wanted, cluster, inputs)


def from_warehouse(wanted: Wanted, progress: Progress) -> Answers:
    """Read the gold tables of the warehouse that the settings name."""
    settings = settings_of(wanted.conf)
    root = settings.warehouse_root
    inputs = {
        "conf": [str(path) for path in wanted.conf],
        "warehouse": settings.warehouse.root,
        "not_understood": [],
        "passed_over": [],
    }
    try:
        with progress.step("reading gold"):
            answers = _answers(
                GoldReader.of_warehouse(root), wanted, wanted.cluster, inputs | span_of(wanted)
            )
        quality_results = results_table.newest(root, wanted.span.since, wanted.span.until)
        return replace(answers, quality_results=quality_results)
    except (NoGoldError, NoRowsError) as error:
        options = " ".join(f"--conf {path}" for path in wanted.conf)
        commands = f"`plumbline ingest {options}`, then `plumbline build-gold {options}`"
        message = f"gold in {root} has no rows: run {commands}"
        raise WrongUseError(message) from error
    except SeveralClustersError as error:
        message = f"choose one of the clusters in {root} with --cluster: {error}"
        raise WrongUseError(message) from error


def _answers(gold: GoldReader, wanted: Wanted, cluster: str | None, inputs: Row) -> Answers:
    network = wanted.network_bytes_per_s
    selection = selection_of(gold, cluster, wanted.span)
    return answers_of(selection, truth=wanted.truth, inputs=inputs, network_bytes_per_s=network)


def _file_line(file: FileRead) -> str:
    damage = f"; damaged: {file.damage}" if file.damage else ""
    return f"  {file.source}: {file.kind} of {file.node}, {file.lines} lines{damage}"


if __name__ == "__main__":
    typer.run(report)
