"""
Write one entry of a Delta log, which is on disk before it has its name.

So no reader and no other writer sees a version that a power cut can take. `maintain`'s merges are commits of
delta-rs, which syncs nothing: see `log_entries.rewriting`.
"""

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction, Transaction

from conf.atomic_file import sync
from engine.delta.log_state import FILES, entry_file

WRITER_VERSION = 2
"""The Delta writer version of Plumbline's tables; later versions need more than a plain entry."""

Action = AddAction | RemoveAction


def check_protocol(where: Path, log: DeltaTable) -> None:
    """
    Check that a table needs no more than a plain entry.

    Raises:
        ValueError: it has a later protocol.

    """
    wanted = log.protocol().min_writer_version
    if wanted > WRITER_VERSION:
        message = (
            f"{where}: the table needs Delta writer version {wanted}; Plumbline supports {WRITER_VERSION}"
        )
        raise ValueError(message)


def put(  # noqa: PLR0913 (a version, and what is in it)
    where: Path,
    version: int,
    actions: Sequence[Action],
    *,
    partition_by: Sequence[str],
    transaction: Transaction | None = None,
    note: str = "",
) -> bool:
    """Write the entry of a version; return False if the version exists. Only one writer creates a name."""
    entry = entry_file(where / "_delta_log", version)
    # Readers ignore a draft with such a name, as they ignore the drafts of delta-rs.
    draft = entry.with_name(f"{entry.name}#{os.getpid()}{threading.get_ident()}")
    lines = (
        json.dumps(action, separators=(",", ":"))
        for action in _lines(actions, list(partition_by), transaction, note)
    )
    try:
        draft.write_text("\n".join(lines) + "\n")
        sync(draft)
        os.link(draft, entry)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    sync(entry.parent)
    return True


def _lines(
    actions: Sequence[Action], partition_by: list[str], transaction: Transaction | None, note: str
) -> Iterator[dict[str, Any]]:
    now = int(time.time() * 1_000)
    yield {
        "commitInfo": {
            "timestamp": now,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append", "partitionBy": json.dumps(partition_by)},
            "isBlindAppend": all(isinstance(action, AddAction) for action in actions),
            "engineInfo": "plumbline",
            FILES: str(len(actions)),
            **({"userMetadata": note} if note else {}),
        }
    }
    yield from map(_file, actions)
    if transaction:
        txn = {"appId": transaction.app_id, "version": transaction.version, "lastUpdated": now}
        yield {"txn": txn}


def _file(action: Action) -> dict[str, Any]:
    path = quote(action.path, safe="/=")
    if isinstance(action, RemoveAction):
        return {
            "remove": {
                "path": path,
                "deletionTimestamp": action.deletion_timestamp,
                "dataChange": action.data_change,
            }
        }
    return {
        "add": {
            "path": path,
            "partitionValues": dict(action.partition_values),
            "size": action.size,
            "modificationTime": action.modification_time,
            "dataChange": action.data_change,
            "stats": action.stats,
        }
    }
