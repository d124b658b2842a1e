"""The driver commits exactly the files that tasks reported; it detects lost, short and extra files."""

import pytest

from conf.settings import Settings, WarehouseSettings
from engine.delta import tables
from engine.ingest import batches
from engine.ingest.batches import write_batch
from engine.ingest.losses import TopicRecreatedError, TruncatedError
from engine.ingest.sources import LINES
from engine.ingest.task import batch_files
from engine.ingest.task.batch_files import LostFileError, WrittenBatch
from engine.ingest.task.kafka import Epochs, Range
from engine.ingest.task.written import Tally
from schemas.bronze import RAW, REQUEST_LOG
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.records import COMPLETED
from transforms.frames import frame_of

ROW = {"value": COMPLETED, "cluster": "lab", "node": "broker-1", "kind": "request-log", "position": "p"}


@pytest.fixture
def write(spark, tmp_path, monkeypatch):
    """Write a batch of one line; `harm` changes the silver file before the driver checks it."""

    def write(harm):
        check = batch_files.check_written

        def harmed(warehouse, attempt, files):
            [file] = (warehouse / "silver" / "requests" / attempt).rglob("*.parquet")
            harm(file)
            return check(warehouse, attempt, files)

        monkeypatch.setattr(batch_files, "check_written", harmed)
        settings = Settings(warehouse=WarehouseSettings(root=str(tmp_path)))
        for table in LINES.tables:
            tables.ensure(spark, tmp_path, table)
        return write_batch(frame_of(spark, [ROW], RAW), 0, LINES, settings=settings, app_id="a", is_new=True)

    return write


def rows(spark, root):
    return [tables.read(spark, root, table).count() for table in (REQUEST_LOG, REQUESTS)]


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda file: file.unlink(), "is missing; its task wrote"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "bytes; its task wrote"),
    ],
    ids=["lost", "short"],
)
def test_a_lost_or_truncated_file_stops_the_batch(write, spark, tmp_path, harm, message):
    with pytest.raises(LostFileError, match=message):
        write(harm)

    assert rows(spark, tmp_path) == [0, 0]


def test_a_file_that_no_task_reported_is_listed_and_not_committed(write, spark, tmp_path):
    written = write(lambda file: file.with_name("extra.parquet").write_bytes(file.read_bytes()))

    assert [file.name for file in written.unnamed] == ["extra.parquet"]
    assert rows(spark, tmp_path) == [1, 1]


def test_a_topic_that_was_created_again_during_the_read_leaves_all_tables_unchanged(spark, tmp_path):
    settings = Settings(warehouse=WarehouseSettings(root=str(tmp_path)))
    for table in LINES.tables:
        tables.ensure(spark, tmp_path, table)

    def created_again():
        raise TopicRecreatedError("t", "its id is b and was a")  # noqa: EM101 (a topic, not a message)

    with pytest.raises(TopicRecreatedError):
        write_batch(
            frame_of(spark, [ROW], RAW), 0, LINES, settings=settings, app_id="a", check_topics=created_again
        )
    assert rows(spark, tmp_path) == [0, 0]


def test_a_partition_that_tasks_found_truncated_stops_the_batch_before_a_commit(tmp_path, monkeypatch):
    tally = Tally(epochs=Epochs(truncated=[Range("t", 3, 40, 60, 4)]))
    monkeypatch.setattr(batches, "write_batch_files", lambda *_, **__: WrittenBatch(tally=tally))
    settings = Settings(warehouse=WarehouseSettings(root=str(tmp_path)))

    with pytest.raises(TruncatedError, match=r"t partition 3 was truncated .*\(offset 39, which was read"):
        write_batch(None, 0, LINES, settings=settings, app_id="a", offsets={})
