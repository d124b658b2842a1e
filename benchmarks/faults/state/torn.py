"""
Torn and missing files of a stream's state: repaired without loss or doubles, or the job names them and stops.

`docs/recovery.md` says which of the two.
"""

import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.faults import harm, oracles
from benchmarks.faults.oracles import OF_OTHERS, where
from benchmarks.faults.site import JobsWarehouse, PublishedLine, Site, checkpoint_often
from benchmarks.faults.state import tears
from conf.exit_codes import ExitCode
from engine.gold.stream import STREAM
from schemas.bronze import REQUEST_LOG
from schemas.fields import Table
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.produce_held import PRODUCE_HELD
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.not_kept import SKIPPED
from schemas.silver.requests import REQUESTS

Damage = Callable[[JobsWarehouse, str], Path]
HOW = ("empty", "half", "nul", "gone")
GOLD_KILLED_AT = ("", "gold-windows-committed:2", "gold-written:2")
SMALL_BATCHES = "[build_gold]\nmax_files_per_trigger = 3\n"
"""Gold's stream comes to several batches, and its tables to several versions."""

NO_GOLD_OF = (BROKER_RTT_BASELINE, STOCK_FETCH_TOTAL, LEADER_LOCAL_MEAN, PRODUCE_HELD, *OF_OTHERS)
"""The lines are of one hour, the first; nothing is scraped, and maybe no producer waits for a follower."""


def with_checkpoints(written: JobsWarehouse) -> None:
    """Let the next run write a checkpoint of a table with its first batch."""
    checkpoint_often(where(written.root, REQUESTS), every=2)


def repaired(
    damage: Damage,
    bootstrap_servers: str,
    folder: Path,
    dice: random.Random,
    *,
    has_checkpoints: bool = False,
) -> list[str]:
    """Do a damage that a job repairs; a run that was killed may have left no checkpoint of a table."""
    if has_checkpoints:
        begun = harm.begun(bootstrap_servers, folder, dice, "", between=with_checkpoints)
    else:
        begun = harm.begun(bootstrap_servers, folder, dice, dice.choice(harm.KILLED_AT))
    return goes_on(damage, *begun, dice)


def stopped(damage: Damage, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Do a damage that no job repairs."""
    begun = harm.begun(bootstrap_servers, folder, dice, "", between=with_checkpoints)
    return stops(damage, *begun, dice)


def by_its_batch(table: Table, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Tear the newest entry of a table: that of the newest batch is repaired, and an older one is not."""
    begun = harm.begun(bootstrap_servers, folder, dice, dice.choice(harm.KILLED_AT))
    if is_of_newest_batch(begun[1], table):
        return goes_on(partial(tears.last_entry, table), *begun, dice)
    return stops(lambda written, how: tears.last_entry(table, written, how).parent, *begun, dice)


def is_of_newest_batch(written: JobsWarehouse, table: Table) -> bool:
    """Return whether the newest entry of a table is of the newest batch that its query has begun."""
    batch = next(
        action["txn"]
        for line in tears.entries_of(written, table)[-1].read_text().splitlines()
        if "txn" in (action := json.loads(line))
    )
    query = next(query for query in tears.QUERIES if batch["appId"].startswith(query.removesuffix("_v1")))
    return int(batch["version"]) == max(tears.log_of(written, query).offsets, default=-1)


def goes_on(
    damage: Damage, site: Site, written: JobsWarehouse, more: list[PublishedLine], dice: random.Random
) -> list[str]:
    """Do a damage and ingest what comes: the job goes on."""
    damage(written, dice.choice(HOW))
    site.publish(more)
    code, output = written.ingest()
    return [f"exit code {code}: {output[-500:]}"] if code else harm.found(site, written)


def stops(
    damage: Damage, site: Site, written: JobsWarehouse, more: list[PublishedLine], dice: random.Random
) -> list[str]:
    """Do a damage: the job names what is damaged and writes nothing; restored, it goes on."""
    site.publish(more)
    saved, wrong = site.folder / "saved", list[str]()
    shutil.copytree(written.conf.parent, saved)
    file = damage(written, dice.choice(HOW))
    before = harm.state_of(site.folder)
    code, output = written.ingest()
    if code != ExitCode.STATE or str(file) not in output:
        wrong.append(f"exit code {code} and not {ExitCode.STATE} with {file}: {output[-500:]}")
    if harm.state_of(site.folder) != before:
        wrong.append(f"files changed: {harm.state_of(site.folder).items() ^ before.items()}")
    shutil.rmtree(written.conf.parent)
    shutil.move(saved, written.conf.parent)
    code, output = written.ingest()
    return [*wrong, f"exit code {code}: {output[-500:]}"] if code else [*wrong, *harm.found(site, written)]


def gold_repaired(damage: Damage, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Do a damage to what gold knows of itself: built on, it is that of an undisturbed run."""
    site, written, more = harm.begun(bootstrap_servers, folder, dice, "", more=SMALL_BATCHES)
    fail_at = dice.choice(GOLD_KILLED_AT)
    code, output = written.build_gold(fail_at)
    assert code == (-9 if fail_at else 0), output
    damage(written, dice.choice(HOW))
    site.publish(more)
    twin = harm.twin_of(site)
    for whose, (code, output) in (
        ("the ingest", written.ingest()),
        ("gold", written.build_gold()),
        ("the twin's gold", twin.build_gold()),
    ):
        if code:
            return [f"{whose} ended with exit code {code}: {output[-500:]}"]
    return [
        *harm.found(site, written, twin=twin),
        *oracles.bad_log(written.root, STREAM.gold),
        *oracles.unbalanced_books(written.root),
        *oracles.other_than_twin(written.root, twin.root, STREAM.gold, may_be_empty=NO_GOLD_OF),
    ]


Fault = Callable[[str, Path, random.Random], list[str]]

FAULTS: dict[str, Fault] = {
    "torn last offsets": partial(repaired, tears.last_offsets),
    "torn last commit": partial(repaired, tears.last_commit),
    "offset and commit log set back": partial(repaired, tears.both_logs),
    "torn metadata": partial(repaired, tears.metadata),
    "stale checksum": partial(repaired, tears.stale_checksum),
    "torn last entry of bronze": partial(by_its_batch, REQUEST_LOG),
    "torn last entry of silver": partial(by_its_batch, REQUESTS),
    "torn last entry of a shared table": partial(by_its_batch, SKIPPED),
    "torn last checkpoint": partial(repaired, tears.hint, has_checkpoints=True),
    "torn checkpoint of silver": partial(repaired, tears.table_checkpoint, has_checkpoints=True),
    "torn checkpoint of silver alone": partial(stopped, tears.table_checkpoint_alone),
    "torn last offsets of gold": partial(gold_repaired, tears.last_gold_offsets),
    "torn last entry of gold": partial(gold_repaired, partial(tears.last_entry, FETCH_LATENCY)),
    "torn middle entry": partial(stopped, tears.middle_entry),
    "torn writer id": partial(stopped, tears.writer_id),
    "lost checkpoint": partial(stopped, tears.whole_checkpoint),
}
