"""The gold that a command answers from: a cluster and a span of a warehouse."""

from dataclasses import replace
from pathlib import Path

from answers.gold.contents import edges
from answers.gold.edges import clusters_of
from answers.gold.reader import GoldReader, NoGoldError
from answers.gold.relations import FIRST, LAST
from answers.gold.selection import WINDOW, GoldSelection, step_of
from conf.exit_codes import WrongUseError
from conf.instants import TimeRange
from serving.settings import settings_of


class SeveralClustersError(Exception):
    """A report is of one cluster; the message lists the clusters."""


class NoRowsError(Exception):
    """Gold has no rows."""


def selection_of_warehouse(conf: list[Path], cluster: str | None, span: TimeRange) -> GoldSelection:
    """
    Return the selection of a cluster and a span of the warehouse that the settings name.

    Raises:
        WrongUseError: there is no gold, or a cluster must be chosen.

    """
    root = settings_of(conf).warehouse_root
    try:
        selection = selection_of(GoldReader.of_warehouse(root), cluster, span)
        return replace(selection, conf=[str(path) for path in conf])
    except (NoGoldError, NoRowsError) as error:
        options = " ".join(f"--conf {path}" for path in conf)
        commands = f"`plumbline ingest {options}`, then `plumbline build-gold {options}`"
        message = f"gold in {root} has no rows: run {commands}"
        raise WrongUseError(message) from error
    except SeveralClustersError as error:
        message = (
            f"no cluster {cluster!r} in {root}; there are: {error}"
            if cluster
            else f"choose one of the clusters in {root} with --cluster: {error}"
        )
        raise WrongUseError(message) from error


def selection_of(gold: GoldReader, cluster: str | None, span: TimeRange) -> GoldSelection:
    """
    Return the selection of a cluster and a span; its steps fit the span.

    Raises:
        SeveralClustersError: no cluster is given and there are several, or there is none of that name.
        NoRowsError: no line was ever counted and no round trip was measured.

    """
    names = clusters_of(gold)
    if not names:
        raise NoRowsError
    chosen = cluster or (names[0] if len(names) == 1 else None)
    if chosen not in names:
        raise SeveralClustersError(", ".join(names))
    ends = edges(gold, chosen)
    oldest, newest = ends["oldest"] or FIRST, ends["newest"] or FIRST
    since, until = span.since or FIRST, span.until or (newest + WINDOW if ends["has_future"] else LAST)
    step = step_of(min(newest + WINDOW, until) - max(oldest, since))
    return GoldSelection(gold=gold, cluster=chosen, since=since, until=until, step=step)
