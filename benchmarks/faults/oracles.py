"""
Oracles: invariants of a warehouse after any fault, checked with a second reader, delta-rs.

Every oracle returns a list of failures, which is empty if the invariant holds. `test_oracles.py` plants a
fault for each oracle.
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

from benchmarks.faults.site import Acked
from engine.ingest.task.known_rows import WRITTEN_ONCE
from schemas.bronze import BRONZE, CLIENT_LOG, CLUSTER, METRICS, PERF_TEST, REQUEST_LOG, STATE_CHANGE
from schemas.fields import Table
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver import SILVER
from schemas.silver.brokers import BROKERS
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.listeners import LISTENERS
from schemas.silver.metrics import METRIC_SCRAPES
from schemas.silver.not_kept import GAPS, QUARANTINE, SKIPPED
from schemas.silver.perf_test import PERF_TEST as OF_PERF_TEST
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import CLUSTER_POLLS, MOVES
from schemas.silver.topics import TOPICS

RecordId = tuple[str, int, int]
"""A record: topic, partition and offset."""

RECORD = ("topic", "partition", "offset")
INGESTED = (*BRONZE, *(table for table in SILVER if table != GAPS))
"""The tables that an ingest creates at its first start; `silver.gaps` exists only after an accepted gap."""

GOLD_OF_CLIENTS = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP)
OF_CLIENTS = (STATE_CHANGE, PERF_TEST, LEADERSHIP_CHANGES, *OF_PERF_TEST, *GOLD_OF_CLIENTS)
OF_MOVES = (CLUSTER, CLUSTER_POLLS, *MOVES, THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)
OF_OTHERS = (*OF_CLIENTS, *OF_MOVES)
"""Only steady work (`lines.steady`) publishes lines for these tables."""

PARSED = {
    REQUEST_LOG: (REQUESTS,),
    CLIENT_LOG: (CLIENT_EVENTS,),
    STATE_CHANGE: (LEADERSHIP_CHANGES,),
    METRICS: (METRIC_SCRAPES,),
    PERF_TEST: OF_PERF_TEST,
    CLUSTER: (CLUSTER_POLLS,),
}
OF_A_SCRAPE = r"/scrape/\d+#\d+$"
"""The position of a quarantined line of a scrape; the scrape itself is kept."""

VOLATILE = {"ingested_at", "batch_id", "first_at"}
"""
Columns that may differ after a kill: when and in which batch a row was written. `first_at` of a series is
the first sample in its batch, and a kill changes the scrapes of a batch.
"""

FIRST_READ = {table: WRITTEN_ONCE[table.name] for table in (TOPICS, BROKERS, LISTENERS)}
"""
Tables with the first row of each key that was read, and these keys. Which line was read first depends on the
batches: when a broker is lost, the ingest reads the partitions of the others first.
"""


def where(root: Path, table: Table) -> Path:
    """Return the folder of a table."""
    return root / table.layer / table.name


def rows_of(root: Path, table: Table, *columns: str) -> pa.Table:
    """Return columns of a table, read with delta-rs; all columns if none is named."""
    return DeltaTable(str(where(root, table))).to_pyarrow_table(columns=list(columns) or None)


def lost_or_doubled(root: Path, ledger: Sequence[Acked]) -> list[str]:
    """
    Compare bronze with the ledger: bronze has each acknowledged record once, byte for byte, and nothing else.

    If the ledger has the record's position at the edge, bronze has the same position.

    No record is delivered without an entry in the ledger, because `Site.publish` waits for each
    acknowledgement of its idempotent producer or fails the run. If another program publishes to the topics,
    such as a collector, the caller adds its records to the ledger.
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
    Compare silver with bronze: each line is either kept, quarantined or skipped, exactly once.

    Lines are identified by topic, partition and offset. Silver has only the number of skipped lines, which
    must equal the number of remaining lines.
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
    """Return a failure unless every row of `gold.data_quality` says that its line counts are balanced."""
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
    gone: Collection[RecordId] = (),
) -> list[str]:
    """
    Compare every row of every table with the twin, an undisturbed run over the same input.

    Two empty tables prove nothing, so they are a failure unless they are in `may_be_empty`. `gone` are
    records that only the twin has read, because retention removed them from the topic later.
    """
    wrong = list[str]()
    for table in tables:
        stable = list(FIRST_READ.get(table, set(table.schema.names) - VOLATILE))
        failure = rows_that_differ(root, twin, table, stable, may_be_empty=table in may_be_empty, gone=gone)
        wrong += [failure] if failure else []
    return wrong


def rows_that_differ(  # noqa: PLR0913 (two warehouses, the columns, and the exceptions)
    root: Path,
    twin: Path,
    table: Table,
    columns: list[str],
    *,
    may_be_empty: bool = False,
    gone: Collection[RecordId] = (),
) -> str:
    """Return a failure with the number of missing and extra rows of one table, or ''."""
    ours, theirs = (_rows(base, table, columns, gone) for base in (root, twin))
    if ours == theirs:
        is_proof = ours or may_be_empty
        return "" if is_proof else f"{table.layer}.{table.name}: no row in it, and none in the twin's"
    missing, more = sum((theirs - ours).values()), sum((ours - theirs).values())
    example = next(iter((theirs - ours) or (ours - theirs)))[:300]
    return f"{table.layer}.{table.name}: {missing} rows missing, {more} too many, as {example}"


def bad_log(root: Path, tables: Sequence[Table], *, is_tidied: bool = False) -> list[str]:
    """
    Audit the Delta logs: no version is missing, each batch is committed once, each file is complete.

    If the log was tidied, entries before the newest checkpoint may be missing: `maintain` removes old ones,
    and a power cut brings some of them back. Without a later entry the table cannot be opened.
    """
    wrong = []
    for table in tables:
        log = where(root, table) / "_delta_log"
        versions = sorted(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
        if not versions:
            wrong.append(f"{table.name}: there is no log")
            continue
        if not is_tidied and versions != list(range(versions[0], versions[0] + len(versions))):
            wrong.append(f"{table.name}: versions {versions} have a hole")
        actions = []
        for version in versions:
            try:
                actions += map(json.loads, (log / f"{version:020}.json").read_text().splitlines())
            except ValueError as error:
                wrong.append(f"{table.name}: version {version} of {versions[-1]} is torn: {error}")
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


def _rows(root: Path, table: Table, columns: list[str], gone: Collection[RecordId]) -> Counter[str]:
    rows = rows_of(root, table, *columns).to_pylist()
    if gone:
        rows = [row for row in rows if tuple(row.get(name) for name in RECORD) not in gone]
    if table == SKIPPED:  # It has one row per batch, so compare the sum of lines.
        lines = Counter[str]()
        for row in rows:
            lines[json.dumps({k: v for k, v in row.items() if k != "lines"}, default=_text)] += row["lines"]
        return lines
    return Counter(json.dumps(row, default=_text, sort_keys=True) for row in rows)


def _digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


def _places(rows: pa.Table) -> list[RecordId]:
    return list(zip(*(rows[name].to_pylist() for name in RECORD), strict=True))


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _kind(bronze: Table) -> str:
    return bronze.name.replace("_", "-")
