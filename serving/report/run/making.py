"""Make a report: read its input, evaluate it, and write it."""

from dataclasses import replace
from pathlib import Path

from answers.gold.reader import GoldReader, NoGoldError
from conf.exit_codes import WrongUseError
from conf.progress import Progress
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.run.answering import settings_of
from serving.report.run.options import Wanted
from serving.report.run.output import check_targets, write
from serving.report.run.rows import (
    NoRowsError,
    ReportSpan,
    SeveralClustersError,
    answers_of,
    selection_of,
)


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
    answers = (from_files if wanted.folder else from_warehouse)(wanted, progress)
    write(answers, wanted, progress)
    return answers


def from_files(wanted: Wanted, progress: Progress) -> Answers:
    """Parse the files of a folder and build gold from them."""
    # Imported here, because a report of a warehouse needs no parser.
    from serving.report.run.files import gold_of_files  # noqa: PLC0415

    gold, cluster, inputs = gold_of_files(wanted, progress)
    with progress.step("summarizing"):
        return _answers(gold, wanted, cluster, inputs | span_of(wanted))


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
        return replace(answers, quality_results=_quality_results(root, wanted.span))
    except (NoGoldError, NoRowsError) as error:
        options = " ".join(f"--conf {path}" for path in wanted.conf)
        commands = f"`plumbline ingest {options}`, then `plumbline build-gold {options}`"
        message = f"gold in {root} has no rows: run {commands}"
        raise WrongUseError(message) from error
    except SeveralClustersError as error:
        message = f"choose one of the clusters in {root} with --cluster: {error}"
        raise WrongUseError(message) from error


def _quality_results(root: Path, span: ReportSpan) -> list[Row]:
    """Return the newest results of `plumbline check-quality`."""
    if not (root / QUALITY_RESULTS.layer / QUALITY_RESULTS.name).exists():
        return []
    from engine.quality import results_table  # noqa: PLC0415 (it imports Spark and pandas)

    return results_table.newest(root, span.since, span.until)


def span_of(wanted: Wanted) -> Row:
    """Return the span of a report, as its JSON names it."""
    return {"since": wanted.span.since, "until": wanted.span.until}


def _answers(gold: GoldReader, wanted: Wanted, cluster: str | None, inputs: Row) -> Answers:
    network = wanted.network_bytes_per_s
    selection = selection_of(gold, cluster, wanted.span)
    return answers_of(selection, truth=wanted.truth, inputs=inputs, network_bytes_per_s=network)
