"""
Append files to a Delta table with one log entry, at a cost that does not grow with the table.

An append conflicts only with a change of schema or protocol, and with the same batch of the same writer. So
it reads only the new log entries and adds its own after them. Other commits open the log with delta-rs, which
reads the names of all live files each time: 60 ms at 10,000 files.
`docs/decisions/023-appends-read-no-file-list.md` explains why an append is as safe.
"""

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deltalake.transaction import AddAction, Transaction

from engine.delta.checksums import VersionChecksum
from engine.delta.log_entries import checkpoint_when_due, interval_of, mark_settled, settle
from engine.delta.log_state import entry_file
from engine.delta.new_entry import check_protocol, put
from schemas.delta_log import open_log

NEWS = ('{"txn"', '{"add"', '{"remove"', '{"metaData"', '{"protocol"')
"""Prefixes of the entry lines that an append must read: all but notes about the commit."""

_held = threading.local()


@dataclass(slots=True)
class _Head:
    """The newest version of a table, and the newest batch of each writer that appended here; -1: none."""

    version: int
    batches: dict[str, int]
    interval: int  # versions between two checkpoints
    checksum: VersionChecksum


def append(where: Path, adds: Sequence[AddAction], transaction: Transaction) -> bool:
    """
    Commit files in a new version, unless the table has this or a later batch of the writer.

    Return whether the version was written. The entry is synced before it gets its name, and only one writer
    can create a name.

    Raises:
        ValueError: the table's protocol needs more than a plain entry.

    """
    writer = transaction.app_id
    while True:
        head = _head(where, writer)
        if head.batches[writer] >= transaction.version:
            return False
        settle(where, head.version)
        partition_by = head.checksum.metadata["partitionColumns"]
        if put(where, head.version + 1, adds, partition_by=partition_by, transaction=transaction):
            break
    head.version += 1
    head.checksum = head.checksum.grown([add.size for add in adds])
    head.batches[writer] = transaction.version
    with suppress(OSError):  # it only saves time
        head.checksum.write(where, head.version)
    mark_settled(where, head.version)
    checkpoint_when_due(where, head.version, head.interval)
    return True


def has_batch(where: Path, transaction: Transaction) -> bool:
    """Return whether a table has this or a later batch of the writer."""
    return _head(where, transaction.app_id).batches[transaction.app_id] >= transaction.version


def _head(where: Path, writer: str) -> _Head:
    """Return the cached head of a table with all new entries; read the whole log if that is not possible."""
    heads: dict[Path, _Head] = _held.__dict__.setdefault("heads", {})
    head = heads.get(where)
    is_known = head is not None and writer in head.batches and _entry(where, head.version).exists()
    if head is None or not is_known or not _read_on(head, where):
        head = heads[where] = _read(where, {writer, *(head.batches if head else ())})
    return head


def _read(where: Path, writers: set[str]) -> _Head:
    log = open_log(where)
    check_protocol(where, log)
    batches = {writer: log.transaction_version(writer) for writer in writers}
    return _Head(
        version=log.version(),
        batches={writer: -1 if batch is None else batch for writer, batch in batches.items()},
        interval=interval_of(log),
        checksum=VersionChecksum.from_log(log),
    )


def _read_on(head: _Head, where: Path) -> bool:
    """Apply the new entries; return False if one does more than append, or is not whole."""
    while (entry := _entry(where, head.version + 1)).exists():
        try:
            news = [json.loads(line) for line in entry.read_text().splitlines() if line.startswith(NEWS)]
        except ValueError:
            return False
        if any("txn" not in action and "add" not in action for action in news):
            return False
        txns = [action["txn"] for action in news if "txn" in action]
        head.batches |= {txn["appId"]: txn["version"] for txn in txns if txn["appId"] in head.batches}
        head.checksum = head.checksum.grown([action["add"]["size"] for action in news if "add" in action])
        head.version += 1
    return True


def _entry(where: Path, version: int) -> Path:
    return entry_file(where / "_delta_log", version)
