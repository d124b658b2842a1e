"""Audit what a power cut left, as the jobs do at their start, and compare bronze with the ledger."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.faults import oracles
from benchmarks.faults.site import Acked, JobsWarehouse
from benchmarks.faults.steady import ALL
from conf.settings import Settings
from engine.delta import tables
from engine.gold.stream import STREAM
from engine.ingest.gaps import ends_in_bronze
from engine.ingest.positions import writers
from engine.streams.audit.findings import Repair, StateError, apply_repairs
from engine.streams.audit.ingest import repairs_of
from schemas.bronze import BRONZE


def wrong_after_cut(written: JobsWarehouse, left: Path, ledger: Sequence[Acked]) -> list[str]:
    """
    Repair the copy of a warehouse that a power cut left; return what is lost, doubled, or cannot be repaired.

    Bronze must have each line up to the offset from which the ingest would continue, and no other.
    """
    conf = left / written.conf.name
    conf.write_text(conf.read_text().replace(str(written.conf.parent), str(left)))
    settings = Settings.load(conf)
    try:
        apply_repairs(repairs_of(writers(settings)), lambda _: None)
        apply_repairs(STREAM.repairs(settings), lambda _: None)
        found: list[Repair] = [*repairs_of(writers(settings)), *STREAM.repairs(settings)]
    except StateError as error:
        return [f"a power cut left what cannot be repaired: {error}"]
    root = settings.warehouse_root
    for table in ALL:
        tables.make(root, table)
    ends = {place: end for writer in writers(settings) for place, end in ends_in_bronze(writer).items()}
    due = [line for line in ledger if line.offset < ends.get((line.topic, line.partition), 0)]
    if not due and any(oracles.rows_of(root, table, "offset").num_rows for table in BRONZE):
        return ["bronze has lines, and the ingest would read the topics from their start"]
    return [
        *(f"a second audit found more: {repair.reason}" for repair in found),
        *(oracles.lost_or_doubled(root, due) if due else ()),
        *oracles.bad_log(root, ALL),
    ]
