"""
Shapes of slow round trips, and their evidence in one window and over windows. See `docs/culprit.md`.

The model of a window's round trips y, one per ordered pair of brokers, is `y = c + e on the pairs of a shape
+ noise`. c is common to all pairs, and e >= 0 is the effect of the shape. The evidence of one window is the
log-likelihood ratio of a shape against "no culprit", minus a penalty for the number of shapes (BIC). Over
windows it is a CUSUM (Page 1954): the largest sum over all starts. The start with this sum is the onset.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from transforms.gold.broker_rtt.grid import Floats, Ints, Mask, Pair
from transforms.windows import WINDOW_S

DIGITS = 6
"""Further digits depend on the order of addition: without them, equal sums are ties, and rows are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The parameters of noise and evidence, estimated from healthy windows."""

    noise_ms: float  # standard deviation of a pair's estimate, from window to window and between equal pairs
    shared_ms: float  # standard deviation of the common part, from window to window
    relative_noise: float  # noise proportional to the round trip
    min_effect_ms: float  # the drift of healthy levels; a smaller effect is not a fault
    alarm: float  # the evidence that names a shape
    cap: float  # the largest evidence of one window; below `alarm`, so one window is not enough
    tie: float  # shapes with a smaller difference of evidence are tied
    memory_windows: int  # the largest number of windows in a sum of evidence


class Shape(NamedTuple):
    """A broker, one side of a broker, or a link; the fields of `runner_up` in `gold.broker_rtt_culprit`."""

    culprit: str
    broker_id: int | None
    follower_id: int | None
    leader_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Arrays by window and shape; NaN (or False) where no pair of the shape has a round trip."""

    effect_ms: Floats
    effect_se_ms: Floats
    evidence: Floats  # the largest sum over all starts, in nats
    since: Ints  # the start of this sum, seconds since the epoch
    holds: Mask  # the shape still fits this window and the one before


def shapes_of(pairs: Sequence[Pair]) -> tuple[list[Shape], Floats]:
    """
    Return all shapes of these pairs (each link, both sides of each broker, the broker itself), and members.

    Members are 1.0 where a pair (row) belongs to a shape (column), else 0.0.

    >>> shapes, members = shapes_of([(1, 2), (2, 1)])
    >>> [(shape.culprit, *in_shape) for shape, in_shape in zip(shapes[1:5], members.T[1:5].tolist())]
    [('link', 0.0, 1.0), ('follower_side', 1.0, 0.0), ('follower_side', 0.0, 1.0), ('leader_side', 0.0, 1.0)]
    """
    followers, leaders = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    of_followers, of_leaders, brokers = (
        np.unique(followers),
        np.unique(leaders),
        np.unique([*followers, *leaders]),
    )
    shapes = [
        *(Shape("link", None, follower, leader) for follower, leader in pairs),
        *(Shape("follower_side", int(b), int(b), None) for b in of_followers),
        *(Shape("leader_side", int(b), None, int(b)) for b in of_leaders),
        *(Shape("broker", int(b), None, None) for b in brokers),
    ]
    members = [
        np.eye(len(pairs), dtype=bool),
        followers[:, None] == of_followers,
        leaders[:, None] == of_leaders,
        (followers[:, None] == brokers) | (leaders[:, None] == brokers),
    ]
    return shapes, np.concatenate(members, axis=1).astype(float)


def weight(
    x_ms: Floats, spread_ms: Floats, thin: Floats, sampling_ms: Floats, thresholds: Thresholds
) -> Floats:
    """
    Return the inverse variance of each pair's estimate, from its own spread or at least the general noise.

    Both are estimated from windows with enough round trips. With fewer round trips this variance is `thin`
    times larger. `sampling_ms` is the standard error from the round trips of the window itself: it is large
    while the machine is busy.
    """
    noise = np.maximum(thresholds.noise_ms, np.nan_to_num(spread_ms))
    relative = thresholds.relative_noise * np.abs(x_ms)
    return 1 / (thin * (noise * noise + relative * relative) + sampling_ms * sampling_ms)


