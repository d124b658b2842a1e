"""A2: who is accused in a span, and the round trips with and without the findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from answers.answer import Headline
from answers.formats import capital
from answers.gold.contents import too_late
from answers.gold.selection import GoldSelection
from answers.slow_links import culprits, round_trips
from answers.slow_links.culprits import Finding, is_accused
from schemas.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusation:
    """The findings of a span; `chief` is the one to report first."""

    headline: Headline
    found: Sequence[Finding]
    chief: Finding | None
    accused: Sequence[Row]  # round trips of each pair in the windows of `chief`
    quiet: Sequence[Row]  # round trips of each pair outside of all findings

    def is_of(self, row: Row) -> bool:
        """Return whether the pair of a row is accused."""
        chief = self.chief
        return chief is not None and is_accused(chief.row, row["follower_id"], row["leader_id"])


def accusation(selection: GoldSelection) -> Accusation:
    """Return who is accused; this does not depend on the filter of brokers."""
    everything = selection.of_all_brokers
    rows = round_trips.culprits(everything)
    accused = accused_rows(everything, round_trips.round_trips)
    quiet = quiet_rows(everything)
    found, headline = culprits.findings(rows, accused, quiet), culprits.headline(rows, accused, quiet)
    if not rows and (why := too_late(selection)):
        headline = replace(headline, evidence=[capital(why)])
    return Accusation(
        headline=headline,
        found=found,
        chief=culprits.chief_of(found),
        accused=accused,
        quiet=quiet,
    )


def accused_rows(selection: GoldSelection, rows: Callable[..., list[Row]]) -> list[Row]:
    """Return rows of the windows of the first finding; empty without a finding."""
    chief = culprits.chief_of(culprits.findings(round_trips.culprits(selection)))
    return rows(selection, only=chief.core) if chief else []


def quiet_rows(selection: GoldSelection) -> list[Row]:
    """Return the round trips outside of all findings; empty without a finding."""
    found = culprits.findings(round_trips.culprits(selection))
    return round_trips.round_trips(selection, but=culprits.windows_of(found)) if found else []
