"""The section of bytes per sample in docs/performance.md; the rest of the page is other benchmarks'."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import pages
from benchmarks.metrics.blocks import InBlocks
from benchmarks.metrics.delta import InDelta
from conf.settings import PROJECT

PAGE = PROJECT / "docs" / "performance.md"
AIM, STRETCH = 0.5, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePair:
    """The same samples in both stores."""

    delta: InDelta
    blocks: InBlocks  # of two hours
    merged: InBlocks  # of a day


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """All that was measured; `scraped` with the instants of the scrapes, `on_time` as if none were late."""

    samples: int
    series: int
    pages: int
    nodes: int
    seconds: float
    page_bytes: int  # of the recording, gzip
    changing: float  # share of samples whose value is another than the one before
    scraped: StorePair
    on_time: StorePair

    @property
    def is_lossless(self) -> bool:
        """Whether every store returned every sample, bit for bit."""
        arms = (self.scraped, self.on_time)
        return all(each.is_lossless for arm in arms for each in (arm.delta, arm.blocks, arm.merged))

    @property
    def ratio(self) -> float:
        """Delta over the smaller blocks, with the scrapes' own instants."""
        return ratio(self.scraped)


def ratio(arm: StorePair) -> float:
    """Return the size of Delta's samples and series over that of the smaller blocks."""
    return (arm.delta.samples + arm.delta.series) / min(arm.blocks.total, arm.merged.total)


def section(w: Weighed) -> str:
    """Write the figures as Markdown."""
    same = "All are the same" if w.is_lossless else "NOT all are the same"
    target = "stretch target" if w.ratio <= STRETCH else "target"
    grade = f"the {target} is {'met' if w.ratio <= AIM else 'missed'}"
    rows = [
        _row(w, "Delta, samples", lambda arm: arm.delta.samples),
        _row(w, "Delta, series", lambda arm: arm.delta.series),
        _row(w, "Prometheus, blocks of 2 h: chunks", lambda arm: arm.blocks.chunks),
        _row(w, "Prometheus, blocks of 2 h: index", lambda arm: arm.blocks.index),
        _row(w, "Prometheus, blocks of 2 h, all", lambda arm: arm.blocks.total),
        _row(w, "Prometheus, one block of a day, all", lambda arm: arm.merged.total),
        _row(w, "for comparison: Delta before `maintain`", lambda arm: arm.delta.young),
        _row(w, "for comparison: Delta's log of the samples", lambda arm: arm.delta.log),
    ]
    figures = {"same": same, "target": target, "grade": grade, "rows": rows, "AIM": AIM, "STRETCH": STRETCH}
    return pages.render(
        "metrics", w=w, scraped_ratio=ratio(w.scraped), on_time_ratio=ratio(w.on_time), **figures
    )


def _row(w: Weighed, what: str, of: Callable[[StorePair], int]) -> str:
    return f"| {what} | {of(w.scraped) / w.samples:.3f} | {of(w.on_time) / w.samples:.3f} |"


def write(w: Weighed, page: Path) -> None:
    """Replace the section about metrics."""
    pages.write(page, {"metrics": section(w)})


def save(w: Weighed, path: Path) -> None:
    """Save the figures as JSON."""
    path.write_text(json.dumps(asdict(w), indent=2) + "\n")
