"""How many more runs would decide, told from what was seen: an estimate, and as uncertain as that."""

from dataclasses import dataclass
from math import isfinite, pi, sqrt

from scipy import stats

from verdicts.shift import least_p

POWER = 0.8
"""So often the number of runs that is named is to be enough."""

OF_RANKS = pi / 3
"""Where runs scatter normally, ranks need so many times the runs that means would; elsewhere fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was seen: runs of each arm, their shift, the spread of a difference of two, and what is asked."""

    seen: int
    shift: float
    spread: float
    tolerance: float
    alpha: float
    is_blocked: bool
    most: int = 200

    @property
    def can_never_tell(self) -> bool:
        """Tell whether so few runs cannot come to the level that is asked, whatever they show."""
        return least_p(self.seen, is_blocked=self.is_blocked) > self.alpha


def more_runs(plan: Plan) -> int | None:
    """
    Give how many more runs of each arm would decide four times out of five; None for more than `most`.

    Either the change is as it was seen, and its interval leaves out zero; or it is smaller than the
    tolerance, and the interval lies within that.

    >>> more_runs(Plan(seen=3, shift=-2.0, spread=0.8, tolerance=0.05, alpha=0.05, is_blocked=False))
    1
    >>> more_runs(Plan(seen=8, shift=0.05, spread=0.2, tolerance=0.05, alpha=0.05, is_blocked=True))
    124
    """
    if not isfinite(plan.spread):
        return None
    reach = float(stats.norm.ppf(1 - plan.alpha / 2) + stats.norm.ppf(POWER))
    room = max(abs(plan.shift), plan.tolerance - abs(plan.shift))
    for n in range(plan.seen + 1, plan.most + 1):
        is_enough = room >= reach * plan.spread * sqrt(OF_RANKS / n)
        if is_enough and least_p(n, is_blocked=plan.is_blocked) <= plan.alpha:
            return n - plan.seen
    return None
