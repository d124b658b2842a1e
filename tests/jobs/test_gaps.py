"""What a gap leaves in bronze, and how far a query has read; that it is exact: tests/faults/test_gap.py."""

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import Transaction

from jobs import light_commit
from jobs.gaps import reached
from jobs.state import Writer
from jobs.stream_log import StreamLog

TOPIC, APP = "t.request-log", "ingest_request_log-x"


@pytest.fixture
def bronze(tmp_path):
    where = tmp_path / "bronze"
    noted = CommitProperties(app_transactions=[Transaction(APP, 0)])
    write_deltalake(where, pa.table({"offset": [1, 2]}), commit_properties=noted)
    return where


@pytest.fixture
def writer(tmp_path, bronze):
    return Writer(
        query_name="ingest_request_log",
        checkpoint=tmp_path / "checkpoint",
        app_id=APP,
        topic=TOPIC,
        tables=(bronze,),
    )


def test_a_gap_takes_its_number_in_bronze_once_and_no_row(bronze):
    for _ in range(2):
        light_commit.note_batch(bronze, txn_app_id=APP, txn_version=1)

    table = DeltaTable(str(bronze))
    assert (table.version(), table.transaction_version(APP), table.count()) == (1, 1, 2)


def test_nothing_was_reached_by_a_query_without_a_batch(writer):
    assert reached(writer) == {}


@pytest.mark.parametrize(
    ("batches", "committed", "end"),
    [
        (1, 1, 10),  # bronze has batch 0 and Spark knows
        (1, 0, 10),  # bronze has batch 0, silver may lack it: its lines are not lost
        (2, 1, 10),  # batch 1 was begun and bronze has none of it
        (2, 2, 20),  # a batch that is committed counts even when bronze were set back: the audit tells that
    ],
)
def test_lines_that_bronze_has_count_as_read(writer, batches, committed, end):
    log = StreamLog(writer.checkpoint)
    for batch in range(batches):
        log.write_ends(batch, {(TOPIC, 0): (batch + 1) * 10})
    for batch in range(committed):
        log.write_commit(batch)

    assert reached(writer) == {(TOPIC, 0): end}
