"""Rows that are written once."""

import pyarrow as pa
from deltalake import write_deltalake

from engine.ingest.task.arrow_rows import record_batch
from engine.ingest.task.known_rows import KnownRows
from schemas.silver.brokers import BROKERS
from transforms.parse.brokers import broker_rows
from transforms.parse.record import DAY_US


def rows(day, **racks):
    pairs = [(int(name[1:]), rack) for name, rack in racks.items()]
    return broker_rows("lab", day * DAY_US + 5, "p/1", "poll", pairs)


def test_a_broker_is_written_again_on_another_day_or_with_another_rack(tmp_path):
    """Delta has dates and the parsers have days since 1970; a restarted ingest must compare them."""
    written = pa.Table.from_batches([record_batch(BROKERS, rows(20_000, b1="a", b2=None))])
    write_deltalake(tmp_path / BROKERS.name, written, partition_by=["logged_date"])
    known = KnownRows(lambda name: tmp_path / name)

    again = known.unknown(BROKERS.name, rows(20_000, b1="a", b2=None))
    moved = known.unknown(BROKERS.name, rows(20_000, b1="b", b2="a"))
    later = known.unknown(BROKERS.name, [*rows(20_001, b1="a", b2=None), *rows(20_001, b1="a")])

    assert again == []
    assert [(row.broker_id, row.rack) for row in moved] == [(1, "b"), (2, "a")]
    assert [(row.broker_id, row.rack) for row in later] == [(1, "a"), (2, None)]
