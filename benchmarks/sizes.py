"""
What a million lines weigh in each layer: `python -m benchmarks.sizes` writes a part of docs/performance.md.

Real brokers under a produce load log into files; the collector publishes them, the ingest takes them in
batches as large as two seconds of the stated rate give, gold is built, and the files that the tables name
are added up: young, as committed, and once `plumbline maintain` has merged them.
"""

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from deltalake import DeltaTable

from conf.settings import PROJECT, Settings
from lab import cluster, load
from lab.layout import Lab
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.fields import Table
from schemas.gold import BROKER_RTT_CULPRIT, GOLD
from schemas.silver import CLIENT_EVENTS, REQUESTS

PAGE = PROJECT / "docs" / "performance.md"
BEGIN, END = "<!-- sizes: begin -->", "<!-- sizes: end -->"
TRIGGER_S, LINES_PER_S = 2, 2_000
RATES = (100, 1_000, 10_000)
DAY_S = 86_400
MILLION, GB, TB = 1e6, 1e9, 1e12
LOGS = {
    "request log": ("kafka-request.log*", "request-log", REQUEST_LOG, REQUESTS),
    "client log": ("network-client.log*", "client-log", CLIENT_LOG, CLIENT_EVENTS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Bytes per line of one log."""

    lines: int
    raw: float
    kafka: float
    bronze: tuple[float, float]  # young, merged
    silver: tuple[float, float]


def main(
    seconds: Annotated[float, typer.Option(min=10, help="How long the brokers are loaded.")] = 90,
    records_per_s: Annotated[float, typer.Option(min=1, help="Produce load.")] = 500,
    logs: Annotated[
        Path | None, typer.Option(help="A lab's logs recorded before, instead of new ones.")
    ] = None,
    first: Annotated[int, typer.Option(min=1_000, help="So many lines of each file.")] = 50_000,
    state: Annotated[Path, typer.Option(help="Folder for all of it.")] = PROJECT / ".state" / "sizes",
) -> None:
    """
    Measure and write the section.

    Example: `python -m benchmarks.sizes --seconds 90`
    """
    for made_before in ("warehouse", "checkpoints", "collector", "logs"):
        shutil.rmtree(state / made_before, ignore_errors=True)
    conf = state / "sizes.toml"
    lab = cluster.start(state / "lab", fresh=True, request_log=logs is None, client_log=logs is None)
    try:
        if logs is None:
            load.begin(lab, load.Load(records_per_s=records_per_s, duration_s=seconds)).wait()
        taken = _take(logs or lab.state / "logs", state / "logs", first)
        conf.write_text(_settings(state, taken))
        settings = Settings.load(lab.settings_file, conf)
        for words in (("collect", "--once"), ("ingest", "--once"), ("build-gold",)):
            _run(lab, conf, *words)
        kafka = {topic: _kafka_bytes(lab, topic) for _, topic, _, _ in LOGS.values()}
    finally:
        cluster.stop(lab.state)
    young = _table_bytes(settings)
    _run(lab, conf, "maintain")
    merged = _table_bytes(settings)
    weights = {log: _weight(state, settings, log, kafka, young, merged) for log in LOGS}
    window_bytes = _bytes_of(settings, *GOLD) / _rows(settings, BROKER_RTT_CULPRIT)
    write(section(weights, settings, window_bytes))


def section(weights: dict[str, Weight], settings: Settings, window_bytes: float) -> str:
    """Write the figures as Markdown."""
    told = settings.maintain
    request = weights["request log"]
    terabytes = 10_000 * DAY_S * request.raw / TB
    bronze = 10_000 * DAY_S * request.bronze[1] / GB
    return f"""## Size

Bytes a line, which is megabytes per million lines, on real logs of three loaded brokers
(`python -m benchmarks.sizes`). *Young* is as committed every {TRIGGER_S} s at {LINES_PER_S:,} lines/s,
*merged* is after `plumbline maintain`. Kafka's bytes are those of one replica, compressed as the
collector sends them. Logs of a lab repeat themselves more than those of a cluster with many clients;
`--logs DIR` weighs logs of your own.

| log | raw | Kafka | bronze, young | bronze, merged | silver, young | silver, merged | lines measured |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_weighed(log, weight) for log, weight in weights.items())}

Gold grows by time and by pairs of brokers, not by lines: at most {window_bytes / 1_000:,.1f} kB a window
of 10 s for three brokers, {window_bytes * DAY_S / 10 / MILLION:,.0f} MB a day; a short recording has few
windows to a file, which makes them dear.

