"""
A million mutated real lines, through Kafka into bronze and silver.

The producer keeps a ledger: the digest of each record, and whether the record must not be skipped.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from benchmarks.faults.oracles import where
from benchmarks.faults.site import PARTITIONS, JobsWarehouse, Site
from conf.names import Header
from conf.settings import PROJECT
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.fields import Table
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.harms import HARMS, documented_reasons
from tests.transforms.parse.records import CLIENT_LINES, REQUEST_LINES, TEXTS
from transforms.parse import client_events
from transforms.parse.requests import documents

REASONS = PROJECT / "docs" / "quarantine.md"
FILES = (REASONS,)
"""Each reason of the quarantine must be documented there."""

LINES, BATCH = 1_000_000, 50_000
STALLED = 10
"""A batch has stalled if it takes this many times the median; seconds would depend on the machine."""

ENDS_WITHIN_S = 3_600
CLIENT_SHARE = 0.2
MARKS = {"request-log": documents.MARK.encode(), "client-log": client_events.MARK.encode()}
WELLS = {"request-log": [*REQUEST_LINES.values(), *TEXTS], "client-log": CLIENT_LINES}
LAYERS: dict[str, tuple[Table, Table]] = {
    "request-log": (REQUEST_LOG, REQUESTS),
    "client-log": (CLIENT_LOG, CLIENT_EVENTS),
}


@dataclass(slots=True)
class Sent:
    """The acknowledged records of one partition, by offset: their digests, and whether each has the mark."""

    digests: list[bytes] = field(default_factory=list)
    is_marked: list[bool] = field(default_factory=list)


Ledger = dict[tuple[str, int], Sent]
Counts = np.ndarray[tuple[int], np.dtype[np.int8]]


def million_mutated_lines(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Publish a million mutated lines; return what was lost, doubled, changed, skipped or stalled."""
    return passed(bootstrap_servers, folder, dice, lines=LINES)


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    "million-mutated-lines": million_mutated_lines
}


def passed(bootstrap_servers: str, folder: Path, dice: random.Random, *, lines: int) -> list[str]:
    """Run the fault with `lines` lines, and write the figures to `mutations.json`."""
    site = Site(bootstrap_servers, folder)
    started_s = time.monotonic()
    ledger = publish(site, dice, lines)
    published_s = time.monotonic() - started_s
    written = site.warehouse("mutated", batch=BATCH)
    started_s = time.monotonic()
    code, said = ingested(written)
    ingested_s = time.monotonic() - started_s
    figures = {
        "lines": lines,
        "publish_s": round(published_s, 1),
        "ingest_s": round(ingested_s, 1),
        "lines_per_s": round(lines / ingested_s),
    }
    wrong = [] if code == 0 else [f"the ingest ended with {code}: {said[-300:]}"]
    wrong += stalled(batch_seconds(Path(written.settings.warehouse.checkpoints)), figures)
    for kind in LAYERS:
        wrong += unaccounted(written.root, kind, ledger, figures)
    (folder / "mutations.json").write_text(json.dumps(figures, indent=1))
    return wrong


def stalled(batches_s: list[float], figures: dict[str, float]) -> list[str]:
    """Return a failure if a batch took much longer than the median; add the durations to the figures."""
    slowest_s, usual_s = max(batches_s, default=0.0), median(batches_s or [0.0])
    figures |= {"batches": len(batches_s), "slowest_batch_s": round(slowest_s, 1)}
    figures["median_batch_s"] = round(usual_s, 1)
    if slowest_s <= STALLED * usual_s:
        return []
    return [f"a batch of {BATCH} lines took {slowest_s:.0f} s; the median batch took {usual_s:.0f} s"]


