"""
Real lines spoiled in every way we know, a million of them, through Kafka into bronze and silver.

The ledger is kept beside the producer: of each record its digest, and whether it may not be skipped.
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

from conf.names import Header
from conf.settings import PROJECT
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.fields import Table
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED
from tests.faults.oracles import where
from tests.faults.site import PARTITIONS, Site, Written
from tests.transforms.parse.harms import HARMS, documented_reasons
from tests.transforms.parse.records import CLIENT_LINES, REQUEST_LINES, TEXTS
from transforms.parse import client_events
from transforms.parse.requests import documents

LINES, BATCH = 1_000_000, 50_000
STALLED = 10
"""A batch that takes so many times what half of them take has stalled; seconds are the machine's affair."""

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
    """What was acknowledged of one partition, by offset: digests, and which have the mark."""

    digests: list[bytes] = field(default_factory=list)
    is_marked: list[bool] = field(default_factory=list)


Ledger = dict[tuple[str, int], Sent]
Counts = np.ndarray[tuple[int], np.dtype[np.int8]]


def million_mutated_lines(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Publish a million spoiled lines and tell what was lost, doubled, changed, skipped or stalled."""
    return passed(bootstrap_servers, folder, dice, lines=LINES)


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    "million-mutated-lines": million_mutated_lines
}


def passed(bootstrap_servers: str, folder: Path, dice: random.Random, *, lines: int) -> list[str]:
    """Do it with so many lines; the figures are left in `mutations.json`."""
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
    """Tell of a batch that took much longer than the others; note how long they took."""
    slowest_s, usual_s = max(batches_s, default=0.0), median(batches_s or [0.0])
    figures |= {"batches": len(batches_s), "slowest_batch_s": round(slowest_s, 1)}
    figures["median_batch_s"] = round(usual_s, 1)
    if slowest_s <= STALLED * usual_s:
        return []
    return [f"a batch of {BATCH} lines took {slowest_s:.0f} s, half of them {usual_s:.0f} s or less"]


def spoiled(dice: random.Random, lines: int) -> Iterator[tuple[str, bytes]]:
    """Give (kind, line) so many times."""
    for _ in range(lines):
        kind = "client-log" if dice.random() < CLIENT_SHARE else "request-log"
        well = WELLS[kind]
        line, other = dice.choice(well), dice.choice(well)
        yield kind, dice.choice(HARMS)(line, other, dice)


def publish(site: Site, dice: random.Random, lines: int) -> Ledger:
    """
    Publish the lines, each partition in order: the producer is idempotent, so the nth is at offset n.

    Every acknowledgement is held against that.
    """
    ledger: Ledger = {(kind, partition): Sent() for kind in LAYERS for partition in range(PARTITIONS)}
    acked = dict.fromkeys(ledger, 0)

    def delivered(error: object, message: object) -> None:
        assert error is None, error
        place = (message.topic().removeprefix(site._prefix), message.partition())
        assert message.offset() == acked[place], place
        acked[place] += 1

    for nth, (kind, value) in enumerate(spoiled(dice, lines)):
        place = (kind, nth % PARTITIONS)
        headers = {Header.NODE: "broker-1", Header.KIND: kind, Header.CLUSTER: "made"}
        told = [*((h.value, text) for h, text in headers.items()), (Header.POSITION.value, f"made/{nth}")]
        while True:
            try:
                site._producer.produce(
                    site._prefix + kind, value, partition=place[1], headers=told, on_delivery=delivered
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
    """Tell lines apart, in 12 bytes."""
    return blake2b(value, digest_size=12).digest()


def ingested(written: Written) -> tuple[int, str]:
    """Take what is there, however long it is; give exit code and what was said."""
    command = [sys.executable, "-m", "plumbline", "ingest", "--once", "--conf", str(written.conf)]
    done = subprocess.run(  # noqa: PLW1510 (the exit code is what is asked for)
        command, cwd=PROJECT, stderr=subprocess.PIPE, text=True, timeout=ENDS_WITHIN_S
    )
    return done.returncode, done.stderr


def batch_seconds(checkpoints: Path) -> list[float]:
    """
    Give how long each batch took: from its entry in the offset log to that in the commit log.

    The first of each query is left out: it compiles what the others run.
    """
    took = []
    for commit in checkpoints.glob("*/commits/[1-9]*"):
        offsets = commit.parents[1] / "offsets" / commit.name
        took.append(commit.stat().st_mtime - offsets.stat().st_mtime)
    return took


def unaccounted(root: Path, kind: str, ledger: Ledger, figures: dict[str, float]) -> list[str]:
    """Hold bronze and silver of one log against the ledger: every offset once, in one of three ways."""
    bronze, silver = LAYERS[kind]
    sent = {partition: ledger[kind, partition] for partition in range(PARTITIONS)}
    seen, told = _nothing(sent), _nothing(sent)
    reasons: set[str] = set()
    wrong = _compared(batches(root, bronze, "value"), sent, seen, f"bronze {kind}")
    missing, more = (sum(int(test.sum()) for test in tests) for tests in _once_each(seen))
    wrong += [f"bronze {kind}: {missing} lost, {more} doubled"] if missing or more else []
    wrong += _compared(_quarantined(root, kind, reasons), sent, told, f"quarantine of {kind}")
    unknown = reasons - documented_reasons(PROJECT / "docs" / "quarantine.md")
    wrong += [f"{kind}: reasons that no page explains: {unknown}"] if unknown else []
    figures[f"{kind} quarantined"] = sum(int(n.sum()) for n in told.values())
    figures[f"{kind} kept"] = _placed(batches(root, silver), told)
    figures[f"{kind} skipped"] = skipped = _skipped_lines(root, kind)
    figures[f"{kind} reasons"] = len(reasons)
    return wrong + _misjudged(kind, sent, told, skipped)


def _nothing(sent: dict[int, Sent]) -> dict[int, Counts]:
    return {partition: np.zeros(len(of.digests), dtype=np.int8) for partition, of in sent.items()}


def _once_each(seen: dict[int, Counts]) -> tuple[list[Counts], list[Counts]]:
    return [n == 0 for n in seen.values()], [n > 1 for n in seen.values()]


def _quarantined(root: Path, kind: str, reasons: set[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches(root, QUARANTINE, "value", "kind", "reason"):
        of_kind = batch.filter(pc.equal(batch["kind"], kind))
        reasons.update(of_kind["reason"].unique().to_pylist())
        yield of_kind


def _placed(rows: Iterator[pa.RecordBatch], told: dict[int, Counts]) -> int:
    kept = 0
    for batch in rows:
        kept += batch.num_rows
        for place in batch.to_pylist():
            told[place["partition"]][place["offset"]] += 1
    return kept


def _skipped_lines(root: Path, kind: str) -> int:
    rows = (
        row for batch in batches(root, SKIPPED, "kind", "lines", places=False) for row in batch.to_pylist()
    )
    return sum(row["lines"] for row in rows if row["kind"] == kind)


def _misjudged(kind: str, sent: dict[int, Sent], told: dict[int, Counts], skipped: int) -> list[str]:
    twice = sum(int((n > 1).sum()) for n in told.values())
    neither = sum(int((n == 0).sum()) for n in told.values())
    hidden = sum(int(((n == 0) & np.array(sent[p].is_marked, dtype=bool)).sum()) for p, n in told.items())
    return [
        *([f"{kind}: {twice} lines twice in silver"] if twice else []),
        *([f"{kind}: {neither} lines without outcome, {skipped} skipped"] if neither != skipped else []),
        *([f"{kind}: {hidden} lines with the mark were skipped"] if hidden else []),
    ]


def _compared(
    rows: Iterator[pa.RecordBatch], sent: dict[int, Sent], seen: dict[int, Counts], name: str
) -> list[str]:
    """Count each place and hold its bytes against the ledger's digest."""
    changed = 0
    for batch in rows:
        columns = (batch[column].to_pylist() for column in ("partition", "offset", "value"))
        for partition, offset, value in zip(*columns, strict=True):
            seen[partition][offset] += 1
            changed += digest(value) != sent[partition].digests[offset]
    return [f"{name}: {changed} rows with other bytes"] if changed else []


def batches(root: Path, table: Table, *columns: str, places: bool = True) -> Iterator[pa.RecordBatch]:
    """Read columns of a table with delta-rs, a batch at a time; a million values at once are too many."""
    wanted = [*(("partition", "offset") if places else ()), *columns]
    return (
        DeltaTable(str(where(root, table))).to_pyarrow_dataset().to_batches(columns=wanted, batch_size=5_000)
    )
