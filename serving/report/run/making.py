"""Make a report: read its input, answer all questions, and write the result."""

from dataclasses import dataclass, replace
from datetime import UTC

from answers.gold.contents import edges
from answers.gold.reader import FIRST, LAST, GoldReader, NoGoldError
from answers.gold.selection import WINDOW, GoldSelection, clusters_of, step_of
from answers.questions import WholeAnswer, whole_answer
from answers.runs.summaries import summaries
from conf.exit_codes import WrongUseError
from conf.instants import TimeRange
from conf.progress import Progress
from schemas.rows import Row
from serving.report.run.answering import settings_of
from serving.report.run.options import Wanted
from serving.report.run.output import check_targets, write
from serving.report.run.run_changes import run_changes


class SeveralClustersError(Exception):
    """A report is of one cluster; the message lists the clusters."""


class NoRowsError(Exception):
    """Gold has no rows."""


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
        message = "give either --from DIR, for raw files, or --conf FILE, for the gold tables of a warehouse"
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
        return content_of(gold, wanted, cluster, inputs)


def from_warehouse(wanted: Wanted, progress: Progress) -> ReportContent:
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
            return content_of(GoldReader.of_warehouse(root), wanted, wanted.cluster, inputs)
    except (NoGoldError, NoRowsError) as error:
        options = " ".join(f"--conf {path}" for path in wanted.conf)
        commands = f"`plumbline ingest {options}`, then `plumbline build-gold {options}`"
        message = f"gold in {root} has no rows: run {commands}"
        raise WrongUseError(message) from error
    except SeveralClustersError as error:
        message = f"choose one of the clusters in {root} with --cluster: {error}"
        raise WrongUseError(message) from error


def content_of(gold: GoldReader, wanted: Wanted, cluster: str | None, inputs: Row) -> ReportContent:
    """
    Return the content of a report of gold.

    Raises:
        SeveralClustersError: no cluster is given and there are several, or there is none of that name.
        NoRowsError: no line was ever counted and no round trip was measured.

    """
    selection = selection_of(gold, cluster, wanted.span)
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


def selection_of(gold: GoldReader, cluster: str | None, span: TimeRange) -> GoldSelection:
    """Return the selection of a cluster and a span; its steps fit the span."""
    names = clusters_of(gold)
    if not names:
        raise NoRowsError
    chosen = cluster or (names[0] if len(names) == 1 else None)
    if chosen not in names:
        raise SeveralClustersError(", ".join(names))
    since, until, ends = span.since or FIRST, span.until or LAST, edges(gold, chosen)
    oldest, newest = ends["oldest"] or FIRST, ends["newest"] or FIRST
    step = step_of(min(newest + WINDOW, until) - max(oldest, since))
    return GoldSelection(gold=gold, cluster=chosen, since=since, until=until, step=step)
