"""
What a million lines weigh in each layer: `python -m benchmarks.sizes` writes a part of docs/performance.md.

Real brokers under a produce load log into files; the collector publishes them, the ingest takes them in
batches as large as two seconds of the stated rate give, gold is built, and the files that the tables name
are added up: young, as committed, and once `plumbline maintain` has merged them. Young files are weighed for
each rate once more, by what they take of the disk; the tables' logs too.
"""

import shutil
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from deltalake import DeltaTable

from benchmarks.pipeline.arms.lines import Topics
from benchmarks.sizes.log_weight import TRIGGER_S, disk_bytes, log_weight, removed_files
from benchmarks.sizes.page import LINES_PER_S, PAGE, RATES, Sizes, Weight, write
from conf.settings import PROJECT, Settings
from engine.delta.tables import exists
from lab import cluster, load
from lab.layout import Lab
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS

COMMITS = 40
"""Enough of them to weigh young files by."""

LOGS = {
    "request log": ("kafka-request.log*", "request-log", REQUEST_LOG, REQUESTS),
    "client log": ("network-client.log*", "client-log", CLIENT_LOG, CLIENT_EVENTS),
}


def main(  # noqa: PLR0913, PLR0917 (the switches of a benchmark, each by name)
    seconds: Annotated[float, typer.Option(min=10, help="How long the brokers are loaded.")] = 90,
    records_per_s: Annotated[float, typer.Option(min=1, help="Produce load.")] = 500,
    logs: Annotated[
        Path | None, typer.Option(help="A lab's logs recorded before, instead of new ones.")
    ] = None,
    first: Annotated[int, typer.Option(min=1_000, help="Lines of each file to use.")] = 50_000,
    state: Annotated[Path, typer.Option(help="Folder for all of it.")] = PROJECT / ".state" / "sizes",
    page: Annotated[Path, typer.Option(help="The page to write.")] = PAGE,
) -> None:
    """
    Measure and write the section.

    Example: `python -m benchmarks.sizes --seconds 90`
    """
    for made_before in ("warehouse", "checkpoints", "collector", "logs", *(f"at-{rate}" for rate in RATES)):
        shutil.rmtree(state / made_before, ignore_errors=True)
    lab = cluster.start(state / "lab", fresh=True, request_log=logs is None, client_log=logs is None)
    try:
        if logs is None:
            load.begin(lab, load.Load(records_per_s=records_per_s, duration_s=seconds)).wait()
        from_logs = logs or lab.state / "logs"
        taken = _take(from_logs, state / "logs", first)
        conf = _settings(state, taken, LINES_PER_S)
        settings = Settings.load(lab.settings_file, conf)
        for words in (("collect", "--once"), ("ingest", "--once"), ("build-gold",)):
            _run(lab, conf, *words)
        kafka = {topic: _kafka_bytes(lab, topic) for _, topic, _, _ in LOGS.values()}
        young_at = {rate: _young_at(lab, from_logs, state / f"at-{rate}", rate) for rate in RATES}
    finally:
        cluster.stop(lab.state)
    young = _table_bytes(settings)
    _run(lab, conf, "maintain")
    merged = _table_bytes(settings)
    removed = removed_files(settings.maintain.vacuum_retention_hours)
    measured = Sizes(
        weights={log: _weight(state, settings, log, kafka, young, merged) for log in LOGS},
        young_at=young_at,
        logs=(
            log_weight(_where(settings, REQUEST_LOG), state / "checkpoint", removed=removed),
            log_weight(_where(settings, REQUESTS), state / "checkpoint", removed=removed),
        ),
        window_bytes=_bytes_of(settings, *GOLD) / _rows(settings, BROKER_RTT_CULPRIT),
    )
    write(measured, settings, page)


def _young_at(lab: Lab, logs: Path, folder: Path, rate: int) -> tuple[float, float]:
    """Return the bytes on disk of a request-log line that arrives at that rate: in bronze, in silver."""
    pattern, _, bronze, silver = LOGS["request log"]
    brokers = len(list(logs.glob(f"broker-*/{pattern.removesuffix('*')}")))
    first = -(-COMMITS * rate * TRIGGER_S // brokers)
    taken = [path for path in _take(logs, folder / "logs", first) if path.match(pattern)]
    prefix = f"sizes-{rate}."
    Topics(lab, prefix)
    conf = _settings(folder, taken, rate, prefix)
    for word in ("collect", "ingest"):
        _run(lab, conf, word, "--once")
    settings = Settings.load(lab.settings_file, conf)
    in_bronze, in_silver = (
        _data_bytes(settings, table) / _rows(settings, table) for table in (bronze, silver)
    )
    return in_bronze, in_silver


def _data_bytes(settings: Settings, table: Table) -> int:
    """Add up all that a table's folder holds besides the log."""
    files = _where(settings, table).rglob("*")
    return disk_bytes(*(file for file in files if "_delta_log" not in file.parts))


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


def _settings(state: Path, logs: list[Path], rate: int, prefix: str = "") -> Path:
    kinds = {pattern.removesuffix("*"): kind for pattern, kind, _, _ in LOGS.values()}
    # By these names nodes share out over both partitions; `broker-1` to `broker-3` all fall to one.
    nodes = {path: path.parent.name.replace("broker", "kafka") for path in logs}
    files = "".join(
        f'[[collector.files]]\npath = "{path}"\nkind = "{kinds[path.name]}"\nnode = "{node}"\n'
        for path, node in nodes.items()
    )
    conf = state / "sizes.toml"
    conf.write_text(
        (f'telemetry.topic_prefix = "{prefix}"\n' if prefix else "")
        + f'[warehouse]\nroot = "{state / "warehouse"}"\ncheckpoints = "{state / "checkpoints"}"\n'
        f"[ingest]\nmax_offsets_per_trigger = {rate * TRIGGER_S}\n"
        f'[collector]\ncluster = "lab"\nstate = "{state / "collector"}"\n'
        f"{files}[maintain]\ncompact_from_files = 2\n"
    )
    return conf


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


def _where(settings: Settings, table: Table) -> Path:
    return settings.warehouse_root / table.layer / table.name


def _bytes_of(settings: Settings, *tables: Table) -> int:
    written = (table for table in tables if exists(settings.warehouse_root, table))
    logs = (DeltaTable(str(_where(settings, table))) for table in written)
    return sum(sum(log.get_add_actions(flatten=True)["size_bytes"].to_pylist()) for log in logs)


def _rows(settings: Settings, table: Table) -> int:
    log = DeltaTable(str(_where(settings, table)))
    return sum(log.get_add_actions(flatten=True)["num_records"].to_pylist())


if __name__ == "__main__":
    typer.run(main)
