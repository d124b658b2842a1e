"""Compute the rates of a move from the sizes on disk, over the whole move and over windows of the quota."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from lab.truth import NS_PER_S, iso

WINDOW_S = 11.0
"""
replication.quota.window.num x replication.quota.window.size.seconds, with Kafka's defaults.

A broker drops a sample when its last event is 11 s old (SampledStat), so the quota covers 11 to 12 s. If all
bytes come in one burst, 11 s can contain the bytes of 12 s: 9 % more than the limit. A full window therefore
begins with a byte and ends with the first byte that comes at least 11 s later: one period of the quota.
"""

Curve = Sequence[tuple[int, int]]
"""Instants (epoch ns, ascending) and the bytes on disk."""


def bytes_at(curve: Curve, at_ns: float) -> float:
    """
    Return the bytes at an instant, interpolated between the samples before and after it.

    >>> bytes_at([(0, 0), (10, 100)], 5), bytes_at([(0, 0), (10, 100)], 99)
    (50.0, 100.0)
    """
    after = bisect_right(curve, at_ns, key=lambda sample: sample[0])
    if after in (0, len(curve)):
        return float(curve[0 if after == 0 else -1][1])
    (since_ns, low), (until_ns, high) = curve[after - 1], curve[after]
    return low + (high - low) * (at_ns - since_ns) / (until_ns - since_ns)


def summary(curve: Curve) -> dict[str, object] | None:
    """
    Return when the bytes began and ceased to grow, and their rates. None if they did not grow.

    `first_window` is the rate of the first 11 s, `best_window` the highest rate of any 11 s. `full_windows`
    are the quota periods from the first byte on, `second_window` the second of them, `after_first_window` the
    mean after the first. The last period is not a full window: its end is unknown. Windows that the move does
    not fill are None.
    """
    grown = [nth for nth in range(1, len(curve)) if curve[nth][1] > curve[nth - 1][1]]
    if not grown:
        return None
    began_ns, ended_ns = curve[grown[0] - 1][0], curve[grown[-1]][0]
    window_ns = WINDOW_S * NS_PER_S

    def rate(since_ns: float, until_ns: float) -> float | None:
        if until_ns > ended_ns or until_ns <= since_ns:
            return None
        return round(
            (bytes_at(curve, until_ns) - bytes_at(curve, since_ns)) * NS_PER_S / (until_ns - since_ns), 1
        )

    starts = [at_ns for at_ns, _ in curve if began_ns <= at_ns <= ended_ns - window_ns]
    best = [found for start in starts if (found := rate(start, start + window_ns)) is not None]
    opened = period_starts_ns([curve[nth - 1][0] for nth in grown])
    full = [rate(since_ns, until_ns) for since_ns, until_ns in pairwise(opened)]
    return {
        "began_at": iso(began_ns),
        "ended_at": iso(ended_ns),
        "bytes": curve[-1][1] - curve[0][1],
        "mean_bytes_per_s": rate(began_ns, ended_ns),
        "first_window_bytes_per_s": rate(began_ns, began_ns + window_ns),
        "second_window_bytes_per_s": full[1] if len(full) > 1 else None,
        "after_first_window_bytes_per_s": rate(opened[1], opened[-1]) if len(full) > 1 else None,
        "best_window_bytes_per_s": max(best, default=None),
        "full_windows_bytes_per_s": full,
    }


def period_starts_ns(passed_ns: Sequence[int]) -> list[int]:
    """
    Return when the periods of the quota began, from the instants at which bytes passed (ascending).

    >>> [at // NS_PER_S for at in period_starts_ns([at * NS_PER_S for at in (0, 1, 12, 14, 22, 24, 36)])]
    [0, 12, 24, 36]
    """
    opened = list(passed_ns[:1])
    for at_ns in passed_ns:
        if at_ns - opened[-1] >= WINDOW_S * NS_PER_S:
            opened.append(at_ns)
    return opened
