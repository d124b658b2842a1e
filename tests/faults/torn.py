"""Torn and missing files of a stream's state: mended with nothing lost or doubled, or named at a stop."""

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from jobs.hadoop_files import crc_of
from jobs.ingest_failures import EXIT_STATE
from jobs.stream_log import StreamLog
from jobs.writer_id import WRITER_ID
from schemas.bronze import REQUEST_LOG
from schemas.fields import Table
from schemas.silver import REQUESTS, SKIPPED
from tests.faults import harm
from tests.faults.oracles import where
from tests.faults.site import Written

Damage = Callable[[Written, str], Path]
QUERIES = ("ingest_request_log_v1", "ingest_client_log_v1")
HOW = ("empty", "half", "nul", "gone")


def _log(written: Written, query: str = QUERIES[0]) -> StreamLog:
    return StreamLog(Path(written.settings.warehouse.checkpoints) / query)


def last_offsets(written: Written, how: str) -> Path:
    """Tear the newest entry of the offset log."""
    log = _log(written)
    file = log.offsets_file(max(log.offsets, default=0))
    harm.tear(file, how)
    return file


def last_commit(written: Written, how: str) -> Path:
    """Tear the newest entry of the commit log."""
    log = _log(written, QUERIES[1])
    file = log.commits_file(max(log.commits, default=0))
    harm.tear(file, how)
    return file


def both_logs(written: Written, how: str) -> Path:
    """Set both logs back by a batch, and tear the batch before that."""
    log = _log(written)
    newest = max(log.offsets, default=0)
    for file in (log.offsets_file(newest), log.commits_file(newest)):
        file.unlink(missing_ok=True)
        crc_of(file).unlink(missing_ok=True)
    if newest:
        harm.tear(log.offsets_file(newest - 1), how)
    return log.offsets_file(newest)


def metadata(written: Written, how: str) -> Path:
    """Tear the query's id and where it began."""
    folder = _log(written).folder
    harm.tear(folder / "sources" / "0" / "0", how)
    harm.tear(folder / "metadata", how)
    return folder / "metadata"


def stale_checksum(written: Written, _how: str) -> Path:
    """Leave a checksum that fits no longer, and one whose file is gone."""
    log = _log(written)
    file = log.offsets_file(max(log.offsets, default=0))
    if file.exists():
        crc_of(file).write_bytes(b"crc\x00\x00\x00\x02\x00\x00\x01\x02\x03")
    crc_of(log.commits_file(max(log.commits, default=-1) + 1)).write_bytes(b"crc\x00\x00\x00\x02\x00")
    return file


def last_entry(table: Table, written: Written, how: str) -> Path:
    """Tear the newest entry of a table's log."""
    file = max((where(written.root, table) / "_delta_log").glob("*.json"))
    harm.tear(file, how)
    return file


def middle_entry(written: Written, how: str) -> Path:
    """Tear an entry in the middle of a table's log."""
    entries = sorted((where(written.root, REQUEST_LOG) / "_delta_log").glob("*.json"))
    file = entries[(len(entries) - 1) // 2]
    harm.tear(file, how)
    return file


def writer_id(written: Written, how: str) -> Path:
    """Tear the writer's id."""
    file = _log(written).folder / WRITER_ID
    harm.tear(file, how)
    return file


def whole_checkpoint(written: Written, _how: str) -> Path:
    """Remove a checkpoint."""
    folder = _log(written).folder
    shutil.rmtree(folder)
    return folder


def mended(damage: Damage, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Do a damage that is mended by itself."""
    site, written, more = harm.begun(bootstrap_servers, folder, dice, dice.choice(harm.KILLED_AT))
    damage(written, dice.choice(HOW))
    site.publish(more)
    code, told = written.ingest()
    return [f"exit code {code}: {told[-500:]}"] if code else harm.found(written, site.ledger)


def stopped(damage: Damage, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Do a damage that nothing mends: the job names the file and writes nothing; restored, it goes on."""
    site, written, more = harm.begun(bootstrap_servers, folder, dice, "")
    site.publish(more)
    saved = folder / "saved"
    shutil.copytree(written.conf.parent, saved)
    file, wrong = damage(written, dice.choice(HOW)), list[str]()
    before = harm.state_of(folder)
    code, told = written.ingest()
    if code != EXIT_STATE or str(file) not in told:
        wrong.append(f"exit code {code} and not {EXIT_STATE} with {file}: {told[-500:]}")
    if harm.state_of(folder) != before:
        wrong.append(f"files changed: {harm.state_of(folder).items() ^ before.items()}")
    shutil.rmtree(written.conf.parent)
    shutil.move(saved, written.conf.parent)
    code, told = written.ingest()
    return (
        [*wrong, f"exit code {code}: {told[-500:]}"] if code else [*wrong, *harm.found(written, site.ledger)]
    )


Fault = Callable[[str, Path, random.Random], list[str]]

FAULTS: dict[str, Fault] = {
    "torn last offsets": partial(mended, last_offsets),
    "torn last commit": partial(mended, last_commit),
    "offset and commit log set back": partial(mended, both_logs),
    "torn metadata": partial(mended, metadata),
    "stale checksum": partial(mended, stale_checksum),
    "torn last entry of bronze": partial(mended, partial(last_entry, REQUEST_LOG)),
    "torn last entry of silver": partial(mended, partial(last_entry, REQUESTS)),
    "torn last entry of a shared table": partial(mended, partial(last_entry, SKIPPED)),
    "torn middle entry": partial(stopped, middle_entry),
    "torn writer id": partial(stopped, writer_id),
    "lost checkpoint": partial(stopped, whole_checkpoint),
}
