"""
What the log of a table weighs that is committed to every two seconds, and is kept by `plumbline maintain`.

Entries are those of a table that was written so. No checkpoint of a short run names what one of two days
does: merging removes the files of each commit, and they stay named as long as VACUUM leaves them. So a log
that names as many is written by hand, after real entries, and delta-rs makes its checkpoint.
"""

import json
import random
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from benchmarks.pipeline.measure import Measured
from engine.delta.log_entries import CHECKPOINT_KEPT_EVERY_S, NEWEST_CHECKPOINTS
from engine.maintain.actions import LOG_HOURS

TRIGGER_S, FILES_A_COMMIT = 2, 2
DAY_S, HOUR_S, BLOCK_BYTES = 86_400, 3_600, 512
COMMITS_A_DAY = DAY_S // TRIGGER_S
ENTRIES = COMMITS_A_DAY + LOG_HOURS * HOUR_S // TRIGGER_S
"""Once a day `plumbline maintain` removes those older than `LOG_HOURS`; as many there are before it does."""

CHECKPOINTS = ENTRIES * TRIGGER_S // CHECKPOINT_KEPT_EVERY_S + NEWEST_CHECKPOINTS
YOUNG = COMMITS_A_DAY * FILES_A_COMMIT // 2
"""Files of the running day that are not merged yet, the mean over the day."""

PER_ATTEMPT, PER_FILE = re.compile(r"-\d+-[0-9a-f]{8}/"), re.compile(r"part-\d{5}-[0-9a-f-]{36}")
INSTANT = re.compile(r"\d\d:\d\d:\d\d\.\d{6}Z")

Action = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWeight:
    """Bytes on the disk of one table's log."""

    entry: float
    checkpoint: int
    checkpoint_cpu_s: float

    @property
    def bytes(self) -> float:
        """All entries and checkpoints that are kept."""
        return self.entry * ENTRIES + self.checkpoint * CHECKPOINTS


def disk_bytes(*paths: Path) -> int:
    """Return the disk space of files and folders, in whole blocks."""
    return sum(path.lstat().st_blocks * BLOCK_BYTES for path in paths)


def removed_files(retention_hours: int) -> int:
    """
    Return how many removed files a checkpoint names.

    >>> removed_files(48)
    172800
    """
    return retention_hours * HOUR_S // TRIGGER_S * FILES_A_COMMIT


def log_weight(where: Path, scratch: Path, *, removed: int, young: int = YOUNG) -> LogWeight:
    """
    Weigh the log of a table that a stream has written.

    Raises:
        ValueError: nothing was appended to it.

    """
    entries = sorted((where / "_delta_log").glob("*.json"))
    by_file = {file: [json.loads(line) for line in file.read_text().splitlines()] for file in entries}
    appends = [
        file for file, actions in by_file.items() if _of(actions, "add") and not _of(actions, "remove")
    ]
    if not appends:
        message = f"{where}: nothing was appended, so the size of its log is unknown"
        raise ValueError(message)
    actions = [action for of_file in by_file.values() for action in of_file]
    begin = [action for kind in ("protocol", "metaData") for action in _of(actions, kind)[-1:]]
    add = _of(by_file[appends[-1]], "add")[0]["add"]
    size, cpu_s = checkpoint_of([*begin, *_removes(add, removed), *_adds(add, young)], scratch)
    return LogWeight(entry=disk_bytes(*appends) / len(appends), checkpoint=size, checkpoint_cpu_s=cpu_s)


def checkpoint_of(actions: list[Action], scratch: Path) -> tuple[int, float]:
    """Write a log of these actions, and return the size of its checkpoint and the CPU-seconds it took."""
    shutil.rmtree(scratch, ignore_errors=True)
    log = scratch / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    table = DeltaTable(str(scratch))
    with Measured() as took:
        table.create_checkpoint()
    return disk_bytes(*log.glob("*.checkpoint.parquet")), took.cpu_s


def _of(actions: list[Action], kind: str) -> list[Action]:
    return [action for action in actions if kind in action]


def _adds(add: Action, n: int) -> Iterator[Action]:
    """Yield `n` files like this one; those of a commit have their own folder and instants."""
    dice = random.Random(n)  # noqa: S311 (a repeatable size, no secret)
    for nth in range(n):
        commit, of_commit = divmod(nth, FILES_A_COMMIT)
        if of_commit == 0:
            folder, attempt = f"-{commit}-{dice.getrandbits(32):08x}/", uuid.UUID(int=dice.getrandbits(128))
            clock = time.strftime("%H:%M:%S", time.gmtime(commit * TRIGGER_S))
            instant = f"{clock}.{dice.randrange(10**6):06}Z"
        path = PER_ATTEMPT.sub(folder, add["path"])
        changed = {
            "path": PER_FILE.sub(f"part-{of_commit:05}-{attempt}", path),
            "size": add["size"] + dice.randrange(1_000),
            "stats": INSTANT.sub(instant, add["stats"]),
        }
        yield {"add": add | changed}


def _removes(add: Action, n: int) -> Iterator[Action]:
    """Yield `n` such files as removed just now by a merge, in the form of delta-rs."""
    removed = {
        "dataChange": False,
        "deletionTimestamp": int(time.time() * 1_000),
        "extendedFileMetadata": True,
    }
    for action in _adds(add, n):
        yield {
            "remove": removed | {name: action["add"][name] for name in ("path", "partitionValues", "size")}
        }
