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
    return f"""## Size

Bytes per line (megabytes per million lines), on real logs of three loaded brokers (`python -m benchmarks.sizes`).
*Young* means as committed every {TRIGGER_S} s at {LINES_PER_S:,} lines/s. *Merged* means after `plumbline maintain`. Kafka's bytes are of one
replica, compressed as the collector sends them. Logs of a lab are more repetitive than those of a cluster with many
clients; `--logs DIR` measures your own logs.

| log | raw | Kafka | bronze, young | bronze, merged | silver, young | silver, merged | lines measured |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_weighed(log, weight) for log, weight in measured.weights.items())}

Gold grows with time and with broker pairs, not with lines: at most {measured.window_bytes / 1_000:,.1f} kB per window of 10 s for three brokers, {measured.window_bytes * DAY_S / 10 / MILLION:,.0f} MB
per day. A short recording has few windows per file, which makes them larger.

A table with a commit every {TRIGGER_S} s also has a log, at any rate. With `plumbline maintain` once a day, the log has up to {ENTRIES:,}
entries and up to {CHECKPOINTS} checkpoints. A checkpoint names the {removed:,} files that merging removed within {maintain.vacuum_retention_hours} h and, on average,
{YOUNG:,} young ones.

| log of | entries, bytes each on disk | entries | a checkpoint | CPU-s for it | checkpoints | in all |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_logged(*pair) for pair in zip(("bronze", "silver"), measured.logs, strict=True))}

Size of request-log lines per day after merging, and the disk space for the defaults of `[maintain]`: bronze for {maintain.bronze_days} days,
silver for {maintain.silver_days}. Deleted days and merged young files stay for {maintain.vacuum_retention_hours // 24} more days, until VACUUM deletes them. The files of the current
day are not merged yet. The log is included. Young bytes per line are bytes on disk, for commits of the size that the rate
gives. They include whole blocks, the checksum of each file and the folder of each commit.

| lines/s | raw a day | Kafka a day | bronze a day | silver a day | young a line: bronze | silver | disk for bronze | disk for silver |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_sized(rate, measured, maintain) for rate in RATES)}

10,000 lines/s are {terabytes:.1f} TB of raw logs per day, which take {bronze:,.0f} GB in bronze.
"""


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