def spoiled(dice: random.Random, lines: int) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the bytes of `lines` mutated lines."""
    for _ in range(lines):
        kind = "client-log" if dice.random() < CLIENT_SHARE else "request-log"
        well = WELLS[kind]
        line, other = dice.choice(well), dice.choice(well)
        yield kind, dice.choice(HARMS)(line, other, dice)


def publish(site: Site, dice: random.Random, lines: int) -> Ledger:
    """
    Publish the lines in order per partition, and return the ledger.

    The producer is idempotent, so record n of a partition is at offset n; each acknowledgement is checked.
    """
    ledger: Ledger = {(kind, partition): Sent() for kind in LAYERS for partition in range(PARTITIONS)}
    acked = dict.fromkeys(ledger, 0)

    def delivered(error: object, message: object) -> None:
        assert error is None, error
        place = (message.topic().removeprefix(site._prefix), message.partition())
        assert message.offset() == acked[place], place
        acked[place] += 1

    for number, (kind, value) in enumerate(spoiled(dice, lines)):
        place = (kind, number % PARTITIONS)
        headers = {Header.NODE: "broker-1", Header.KIND: kind, Header.CLUSTER: "made"}
        pairs = [*((h.value, text) for h, text in headers.items()), (Header.POSITION.value, f"made/{number}")]
        while True:
            try:
                site._producer.produce(
                    site._prefix + kind, value, partition=place[1], headers=pairs, on_delivery=delivered
                )
                break
            except BufferError:
                site._producer.poll(0.1)
        ledger[place].digests.append(digest(value))
        ledger[place].is_marked.append(MARKS[kind] in value)
        site._producer.poll(0)
    assert site._producer.flush(120) == 0
    assert acked == {place: len(sent.digests) for place, sent in ledger.items()}
    return ledger


def digest(value: bytes) -> bytes:
    """Return a 12-byte digest of a line."""
    return blake2b(value, digest_size=12).digest()


def ingested(written: JobsWarehouse) -> tuple[int, str]:
    """Run the ingest once; return its exit code and its error output."""
    command = [sys.executable, "-m", "plumbline", "ingest", "--once", "--conf", str(written.conf)]
    done = subprocess.run(  # noqa: PLW1510 (the caller checks the exit code)
        command, cwd=PROJECT, stderr=subprocess.PIPE, text=True, timeout=ENDS_WITHIN_S
    )
    return done.returncode, done.stderr


def batch_seconds(checkpoints: Path) -> list[float]:
    """
    Return the duration of each batch, from its entry in the offset log to its entry in the commit log.

    The first batch of each query is left out, since it also compiles the plan.
    """
    took = []
    for commit in checkpoints.glob("*/commits/[1-9]*"):
        offsets = commit.parents[1] / "offsets" / commit.name
        took.append(commit.stat().st_mtime - offsets.stat().st_mtime)
    return took


def unaccounted(root: Path, kind: str, ledger: Ledger, figures: dict[str, float]) -> list[str]:
    """Compare bronze and silver of one log with the ledger: each offset has one row and one outcome."""
    bronze, silver = LAYERS[kind]
    sent = {partition: ledger[kind, partition] for partition in range(PARTITIONS)}
    seen, outcomes = _zeros(sent), _zeros(sent)
    reasons: set[str] = set()
    wrong = _compared(batches(root, bronze, "value"), sent, seen, f"bronze {kind}")
    missing, more = (sum(int(test.sum()) for test in tests) for tests in _once_each(seen))
    wrong += [f"bronze {kind}: {missing} lost, {more} doubled"] if missing or more else []
    wrong += _compared(_quarantined(root, kind, reasons), sent, outcomes, f"quarantine of {kind}")
    unknown = reasons - documented_reasons(REASONS)
    wrong += [f"{kind}: reasons missing in docs/quarantine.md: {unknown}"] if unknown else []
    figures[f"{kind} quarantined"] = sum(int(n.sum()) for n in outcomes.values())
    figures[f"{kind} kept"] = _count_kept(batches(root, silver), outcomes)
    figures[f"{kind} skipped"] = skipped = _skipped_lines(root, kind)
    figures[f"{kind} reasons"] = len(reasons)
    return wrong + _misjudged(kind, sent, outcomes, skipped)


def _zeros(sent: dict[int, Sent]) -> dict[int, Counts]:
    return {partition: np.zeros(len(one.digests), dtype=np.int8) for partition, one in sent.items()}


def _once_each(seen: dict[int, Counts]) -> tuple[list[Counts], list[Counts]]:
    return [n == 0 for n in seen.values()], [n > 1 for n in seen.values()]


def _quarantined(root: Path, kind: str, reasons: set[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches(root, QUARANTINE, "value", "kind", "reason"):
        rows = batch.filter(pc.equal(batch["kind"], kind))
        reasons.update(rows["reason"].unique().to_pylist())
        yield rows


def _count_kept(rows: Iterator[pa.RecordBatch], outcomes: dict[int, Counts]) -> int:
    kept = 0
    for batch in rows:
        kept += batch.num_rows
        for place in batch.to_pylist():
            outcomes[place["partition"]][place["offset"]] += 1
    return kept


def _skipped_lines(root: Path, kind: str) -> int:
    rows = (
        row for batch in batches(root, SKIPPED, "kind", "lines", places=False) for row in batch.to_pylist()
    )
    return sum(row["lines"] for row in rows if row["kind"] == kind)


def _misjudged(kind: str, sent: dict[int, Sent], outcomes: dict[int, Counts], skipped: int) -> list[str]:
    twice = sum(int((n > 1).sum()) for n in outcomes.values())
    neither = sum(int((n == 0).sum()) for n in outcomes.values())
    hidden = sum(int(((n == 0) & np.array(sent[p].is_marked, dtype=bool)).sum()) for p, n in outcomes.items())
    return [
        *([f"{kind}: {twice} lines twice in silver"] if twice else []),
        *([f"{kind}: {neither} lines without outcome, {skipped} skipped"] if neither != skipped else []),
        *([f"{kind}: {hidden} lines with the mark were skipped"] if hidden else []),
    ]


def _compared(
    rows: Iterator[pa.RecordBatch], sent: dict[int, Sent], seen: dict[int, Counts], name: str
) -> list[str]:
    """Count each offset, and compare its bytes with the ledger's digest."""
    changed = 0
    for batch in rows:
        columns = (batch[column].to_pylist() for column in ("partition", "offset", "value"))
        for partition, offset, value in zip(*columns, strict=True):
            seen[partition][offset] += 1
            changed += digest(value) != sent[partition].digests[offset]
    return [f"{name}: {changed} rows with other bytes"] if changed else []


def batches(root: Path, table: Table, *columns: str, places: bool = True) -> Iterator[pa.RecordBatch]:
    """Return columns of a table in batches, with delta-rs; a million values at once need too much memory."""
    wanted = [*(("partition", "offset") if places else ()), *columns]
    return (
        DeltaTable(str(where(root, table))).to_pyarrow_dataset().to_batches(columns=wanted, batch_size=5_000)
    )
