"""Mean rates over whole quota periods, from the bytes of each second."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from answers.throttles.verdict import QUOTA_WINDOW_S
from schemas.histogram import Z_95

MIN_N = 3
"""The minimum number of periods for an interval."""

T_95 = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 15: 2.145, 20: 2.093}


class Period(NamedTuple):
    """A whole quota period."""

    seconds: int
    throttled: int  # bytes
    catching_up: int  # bytes


class PeriodRate(NamedTuple):
    """The mean rates over periods, bytes/s, with the 95 % interval of the throttled one."""

    n: int
    rate: float | None
    low: float | None
    high: float | None
    catching_up_rate: float | None


def periods(
    seconds: Sequence[int], throttled: Sequence[int], catching_up: Sequence[int], is_copy: Sequence[bool]
) -> list[Period]:
    """
    Return the whole quota periods of a stretch's seconds, which are in order and have their bytes.

    The quota averages over 11 to 12 s (SampledStat keeps a sample until its last event is 11 s old), so a
    burst repeats after 11 to 12 s. A period begins with a byte and ends at the first byte at least 11 s
    later. The rest after the last such byte is not a whole period.

    >>> periods(range(24), [1] * 24, [0] * 24, [True] * 24)
    [Period(seconds=11, throttled=11, catching_up=0), Period(seconds=11, throttled=11, catching_up=0)]
    """
    at, is_byte = np.asarray(seconds, np.int64), np.asarray(is_copy, bool)
    places = np.flatnonzero(is_byte)
    so_far = [np.concatenate([[0], np.cumsum(np.asarray(of, np.int64))]) for of in (throttled, catching_up)]
    found, begin = [], 0
    while len(at):
        later = np.searchsorted(at[places], at[begin] + QUOTA_WINDOW_S)
        if later == len(places):
            break
        end = int(places[later])
        found.append(Period(int(at[end] - at[begin]), *(int(of[end] - of[begin]) for of in so_far)))
        begin = end
    return found


def rate_of(whole: Iterable[Period]) -> PeriodRate:
    """Return the mean rates over periods; None without any."""
    every = list(whole)
    n = len(every)
    if not n:
        return PeriodRate(0, None, None, None, None)
    took_s = sum(one.seconds for one in every)
    rate = sum(one.throttled for one in every) / took_s
    catching_up = sum(one.catching_up for one in every) / took_s
    if n < MIN_N:
        return PeriodRate(n, rate, None, None, catching_up)
    apart = sum((one.throttled / one.seconds - rate) ** 2 for one in every)
    half = t_95(n) * math.sqrt(apart / (n - 1) / n)
    return PeriodRate(n, rate, max(rate - half, 0.0), rate + half, catching_up)


def t_95(n: int) -> float:
    """
    Return Student's factor of the 95 % interval of a mean, for the next smaller `n` in the table.

    >>> [t_95(n) for n in (3, 12, 500)]
    [4.303, 2.262, 1.959964]
    """
    return Z_95 if n > max(T_95) * 2 else T_95[max(known for known in T_95 if known <= n)]
