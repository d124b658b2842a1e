"""Make a report: read its input, answer all questions, and write the result."""

from dataclasses import dataclass, replace
from datetime import UTC

from answers.gold.contents import edges
from answers.gold.selection import WINDOW, GoldSelection
from answers.questions import WholeAnswer, whole_answer
from answers.runs.summaries import summaries
from conf.exit_codes import WrongUseError
from conf.progress import Progress
from schemas.rows import Row
from serving.report.run.options import Wanted
from serving.report.run.output import check_targets, write
from serving.report.run.run_changes import run_changes
from serving.selecting import selection_of, selection_of_warehouse
from serving.settings import settings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """What a report shows: the rows that it is of, the answers, and its input."""

    selection: GoldSelection
    whole: WholeAnswer
    inputs: Row

    @property
    def span(self) -> str:
        """The span in words: from the oldest to the newest window."""
        ends = edges(self.selection.gold, self.selection.cluster)
        if ends["oldest"] is None:
            return "no window of data"
        since = max(ends["oldest"], self.selection.since).astimezone(UTC)
        until = min(ends["newest"] + WINDOW, self.selection.until).astimezone(UTC)
        end = f"{until:%H:%M:%S}" if since.date() == until.date() else f"{until:%Y-%m-%d %H:%M:%S}"
        return f"{since:%Y-%m-%d %H:%M:%S} to {end} UTC"


def run(wanted: Wanted, progress: Progress) -> None:
    """
    Read the input, answer all questions and write the report.

    Raises:
        WrongUseError: there is nothing to read, or a file cannot be written.

    """
    if (wanted.folder is None) == (not wanted.conf):
        message = (
            "give either --from DIR, for raw files, or --conf FILE, for the gold tables of a warehouse, or "
            "--example, for a recording"
        )
        raise WrongUseError(message)
    if wanted.conf and wanted.nodes:
        message = "--node names the brokers of raw files; a warehouse has their names: use it with --from"
        raise WrongUseError(message)
    if wanted.network_bytes_per_s is not None and wanted.network_bytes_per_s <= 0:
        message = (
            f"--network {wanted.network_bytes_per_s:g} is no bandwidth: give bytes/s above 0, as in 1.25e8"
        )
        raise WrongUseError(message)
    check_targets(wanted)
    content = (from_files if wanted.folder else from_warehouse)(wanted, progress)
    write(content, wanted, progress)


def from_files(wanted: Wanted, progress: Progress) -> ReportContent:
    """Parse the files of a folder and build gold from them."""
    # Imported here, because a report of a warehouse needs no parser.
    from serving.report.run.files import gold_of_files  # noqa: PLC0415

    gold, cluster, inputs = gold_of_files(wanted, progress)
    with progress.step("summarizing"):
        return content_of(selection_of(gold, cluster, wanted.span), wanted, inputs)


def from_warehouse(wanted: Wanted, progress: Progress) -> ReportContent:
    """Read the gold tables of the warehouse that the settings name."""
    inputs = {
        "conf": [str(path) for path in wanted.conf],
        "warehouse": settings_of(wanted.conf).warehouse.root,
        "not_understood": [],
        "passed_over": [],
    }
    with progress.step("reading gold"):
        selection = selection_of_warehouse(wanted.conf, wanted.cluster, wanted.span)
        return content_of(selection, wanted, inputs)


def content_of(selection: GoldSelection, wanted: Wanted, inputs: Row) -> ReportContent:
    """Return the content of a report of gold, with the rows that gold lacks."""
    changes, missing = run_changes(summaries(selection))
    outside = {
        "truth": [wanted.truth] if wanted.truth else [],
        "run_changes": changes,
        "run_changes_missing": [{"reason": reason} for reason in missing],
        **{name: inputs.get(name, []) for name in ("files", "not_understood", "passed_over")},
    }
    selection = replace(selection, network_bytes_per_s=wanted.network_bytes_per_s, outside=outside)
    inputs = inputs | {"since": wanted.span.since, "until": wanted.span.until}
    return ReportContent(selection=selection, whole=whole_answer(selection), inputs=inputs)