def evidence(  # noqa: PLR0913 (the round trips of pairs, their shapes, and how they are compared)
    starts: Ints, y_ms: Floats, w: Floats, shapes: Floats, thresholds: Thresholds, *, is_own: bool
) -> Evidence:
    """
    Return the evidence of each shape in each window.

    `y_ms` are the round trips without their level, by window and pair, NaN where there are none; `w` are
    their weights, `shapes` the `members`. With an own history the common part is near zero (`is_own`).
    """
    has_pair = ~np.isnan(y_ms)
    w = np.where(has_pair, w, 0.0)
    wy, wyy = (w * np.where(has_pair, y_ms**power, 0.0) for power in (1, 2))
    in_shape, in_window = has_pair @ shapes, has_pair.sum(axis=1, keepdims=True)
    w_in, wy_in, wyy_in = (values @ shapes for values in (w, wy, wyy))
    w_all, wy_all, wyy_all = (values.sum(axis=1, keepdims=True) for values in (w, wy, wyy))
    held = 1 / thresholds.shared_ms**2 if is_own else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(in_shape < in_window, w_all - w_in, 0.0) + held
        rest = np.where(rest > 0, rest, np.nan)  # the shape contains all pairs: there is no comparison
        shared = (wy_all - wy_in) / rest
        effect = wy_in / w_in - shared
        error_in = wyy_in - wy_in * wy_in / w_in
        error_out = (wyy_all - wyy_in) - shared * (wy_all - wy_in)
        error_none = wyy_all - wy_all * wy_all / (w_all + held)
        llr = (error_none - error_in - error_out) / 2 - np.log(in_window) / 2
        is_seen = in_shape > 0
        llr -= np.log(is_seen.sum(axis=1, keepdims=True))
        se = np.sqrt(1 / w_in + 1 / rest)
    is_real = effect >= thresholds.min_effect_ms
    llr = np.where(is_seen, np.where(is_real, llr, -thresholds.cap), np.nan)
    largest = np.max(np.where(is_seen, llr, -np.inf), axis=1, keepdims=True, initial=-np.inf)
    # The cap lowers all shapes of a window equally, so their differences stay.
    llr = np.maximum(llr - np.maximum(0.0, largest - thresholds.cap), -100 * thresholds.cap)
    sums, since, holds = accumulated(starts, llr, thresholds)
    return Evidence(
        effect_ms=np.where(is_seen, effect, np.nan),
        effect_se_ms=np.where(is_seen, se, np.nan),
        evidence=sums,
        since=since,
        holds=holds,
    )


def accumulated(starts: Ints, llr: Floats, thresholds: Thresholds) -> tuple[Floats, Ints, Mask]:
    """
    Return `evidence`, `since` and `holds` from the evidence of single windows (NaN: a shape is not seen).

    Sums start at most `memory_windows` before a window. This is by time, not by rows, because a shape can be
    missing from windows, and a stream reads only this range.
    """
    reach_s = WINDOW_S * (thresholds.memory_windows - 1)
    is_seen = ~np.isnan(llr)
    so_far = np.cumsum(np.where(is_seen, llr, 0.0), axis=0)
    before = so_far - np.where(is_seen, llr, 0.0)
    # Rounded only to find the earliest of equal values. The start of the sum, and so its rounding errors,
    # depend on how far back the input reaches.
    ranked = np.where(is_seen, np.round(before, DIGITS), np.inf)
    sums, since = np.full_like(llr, np.nan), np.zeros(llr.shape, dtype=np.int64)
    holds = np.zeros(llr.shape, dtype=bool)
    columns, seen_at, previous = (
        np.arange(llr.shape[1]),
        np.full(llr.shape[1], -reach_s),
        np.zeros(llr.shape[1]),
    )
    for nth, start in enumerate(starts):
        first = int(np.searchsorted(starts, start - reach_s))
        lowest = first + np.argmin(ranked[first : nth + 1], axis=0)
        sums[nth] = np.where(is_seen[nth], so_far[nth] - before[lowest, columns], np.nan)
        since[nth] = starts[lowest]
        # A shape that fits earlier windows but not this one is no longer slow.
        holds[nth] = llr[nth] + np.where(seen_at >= start - reach_s, previous, 0.0) > 0
        previous, seen_at = np.where(
            is_seen[nth], [llr[nth], np.full_like(llr[nth], start)], [previous, seen_at]
        )
    return np.round(sums, DIGITS), since, holds
