"""The section of sizes in docs/performance.md; the rest of the page is another benchmark's."""

from dataclasses import dataclass
from pathlib import Path

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
BEGIN, END = "<!-- sizes: begin -->", "<!-- sizes: end -->"
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
    told = settings.maintain
    request = measured.weights["request log"]
    terabytes = 10_000 * DAY_S * request.raw / TB
    bronze = 10_000 * DAY_S * request.bronze[1] / GB
    removed = removed_files(told.vacuum_retention_hours)
    return f"""## Size

Bytes a line, which is megabytes per million lines, on real logs of three loaded brokers
(`python -m benchmarks.sizes`). *Young* is as committed every {TRIGGER_S} s at {LINES_PER_S:,} lines/s,
*merged* is after `plumbline maintain`. Kafka's bytes are those of one replica, compressed as the
collector sends them. Logs of a lab repeat themselves more than those of a cluster with many clients;
`--logs DIR` weighs logs of your own.

| log | raw | Kafka | bronze, young | bronze, merged | silver, young | silver, merged | lines measured |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_weighed(log, weight) for log, weight in measured.weights.items())}

Gold grows by time and by pairs of brokers, not by lines: at most {measured.window_bytes / 1_000:,.1f} kB a window
of 10 s for three brokers, {measured.window_bytes * DAY_S / 10 / MILLION:,.0f} MB a day; a short recording has few
windows to a file, which makes them dear.

A table that is committed to every {TRIGGER_S} s has a log besides, whatever the rate. `plumbline maintain`, once a day,
lets it hold up to {ENTRIES:,} entries, and up to {CHECKPOINTS} checkpoints stay. A checkpoint names the {removed:,} files
that merging removed within {told.vacuum_retention_hours} h and, on average, {YOUNG:,} young ones.

| log of | entries, bytes each on disk | entries | a checkpoint | CPU-s for it | checkpoints | in all |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_logged(*pair) for pair in zip(("bronze", "silver"), measured.logs, strict=True))}

What request-log lines take a day once merged, and the disk that `[maintain]`'s defaults want for them:
bronze for {told.bronze_days} days, silver for {told.silver_days}; what was deleted, and the young files
that were merged, stay for {told.vacuum_retention_hours // 24} days more, until VACUUM takes them; those of the running
day are not merged yet; and the log. Young bytes a line are those on the disk, of commits as large as the rate makes them:
whole blocks, and each file's checksum and each commit's folders too.

| lines/s | raw a day | Kafka a day | bronze a day | silver a day | young a line: bronze | silver | disk for bronze | disk for silver |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_sized(rate, measured, told) for rate in RATES)}

10,000 lines/s are {terabytes:.1f} TB a day raw, of which {bronze:,.0f} GB remain in bronze.
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
    """Put the section between its markers; what others wrote on the page stays."""
    text = section(measured, settings)
    old = page.read_text() if page.exists() else f"# Performance\n\n{BEGIN}\n{END}\n"
    before, rest = old.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
    print(f"written: {page}")


def _sized(rate: int, measured: Sizes, told: Maintain) -> str:
    lines, waiting = rate * DAY_S, told.vacuum_retention_hours / 24
    w, young = measured.weights["request log"], measured.young_at[rate]
    disk = [
        (lines * ((days + waiting) * merged + (1 + waiting) * of_young) + log.bytes) / GB
        for days, (_, merged), of_young, log in zip(
            (told.bronze_days, told.silver_days), (w.bronze, w.silver), young, measured.logs, strict=True
        )
    ]
    a_day, in_all = (
        " | ".join(f"{gigabytes:,.1f} GB" for gigabytes in of)
        for of in ([lines * each / GB for each in (w.raw, w.kafka, w.bronze[1], w.silver[1])], disk)
    )
    return f"| {rate:,} | {a_day} | {young[0]:,.0f} | {young[1]:,.0f} | {in_all} |"
