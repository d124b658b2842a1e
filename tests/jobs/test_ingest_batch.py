"""One batch of a telemetry topic, written as `plumbline ingest` writes it."""

from datetime import UTC, datetime

import pytest

from conf.settings import DELTA, LIGHT, Settings, Warehouse
from jobs import tables
from jobs.ingest_batch import TakenError, write_batch
from jobs.sources import SOURCES
from schemas.bronze import RAW, REQUEST_LOG
from tests.transforms.parse.raw_rows import COMPLETED
from transforms.frames import frame_of

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SOURCE = SOURCES[0]


@pytest.mark.parametrize("committer", [LIGHT, DELTA])
def test_a_new_batch_whose_number_another_driver_took_is_not_written(spark, tmp_path, committer):
    """Whichever library commits: the lines of the second driver's batch may be others than the first's."""
    settings = Settings(warehouse=Warehouse(root=str(tmp_path), committer=committer))
    for table in SOURCE.tables:
        tables.ensure(spark, tmp_path, table)

    def write(offset, *, is_new):
        row = {"value": COMPLETED, "cluster": "lab", "node": "broker-1", "kind": "request-log"}
        row |= {"topic": "t", "partition": 0, "offset": offset, "position": f"p{offset}"}
        raw = frame_of(spark, [row | {"timestamp": AT, "ingest_date": AT.date()}], RAW)
        parsed = SOURCE.parse(raw, settings)
        return write_batch(parsed, 0, SOURCE, settings=settings, app_id="a", is_new=is_new)

    write(0, is_new=True)
    with pytest.raises(TakenError, match="another driver has written batch 0"):
        write(1, is_new=True)
    write(0, is_new=False)  # given again after it broke off: what is there stays

    held = tables.read(spark, tmp_path, REQUEST_LOG)
    assert [row.offset for row in held.select("offset").collect()] == [0]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.kind.value)
def test_a_stream_reads_its_topic_once(spark, tmp_path, source):
    """One put together with itself would read the topic twice, each with offsets of its own."""
    frame_of(spark, [], RAW).write.parquet(str(tmp_path / "raw"))
    raw = spark.readStream.schema(RAW).parquet(str(tmp_path / "raw"))
    parsed = source.parse(raw, Settings()) if source.parse else raw

    assert parsed._jdf.queryExecution().analyzed().toString().count("StreamingRelation") == 1
