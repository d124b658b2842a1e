"""Retention passes what was not read: the job stops; `--accept-gap` notes just what is gone and goes on."""

import random
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from benchmarks.faults import harm
from benchmarks.faults.oracles import RECORD, rows_of, where
from benchmarks.faults.site import JobsWarehouse, Site
from conf.exit_codes import ExitCode
from conf.names import TelemetryPartition
from schemas.bronze import REQUEST_LOG
from schemas.silver.not_kept import GAPS


def retention_passes(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Delete records after the checkpoint, between two batches or in the middle of one."""
    site, written, more = harm.begun(bootstrap_servers, folder, dice, dice.choice(harm.KILLED_AT))
    site.publish(more)
    twin = harm.twin_of(site)  # what is deleted next no twin could read
    place, first = pass_by(bootstrap_servers, site, dice)
    before = harm.state_of(folder)
    code, output = written.ingest()
    wrong = [] if code == ExitCode.GONE else [f"exit code {code} and not {ExitCode.GONE}: {output[-500:]}"]
    wrong += [] if f"{place[0]} partition {place[1]}: offsets " in output else [f"not named: {output[-500:]}"]
    wrong += [] if harm.state_of(folder) == before else ["files changed by a job that stopped"]
    for _ in range(2):  # the second finds nothing to accept
        code, output = written.ingest("", "--accept-gap")
        wrong += [f"exit code {code}: {output[-500:]}"] if code else []
    return wrong or [*wrong, *gap_is_exact(site, written, twin, place, first)]


def pass_by(bootstrap_servers: str, site: Site, dice: random.Random) -> tuple[TelemetryPartition, int]:
    """Delete the records of one partition up to somewhere after what was read; return the first one left."""
    topic = next(acked.topic for acked in site.ledger if acked.topic.endswith("request-log"))
    held = [acked.offset for acked in site.ledger if acked.topic == topic and acked.partition == 1]
    first = max(held) + 1 - dice.randrange(1, 20)
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for deleted in admin.delete_records([TopicPartition(topic, 1, first)]).values():
        deleted.result(timeout=30)
    return (topic, 1), first


def gap_is_exact(
    site: Site, written: JobsWarehouse, twin: JobsWarehouse, place: TelemetryPartition, first: int
) -> list[str]:
    """Hold `silver.gaps` against what bronze lacks: the same offsets, noted once; all else is the twin's."""
    if not where(written.root, GAPS).exists():
        return ["there is no silver.gaps"]
    gaps = rows_of(written.root, GAPS).to_pylist()
    noted = [n for gap in gaps for n in range(gap["first_offset"], gap["end_offset"])]
    bronze = rows_of(written.root, REQUEST_LOG, *RECORD).to_pylist()
    held = {row["offset"] for row in bronze if (row["topic"], row["partition"]) == place}
    acked = {a.offset for a in site.ledger if (a.topic, a.partition) == place}
    wrong = (
        [] if sorted(noted) == sorted(acked - held) else [f"noted {noted}, missing {sorted(acked - held)}"]
    )
    wrong += [] if noted and max(noted) == first - 1 else [f"the gap should end before {first}: {gaps}"]
    return [*wrong, *harm.found(site, written, twin=twin, gone={(*place, offset) for offset in noted})]


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {"retention passes": retention_passes}