What request-log lines take a day once merged, and the disk that `[maintain]`'s defaults want for them:
bronze for {told.bronze_days} days, silver for {told.silver_days}; what was deleted, and the young files
that were merged, stay for {told.vacuum_retention_hours // 24} days more, until VACUUM takes them.

| lines/s | raw a day | Kafka a day | bronze a day | silver a day | disk for bronze | disk for silver |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(_sized(rate, request, settings) for rate in RATES)}

10,000 lines/s are {terabytes:.1f} TB a day raw, of which {bronze:,.0f} GB remain in bronze.
"""


def _weighed(log: str, w: Weight) -> str:
    bytes_a_line = (w.raw, w.kafka, *w.bronze, *w.silver)
    return f"| {log} | " + " | ".join(f"{each:,.0f}" for each in bytes_a_line) + f" | {w.lines:,} |"


def write(text: str) -> None:
    """Put the section between its markers; what others wrote on the page stays."""
    page = PAGE.read_text() if PAGE.exists() else f"# Performance\n\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
    print(f"written: {PAGE}")


def _sized(rate: int, w: Weight, settings: Settings) -> str:
    lines, told = rate * DAY_S, settings.maintain
    waiting = told.vacuum_retention_hours / 24
    disk = [
        lines * (days * merged + waiting * (young + merged)) / GB
        for days, (young, merged) in ((told.bronze_days, w.bronze), (told.silver_days, w.silver))
    ]
    a_day = [lines * each / GB for each in (w.raw, w.kafka, w.bronze[1], w.silver[1])]
    return f"| {rate:,} | " + " | ".join(f"{gigabytes:,.1f} GB" for gigabytes in (*a_day, *disk)) + " |"


def _weight(
    state: Path,
    settings: Settings,
    log: str,
    kafka: dict[str, int],
    *tables: dict[Table, int],
) -> Weight:
    pattern, topic, bronze, silver = LOGS[log]
    lines = _rows(settings, bronze)
    raw = sum(path.stat().st_size for path in state.glob(f"logs/broker-*/{pattern}"))
    young, merged = tables
    return Weight(
        lines=lines,
        raw=raw / lines,
        kafka=kafka[topic] / lines,
        bronze=(young[bronze] / lines, merged[bronze] / lines),
        silver=(young[silver] / lines, merged[silver] / lines),
    )


def _take(logs: Path, into: Path, first: int) -> list[Path]:
    """Copy the first lines of every broker's logs, so that what is read is all there is."""
    taken = []
    for pattern, _, _, _ in LOGS.values():
        for path in sorted(logs.glob(f"broker-*/{pattern.removesuffix('*')}")):
            copy = into / path.parent.name / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as lines, copy.open("wb") as written:
                written.writelines(line for line in islice(lines, first) if line.endswith(b"\n"))
            taken.append(copy)
    return taken


def _settings(state: Path, logs: list[Path]) -> str:
    kinds = {pattern.removesuffix("*"): kind for pattern, kind, _, _ in LOGS.values()}
    files = "".join(
        f'[[collector.files]]\npath = "{path}"\nkind = "{kinds[path.name]}"\nnode = "{path.parent.name}"\n'
        for path in logs
    )
    return (
        f'[warehouse]\nroot = "{state / "warehouse"}"\ncheckpoints = "{state / "checkpoints"}"\n'
        f"[ingest]\nmax_offsets_per_trigger = {LINES_PER_S * TRIGGER_S}\n"
        f'[collector]\nstate = "{state / "collector"}"\n'
        f"{files}[maintain]\ncompact_from_files = 2\n"
    )


def _run(lab: Lab, conf: Path, *words: str) -> None:
    began = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "plumbline",
        *words,
        "--conf",
        str(lab.settings_file),
        "--conf",
        str(conf),
    ]
    subprocess.run(command, check=True, cwd=PROJECT)
    print(f"{words[0]}: {time.monotonic() - began:.0f} s", flush=True)


def _kafka_bytes(lab: Lab, topic: str) -> int:
    segments = lab.state.glob(f"telemetry/data/telemetry.{topic}-*/*.log")
    return sum(path.stat().st_size for path in segments)


def _table_bytes(settings: Settings) -> dict[Table, int]:
    return {table: _bytes_of(settings, table) for _, _, *of_log in LOGS.values() for table in of_log}


def _bytes_of(settings: Settings, *tables: Table) -> int:
    logs = (DeltaTable(str(settings.warehouse_root / table.layer / table.name)) for table in tables)
    return sum(sum(log.get_add_actions(flatten=True)["size_bytes"].to_pylist()) for log in logs)


def _rows(settings: Settings, table: Table) -> int:
    log = DeltaTable(str(settings.warehouse_root / table.layer / table.name))
    return sum(log.get_add_actions(flatten=True)["num_records"].to_pylist())


if __name__ == "__main__":
    typer.run(main)
