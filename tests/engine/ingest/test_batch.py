"""One batch of a telemetry topic, written as `plumbline ingest` writes it."""

import pickle
from datetime import UTC, datetime

import pytest

from conf.kafka_security import KafkaSecurity
from conf.settings import Settings, Telemetry, WarehouseSettings
from engine.delta import tables
from engine.ingest.batches import OtherRecordsError, TakenError, task_plan, write_batch
from engine.ingest.losses import LostError
from engine.ingest.sources import LINES, QUERIES, SOURCES
from engine.ingest.task.kafka import Range
from schemas.bronze import RAW, REQUEST_LOG
from schemas.silver.not_kept import GAPS, Loss
from tests.transforms.parse.records import COMPLETED
from transforms.frames import frame_of

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SOURCE = SOURCES[0]


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory):
    root = tmp_path_factory.mktemp("warehouse")
    for table in dict.fromkeys(table for source in SOURCES for table in source.tables):
        tables.ensure(spark, root, table)
    return root


def raw_of(spark, source, *offsets):
    """Return rows of bronze, one for each offset of partition 0."""
    row = {"value": COMPLETED, "cluster": "lab", "node": "broker-1", "kind": source.kind.value}
    row |= {"topic": "t", "partition": 0, "timestamp": AT, "ingest_date": AT.date()}
    return frame_of(spark, [row | {"offset": at, "position": f"p{at}"} for at in offsets], RAW)


def offsets_in(spark, root, table):
    return sorted(row.offset for row in tables.read(spark, root, table).select("offset").collect())


def test_a_new_batch_whose_id_another_driver_used_is_not_written(spark, tmp_path):
    """The lines of the second driver's batch may differ from the first's."""
    settings = Settings(warehouse=WarehouseSettings(root=str(tmp_path)))
    for table in LINES.tables:
        tables.ensure(spark, tmp_path, table)

    def write(offset, *, is_new):
        raw = raw_of(spark, SOURCE, offset)
        return write_batch(raw, 0, LINES, settings=settings, app_id="a", is_new=is_new)

    write(0, is_new=True)
    with pytest.raises(TakenError, match="another driver has written batch 0"):
        write(1, is_new=True)
    write(0, is_new=False)  # a retry changes nothing

    assert offsets_in(spark, tmp_path, REQUEST_LOG) == [0]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.kind.value)
def test_a_batch_reads_its_topic_once(spark, warehouse, source):
    """A second read would fetch every record from Kafka again."""
    reads = spark.sparkContext.accumulator(0)

    def counted(batches):
        for batch in batches:
            reads.add(batch.num_rows)
            yield batch

    raw = raw_of(spark, source, 0, 1, 2)
    settings = Settings(warehouse=WarehouseSettings(root=str(warehouse)))

    query = next(query for query in QUERIES if source in query.sources)
    write_batch(raw.mapInArrow(counted, RAW), 0, query, settings=settings, app_id=source.kind.value)

    assert reads.value == 3
    assert offsets_in(spark, warehouse, source.bronze) == [0, 1, 2]


@pytest.mark.parametrize(
    ("end", "error", "message"),
    [
        (
            4,
            LostError,
            r"have no record \(compaction, .*\): t partition 0: offsets 3 to 3; nothing was written",
        ),
        (2, OtherRecordsError, "the batch has offsets 0 to 1, but the tasks read 3 records, offsets 0 to 2"),
    ],
)
def test_a_batch_that_reads_other_records_than_its_offsets_is_not_committed(
    spark, warehouse, end, error, message
):
    settings = Settings(warehouse=WarehouseSettings(root=str(warehouse)))
    before = offsets_in(spark, warehouse, REQUEST_LOG)

    with pytest.raises(error, match=message):
        write_batch(
            raw_of(spark, SOURCE, 0, 1, 2),
            7,
            LINES,
            settings=settings,
            app_id="other",
            offsets={("t", 0): (0, end)},
        )

    assert offsets_in(spark, warehouse, REQUEST_LOG) == before


def test_the_plan_of_a_batch_has_the_path_of_a_password_and_not_the_password(tmp_path):
    """Spark sends it to the executors; they read the file."""
    (tmp_path / "password").write_text("hunter2")
    security = KafkaSecurity(
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_username="ingest",
        sasl_password_file=str(tmp_path / "password"),
    )
    settings = Settings(telemetry=Telemetry(security=security))
    sent = pickle.dumps(task_plan(settings, tmp_path, "a", reader="r", shares=[[Range("t", 0, 0, 1)]]))
    plan = pickle.loads(sent)  # noqa: S301 (of this test)

    assert b"hunter2" not in sent
    assert plan.security.librdkafka()["sasl.password"] == "hunter2"


def test_a_record_that_was_read_twice_is_not_committed(spark, warehouse):
    settings = Settings(warehouse=WarehouseSettings(root=str(warehouse)))

    with pytest.raises(OtherRecordsError, match="read 4 records, offsets 0 to 2"):
        write_batch(
            raw_of(spark, SOURCE, 0, 1, 2, 2),
            7,
            LINES,
            settings=settings,
            app_id="twice",
            offsets={("t", 0): (0, 3)},
            accepts=Loss.COMPACTION,
        )


def test_offsets_without_a_record_that_are_accepted_are_recorded_once_and_the_lines_are_kept(spark, tmp_path):
    """At the begin of a batch, inside, at its end, and a whole partition; also when the batch is retried."""
    settings = Settings(warehouse=WarehouseSettings(root=str(tmp_path)))
    for table in LINES.tables:
        tables.ensure(spark, tmp_path, table)

    for _ in range(2):
        written = write_batch(
            raw_of(spark, SOURCE, 2, 5, 6),
            3,
            LINES,
            settings=settings,
            app_id="holes",
            offsets={("t", 0): (1, 10), ("t", 1): (4, 6), ("t", 2): (9, 9)},
            accepts=Loss.COMPACTION,
        )

    assert offsets_in(spark, tmp_path, REQUEST_LOG) == [2, 5, 6]
    gaps = tables.read(spark, tmp_path, GAPS).collect()
    assert sorted((row.partition, row.first_offset, row.end_offset, row.lines) for row in gaps) == [
        (0, 1, 2, 1),
        (0, 3, 5, 2),
        (0, 7, 10, 3),
        (1, 4, 6, 2),
    ]
    assert {(row.topic, row.reason, row.writer, row.batch_id) for row in gaps} == {
        ("t", "compaction", "holes", 3)
    }
    assert written.tables[-1] == "silver.gaps"
