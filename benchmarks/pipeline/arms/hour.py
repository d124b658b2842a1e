"""
Measure the memory of build-gold when it takes in an hour of silver at once: by the stream, or a back-fill.

Gold is computed in Python and DuckDB, so the heap of the JVM does not bound its memory. Each build is a
process of its own, as shipped; its garbage collector writes a log, which shows the use of the heap.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks.pipeline.arms import product
from benchmarks.pipeline.arms.lines import NodeLine, Topics, of_span, requests_in
from benchmarks.pipeline.counts import check, column, rows_of
from benchmarks.pipeline.measure import tree
from benchmarks.pipeline.programs import PLUMBLINE
from benchmarks.pipeline.usage import Processes, Usage
from conf.settings import PROJECT, Settings
from engine.delta import tables
from engine.gold.stream import STREAM
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS

PER_S = 2_000.0
TURN_S, MEMORY_EVERY_S = 0.2, 1.0

SHIPPED, ONE_BATCH, BACK_FILL = "stream", "stream in one batch", "back-fill"
ALL_AT_ONCE = '[build_gold]\nmax_files_per_trigger = 1000000\nmax_bytes_per_trigger = "1t"\n'
COLLECTED = re.compile(r"(\d+)M->(\d+)M\(")


def make_silver(conf: Path, topics: Topics, recorded: list[NodeLine], n: int, since: datetime) -> None:
    """
    Fill silver with `n` lines from an instant on.

    Raises:
        CalledProcessError: the ingest failed; its log is next to `conf`.
        ValueError: silver lacks lines.

    """
    topics.publish(of_span(recorded, PER_S, n, since))
    with (conf.parent / "ingest.log").open("w") as log:
        command = [*PLUMBLINE, "ingest", "--once", "--conf", str(conf)]
        subprocess.run(command, cwd=PROJECT, stderr=log, stdout=log, check=True)
    silver = rows_of(Path(tables.path(Settings.load(conf).warehouse_root, REQUESTS)))
    check("ingest", {"silver": (silver, requests_in(recorded, n))})


def builds(conf: Path, n: int, since: datetime) -> list[dict[str, object]]:
    """Build gold of `n` lines in each way; the back-fill replaces the gold of the stream before it."""
    settings, at_once = Settings.load(conf), conf.parent / "at-once.toml"
    at_once.write_text(ALL_AT_ONCE)
    found, fetches = list[dict[str, object]](), 0
    ways = {
        SHIPPED: (),
        ONE_BATCH: ("--conf", str(at_once)),
        BACK_FILL: ("--since", since.isoformat()),
    }
    for way, options in ways.items():
        if way != BACK_FILL:
            shutil.rmtree(settings.warehouse_root / FETCH_LATENCY.layer, ignore_errors=True)
            shutil.rmtree(STREAM.checkpoint(settings), ignore_errors=True)
        figures = _built(conf, way, options)
        if not figures["exit_code"]:
            lines, summed = _sums(settings.warehouse_root)
            fetches = fetches or summed
            check(way, {"lines in data_quality": (lines, n), "fetches in windows": (summed, fetches)})
        found.append(figures | {"batches": 0 if way == BACK_FILL else product.gold_batches(settings)})
        print(json.dumps(found[-1]), flush=True)
    return found


def _built(conf: Path, way: str, options: tuple[str, ...]) -> dict[str, Any]:
    """Run `plumbline build-gold` to its end; return its duration and its largest use of memory."""
    folder = conf.parent / way.replace(" ", "-")
    folder.mkdir(exist_ok=True)
    java = os.environ | {"JAVA_TOOL_OPTIONS": f"-Xlog:gc:file={folder}/gc-%p.log"}
    began = time.time()
    with (folder / "log.txt").open("w") as log:
        command = [*PLUMBLINE, "build-gold", "--conf", str(conf), *options]
        process = psutil.Popen(command, cwd=PROJECT, env=java, stderr=log, stdout=log)
    usage = Usage(_programs(process.pid), memory_every_s=MEMORY_EVERY_S)
    while process.poll() is None:
        usage.look()
        time.sleep(TURN_S)
    ended = time.time()
    used = usage.between(began, ended)
    return {
        "way": way,
        "exit_code": process.returncode,
        "wall_s": round(ended - began, 1),
        "memory_is": usage.memory_is,
        "samples": used["all"]["samples"],
        **{f"{name}_gb": figures["peak_gb"] for name, figures in used.items()},
        **heap_gb("".join(file.read_text() for file in folder.glob("gc-*.log"))),
    }


def _programs(pid: int) -> Mapping[str, Processes]:
    """Return the processes of a job: all, those of the JVM, and those of Python."""
    processes = partial(tree, psutil.Process(pid))
    return {
        "all": processes,
        "jvm": lambda: [process for process in processes() if _is_java(process)],
        "python": lambda: [process for process in processes() if not _is_java(process)],
    }


def _is_java(process: psutil.Process) -> bool:
    try:
        return bool(process.name() == "java")
    except psutil.NoSuchProcess:
        return False


def heap_gb(log: str) -> dict[str, float]:
    """
    Return the most heap in use before and after a collection, from the log of the garbage collector.

    >>> heap_gb("[9.1s][info][gc] GC(3) Pause Young (Allocation Failure) 204M->60M(600M) 12.3ms")
    {'heap_used_gb': 0.214, 'heap_left_gb': 0.063}
    """
    collections = [(int(used), int(left)) for used, left in COLLECTED.findall(log)] or [(0, 0)]
    used, left = (round(max(mib) * 2**20 / 1e9, 3) for mib in zip(*collections, strict=True))
    return {"heap_used_gb": used, "heap_left_gb": left}


def _sums(warehouse: Path) -> tuple[int, int]:
    """Return the lines that gold accounts for, and the fetches in its windows."""
    quality, fetches = (Path(tables.path(warehouse, table)) for table in (DATA_QUALITY, FETCH_LATENCY))
    lines = sum(sum(column(quality, name)) for name in ("kept", "quarantined", "skipped"))
    return lines, sum(column(fetches, "n"))
