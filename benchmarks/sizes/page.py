"""The section of sizes in docs/performance.md; the rest of the page is another benchmark's."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks import pages
from benchmarks.sizes.log_weight import (
    CHECKPOINTS,
    DAY_S,
    ENTRIES,
    TRIGGER_S,
    YOUNG,
    LogWeight,
    removed_files,
)
from conf.settings import PROJECT, Maintain, Settings

PAGE = PROJECT / "docs" / "performance.md"
LINES_PER_S = 2_000
"""Of the one measurement of both logs, young and merged."""

RATES = (100, 1_000, 10_000)
MILLION, GB, TB = 1e6, 1e9, 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Bytes per line of one log."""

    lines: int
    raw: float
    kafka: float
    bronze: tuple[float, float]  # young, merged
    silver: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """All that was measured; pairs are of bronze and silver."""

    weights: dict[str, Weight]
    young_at: dict[int, tuple[float, float]]  # request-log lines at each rate, on the disk
    logs: tuple[LogWeight, LogWeight]
    window_bytes: float


def section(measured: Sizes, settings: Settings) -> str:
    """Write the figures as Markdown."""
    maintain = settings.maintain
    request = measured.weights["request log"]
    terabytes = 10_000 * DAY_S * request.raw / TB
    bronze = 10_000 * DAY_S * request.bronze[1] / GB
    removed = removed_files(maintain.vacuum_retention_hours)
    return pages.render(
        "sizes",
        measured=measured,
        maintain=maintain,
        terabytes=terabytes,
        bronze=bronze,
        removed=removed,
        weighed=[_weighed(log, weight) for log, weight in measured.weights.items()],
        logged=[_logged(*pair) for pair in zip(("bronze", "silver"), measured.logs, strict=True)],
        sized=[_sized(rate, measured, maintain) for rate in RATES],
        CHECKPOINTS=CHECKPOINTS,
        DAY_S=DAY_S,
        ENTRIES=ENTRIES,
        LINES_PER_S=LINES_PER_S,
        TRIGGER_S=TRIGGER_S,
        YOUNG=YOUNG,
    )


def _weighed(log: str, w: Weight) -> str:
    bytes_a_line = (w.raw, w.kafka, *w.bronze, *w.silver)
    return f"| {log} | " + " | ".join(f"{each:,.0f}" for each in bytes_a_line) + f" | {w.lines:,} |"


def _logged(layer: str, log: LogWeight) -> str:
    megabytes = (log.entry * ENTRIES / MILLION, log.checkpoint / MILLION)
    entries, checkpoint = (f"{each:,.0f} MB" for each in megabytes)
    return (
        f"| {layer} | {log.entry:,.0f} | {entries} | {checkpoint} | {log.checkpoint_cpu_s:.1f} | "
        f"{CHECKPOINTS} x {checkpoint} | {log.bytes / MILLION:,.0f} MB |"
    )


def write(measured: Sizes, settings: Settings, page: Path) -> None:
    """Replace the section about sizes."""
    pages.write(page, {"sizes": section(measured, settings)})


def _sized(rate: int, measured: Sizes, maintain: Maintain) -> str:
    lines, waiting = rate * DAY_S, maintain.vacuum_retention_hours / 24
    w, young = measured.weights["request log"], measured.young_at[rate]
    disk = [
        (lines * ((days + waiting) * merged + (1 + waiting) * of_young) + log.bytes) / GB
        for days, (_, merged), of_young, log in zip(
            (maintain.bronze_days, maintain.silver_days),
            (w.bronze, w.silver),
            young,
            measured.logs,
            strict=True,
        )
    ]
    a_day, in_all = (
        " | ".join(f"{gigabytes:,.1f} GB" for gigabytes in of)
        for of in ([lines * each / GB for each in (w.raw, w.kafka, w.bronze[1], w.silver[1])], disk)
    )
    return f"| {rate:,} | {a_day} | {young[0]:,.0f} | {young[1]:,.0f} | {in_all} |"
