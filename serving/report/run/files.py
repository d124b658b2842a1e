"""Gold of a folder of raw files, for a report."""

import tempfile
from pathlib import Path

from answers.gold.reader import GoldReader
from conf.exit_codes import WrongUseError
from conf.progress import Progress
from engine.ingest.parsed_files import PARSERS
from engine.ingest.raw_files import FileRead, Origin, readable, size_of, write_raw
from engine.process.cores import mapper
from schemas.rows import Row
from serving.report.run.found import found_in
from serving.report.run.gold_of_files import rows_of_files
from serving.report.run.inputs import inputs_of_files
from serving.report.run.options import Wanted


def gold_of_files(wanted: Wanted, progress: Progress) -> tuple[GoldReader, str, Row]:
    """
    Return gold of the files of a folder, the name of the cluster, and the inputs of the report.

    The rows in between are in a temporary folder that is always removed.

    Raises:
        WrongUseError: no file is understood, or none has a line.

    """
    folder = wanted.folder or Path()
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
    return GoldReader.of_rows(rows), cluster, inputs


def _file_line(file: FileRead) -> str:
    damage = f"; damaged: {file.damage}" if file.damage else ""
    return f"  {file.source}: {file.kind} of {file.node}, {file.lines} lines{damage}"
