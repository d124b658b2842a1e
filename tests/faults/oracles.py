"""
What must hold of a warehouse whatever died while it was written, told by a second reader: delta-rs.

Every oracle gives a list of what is wrong, empty when all is well; `test_oracles.py` plants a fault for each.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from schemas.bronze import BRONZE, CLIENT_LOG, CLUSTER, METRICS, PERF_TEST, REQUEST_LOG, STATE_CHANGE
from schemas.clients import CLIENT_TABLES
from schemas.fields import Table
from schemas.gold import DATA_QUALITY
from schemas.metrics import METRIC_SCRAPES
from schemas.perf_test import PERF_TEST as OF_PERF_TEST
from schemas.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.silver import CLIENT_EVENTS, GAPS, LEADERSHIP_CHANGES, QUARANTINE, REQUESTS, SILVER, SKIPPED
from schemas.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.throttles import CLUSTER_POLLS, MOVES
from tests.faults.site import Acked

Place = tuple[str, int, int]
"""A record: topic, partition and offset."""

RECORD = ("topic", "partition", "offset")
INGESTED = (*BRONZE, *(table for table in SILVER if table != GAPS))
"""What an ingest makes at its first start; gaps are made only once one was accepted."""

OF_CLIENTS = (STATE_CHANGE, PERF_TEST, LEADERSHIP_CHANGES, *OF_PERF_TEST, *CLIENT_TABLES)
OF_MOVES = (CLUSTER, CLUSTER_POLLS, *MOVES, THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)
OF_OTHERS = (*OF_CLIENTS, *OF_MOVES)
"""But for steady work (`lines.steady`) nothing is published of producers, moved leaders, runs and moves."""

PARSED = {
    REQUEST_LOG: (REQUESTS,),
    CLIENT_LOG: (CLIENT_EVENTS,),
    STATE_CHANGE: (LEADERSHIP_CHANGES,),
    METRICS: (METRIC_SCRAPES,),
    PERF_TEST: OF_PERF_TEST,
    CLUSTER: (CLUSTER_POLLS,),
}
OF_A_SCRAPE = r"/scrape/\d+#\d+$"
"""Position of a line in a scrape, which is kept without it."""

VOLATILE = {"ingested_at", "batch_id", "first_at"}
"""
When and in which batch a row was written: the only things that may differ after a kill. `first_at` of a
series is the first sample that was read in its batch, and a kill changes which scrapes a batch has.
"""


def where(root: Path, table: Table) -> Path:
    """Give a table's folder."""
    return root / table.layer / table.name


def rows_of(root: Path, table: Table, *columns: str) -> pa.Table:
    """Read columns of a table with delta-rs, all of them when none is named."""
    return DeltaTable(str(where(root, table))).to_pyarrow_table(columns=list(columns) or None)


def lost_or_doubled(root: Path, ledger: Sequence[Acked]) -> list[str]:
    """
    Hold bronze against the ledger: every acknowledged record is there, once, byte for byte, and nothing else.

    Where the ledger knows a record's position at the edge, it is that one.

    A record that was delivered and never acknowledged needs a publisher that was cut off: `Site.publish`
    waits for each acknowledgement of its idempotent producer, or fails the run. A caller who lets others
    publish into the topics, as a collector does, adds their records to the ledger.
    """
    wrong = [] if ledger else ["the ledger is empty"]
    for table in BRONZE:
        rows = rows_of(root, table, *RECORD, "value", "position").to_pylist()
        found = Counter(tuple(row[name] for name in RECORD) for row in rows)
        doubled = [place for place, n in found.items() if n > 1]
        held = {tuple(row[name] for name in RECORD): row for row in rows}
        acked = {(a.topic, a.partition, a.offset): a for a in ledger if a.topic.endswith(_kind(table))}
        both = sorted(acked.keys() & held.keys())
        kinds = {
            "doubled": doubled,
            "lost": sorted(acked.keys() - held.keys()),
            "with other bytes": [p for p in both if _digest(held[p]["value"]) != acked[p].sha256],
            "with another position": [p for p in both if acked[p].position not in {"", held[p]["position"]}],
            "made up": sorted(held.keys() - acked.keys()),
        }
        wrong += [f"{table.name}: {len(bad)} {what}, first {bad[0]}" for what, bad in kinds.items() if bad]
    return wrong


def unbalanced(root: Path) -> list[str]:
    """
    Hold silver against bronze: each line is kept, quarantined or skipped, and exactly one of them.

    Lines are known by their place in the topic, but for the skipped, of which only the number is written: it
    is that of the lines which are left over.
    """
    wrong = []
    for bronze, tables in PARSED.items():
        kind = _kind(bronze)
        read = set(_places(rows_of(root, bronze, *RECORD)))
        quarantined = rows_of(root, QUARANTINE, "kind", "position", *RECORD)
        is_whole = pc.invert(pc.match_substring_regex(quarantined["position"], OF_A_SCRAPE))
        quarantined = quarantined.filter(pc.and_(pc.equal(quarantined["kind"], kind), is_whole))
        kept = pa.concat_tables([rows_of(root, table, *RECORD) for table in tables])
        skipped = rows_of(root, SKIPPED, "kind", "lines")
        skipped_lines = pc.sum(skipped.filter(pc.equal(skipped["kind"], kind))["lines"]).as_py() or 0
        total = kept.num_rows + quarantined.num_rows + skipped_lines
        if len(read) != total:
            wrong.append(
                f"{kind}: {len(read)} read, {kept.num_rows} kept + {quarantined.num_rows} quarantined + "
                f"{skipped_lines} skipped = {total}"
            )
        places = Counter(_places(kept) + _places(quarantined))
        twice = [place for place, n in places.items() if n > 1]
        made_up = sorted(places.keys() - read)
        wrong += [f"{kind}: {len(twice)} lines in silver twice, first {twice[0]}"] if twice else []
        wrong += [f"{kind}: {len(made_up)} lines in silver made up, first {made_up[0]}"] if made_up else []
    return wrong


