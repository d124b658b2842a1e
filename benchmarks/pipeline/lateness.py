"""What was seen of a rate, in figures: how late lines are, with intervals, and whether they pile up."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

BLOCK_S, BATCHES_A_BLOCK = 60.0, 3
"""A block is long enough to hold several batches: parts of one batch are no independent draws."""

LEAST_BLOCKS = 3
"""Of two, Student makes an interval that tells nothing."""

LAYERS = ("silver", "gold")
THIRDS = 3
MILLION = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All lines of one rate: when each was appended and when it could be seen, epoch seconds."""

    per_s: float
    measured_from: float  # what was appended before is of warming up
    appended_at: np.ndarray
    silver_at: np.ndarray  # NaN where silver never had it
    gold_at: np.ndarray
    batches: dict[str, int]  # of each layer, that ended within the measured time
    cores: dict[str, float]  # CPU-seconds a second of each job within the measured time


def told(seen: Seen) -> dict[str, object]:
    """Put the figures of one rate into plain values."""
    counts = seen.appended_at >= seen.measured_from
    at = seen.appended_at[counts] - seen.measured_from
    measured_s = float(at.max())
    figures: dict[str, object] = {
        "per_s": seen.per_s,
        "lines": len(at),
        "measured_s": measured_s,
        "cores": seen.cores,
        "cpu_s_per_million": {job: used * measured_s / len(at) * MILLION for job, used in seen.cores.items()},
    }
    third = _parts(at, THIRDS)
    for layer, visible_at in zip(LAYERS, (seen.silver_at, seen.gold_at), strict=True):
        late_s = visible_at[counts] - seen.appended_at[counts]
        blocks = blocks_of(measured_s, seen.batches[layer])
        figures[layer] = {
            "never": int(np.isnan(late_s).sum()),
            "batches": seen.batches[layer],
            "blocks": blocks,
            "p50_s": with_interval(late_s, _parts(at, blocks), 0.5),
            "p99_s": with_range(late_s, _parts(at, blocks), 0.99),
            "p50_of_thirds_s": [quantile(late_s[third == nth], 0.5) for nth in range(THIRDS)],
            "behind_of_thirds": behind(seen, visible_at),
        }
    return figures


def _parts(at: np.ndarray, n: int) -> np.ndarray:
    parts: np.ndarray = np.minimum((at / at.max() * n).astype(int), n - 1)
    return parts


def blocks_of(measured_s: float, batches: int) -> int:
    """
    Give the number of equal blocks: each a minute at least, and three of the layer's batches.

    >>> blocks_of(360.0, batches=30), blocks_of(360.0, batches=6), blocks_of(10.0, batches=0)
    (6, 2, 1)
    """
    return max(1, min(round(measured_s / BLOCK_S), batches // BATCHES_A_BLOCK))


def quantile(late_s: np.ndarray, q: float) -> float:
    """Give a quantile; a line that was never seen is later than any other."""
    late_s = np.where(np.isnan(late_s), np.inf, late_s)
    return float(np.quantile(late_s, q, method="inverted_cdf"))


def with_interval(late_s: np.ndarray, block: np.ndarray, q: float) -> list[float]:
    """
    Give a quantile and its 95 % interval, by Student over the blocks' own quantiles (logarithms).

    Resampling so few blocks would be an interval too narrow: six of them, drawn from a saw-tooth of
    batches that was simulated, held the true median 83 times of a hundred; these 95 times.
    """
    middle = quantile(late_s, q)
    of_blocks = [quantile(late_s[block == nth], q) for nth in range(block.max() + 1)]
    if len(of_blocks) < LEAST_BLOCKS or not np.isfinite([middle, *of_blocks]).all():
        return [middle, float("nan"), float("nan")]
    apart = np.log(of_blocks) - np.log(middle)
    spread = np.sqrt((apart**2).sum() / (len(apart) - 1) / len(apart))
    half = stats.t.ppf(0.975, len(apart) - 1) * spread
    return [middle, float(middle * np.exp(-half)), float(middle * np.exp(half))]


def with_range(late_s: np.ndarray, block: np.ndarray, q: float) -> list[float]:
    """
    Give a quantile, and the least and greatest of the blocks.

    Far out it hangs on the few longest batches; in the same simulation no interval for p99 held what it said.
    """
    of_blocks = [quantile(late_s[block == nth], q) for nth in range(block.max() + 1)]
    return [quantile(late_s, q), min(of_blocks), max(of_blocks)]


def behind(seen: Seen, visible_at: np.ndarray) -> list[float]:
    """
    Give the lines that are appended and not yet visible, the mean over each third of the measured time.

    Not at one instant: between two batches they grow by a whole batch.
    """
    appended, visible = np.sort(seen.appended_at), np.sort(visible_at[~np.isnan(visible_at)])
    instants = np.linspace(seen.measured_from, appended[-1], 3_000 * THIRDS)
    waiting = np.searchsorted(appended, instants, "right") - np.searchsorted(visible, instants, "right")
    return [float(part.mean()) for part in np.split(waiting, THIRDS)]