def unbalanced_books(root: Path) -> list[str]:
    """Hold gold's own books to their word: each of their rows says that its lines add up."""
    books = rows_of(root, DATA_QUALITY).to_pylist()
    wrong = [] if books else ["gold.data_quality: no row in it"]
    bad = [(row["node"], row["source"]) for row in books if not row["is_balanced"]]
    return wrong + ([f"gold.data_quality: {len(bad)} rows not balanced, first {bad[0]}"] if bad else [])


def other_than_twin(
    root: Path,
    twin: Path,
    tables: Sequence[Table],
    *,
    may_be_empty: Collection[Table] = (),
    gone: Collection[Place] = (),
) -> list[str]:
    """
    Hold every row of every table against those of an undisturbed run over the same input.

    Two empty tables prove nothing: they are wrong unless they may be so. Records that are `gone` are those
    that the twin alone has read, since the topic held them then.
    """
    wrong = list[str]()
    for table in tables:
        stable = [field.name for field in table.schema if field.name not in VOLATILE]
        told = rows_that_differ(root, twin, table, stable, may_be_empty=table in may_be_empty, gone=gone)
        wrong += [told] if told else []
    return wrong


def rows_that_differ(  # noqa: PLR0913 (two sides, what of them, and what is left out)
    root: Path,
    twin: Path,
    table: Table,
    columns: list[str],
    *,
    may_be_empty: bool = False,
    gone: Collection[Place] = (),
) -> str:
    """Tell how many rows of one table are missing or too many, or nothing."""
    ours, theirs = (_rows(base, table, columns, gone) for base in (root, twin))
    if ours == theirs:
        is_proof = ours or may_be_empty
        return "" if is_proof else f"{table.layer}.{table.name}: no row in it, and none in the twin's"
    missing, more = sum((theirs - ours).values()), sum((ours - theirs).values())
    example = next(iter((theirs - ours) or (ours - theirs)))[:300]
    return f"{table.layer}.{table.name}: {missing} rows missing, {more} too many, as {example}"


def bad_log(root: Path, tables: Sequence[Table]) -> list[str]:
    """Audit the Delta logs: versions without a hole, each batch committed once, each file there and whole."""
    wrong = []
    for table in tables:
        log = where(root, table) / "_delta_log"
        versions = sorted(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
        if not versions:
            wrong.append(f"{table.name}: there is no log")
            continue
        if versions != list(range(versions[0], versions[0] + len(versions))):
            wrong.append(f"{table.name}: versions {versions} have a hole")
        actions = [
            json.loads(line)
            for version in versions
            for line in (log / f"{version:020}.json").read_text().splitlines()
        ]
        batches = Counter((a["txn"]["appId"], a["txn"]["version"]) for a in actions if "txn" in a)
        wrong += [f"{table.name}: {batch} was committed {n} times" for batch, n in batches.items() if n > 1]
        wrong += _bad_files(root, table)
    return wrong


def _bad_files(root: Path, table: Table) -> list[str]:
    wrong = []
    held = pa.table(DeltaTable(str(where(root, table))).get_add_actions(flatten=True)).to_pylist()
    for file in held:
        path = where(root, table) / file["path"]
        try:
            rows = pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowInvalid) as error:
            wrong.append(f"{table.name}: {file['path']} cannot be read: {error}")
            continue
        if file.get("num_records") not in (None, rows):
            wrong.append(f"{table.name}: {file['path']} has {rows} rows, its log says {file['num_records']}")
    return wrong


def _rows(root: Path, table: Table, columns: list[str], gone: Collection[Place]) -> Counter[str]:
    rows = rows_of(root, table, *columns).to_pylist()
    if gone:
        rows = [row for row in rows if tuple(row.get(name) for name in RECORD) not in gone]
    if table == SKIPPED:  # one row a batch; what counts is how many lines of which logger
        lines = Counter[str]()
        for row in rows:
            lines[json.dumps({k: v for k, v in row.items() if k != "lines"}, default=_told)] += row["lines"]
        return lines
    return Counter(json.dumps(row, default=_told, sort_keys=True) for row in rows)


def _digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


def _places(rows: pa.Table) -> list[Place]:
    return list(zip(*(rows[name].to_pylist() for name in RECORD), strict=True))


def _told(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _kind(bronze: Table) -> str:
    return bronze.name.replace("_", "-")
