"""Handover from the former ingest, with one query per topic: no line is lost or written twice."""

from unittest.mock import Mock

import pytest

from conf.settings import Settings, WarehouseSettings
from engine.delta import log_entries, tables
from engine.ingest import checkpoints, handover
from engine.ingest.gaps import ends_in_bronze, finish_from_bronze
from engine.ingest.handover import hand_over
from engine.ingest.losses import TopicRecreatedError
from engine.ingest.positions import check_nothing_lost, checkpoint_of, writer_of_query, writers
from engine.ingest.sources import FORMER_QUERIES, LINES, SCRAPES
from engine.process.hadoop_files import ASIDE
from engine.streams.audit.ingest import repairs_of
from engine.streams.log import StreamLog
from engine.streams.writer_id import writer_id
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.raw_rows import raw
from tests.transforms.parse.records import COMPLETED

FORMER_REQUESTS, FORMER_CLIENTS = FORMER_QUERIES[:2]
REQUEST_TOPIC, CLIENT_TOPIC = "telemetry.request-log", "telemetry.client-log"


class FormerWarehouse:
    """A warehouse that the former ingest wrote."""

    def __init__(self, spark, root, monkeypatch):
        """Start with an empty warehouse."""
        self.spark, self.say = spark, Mock()
        self.settings = Settings(
            warehouse=WarehouseSettings(root=str(root / "w"), checkpoints=str(root / "c"))
        )
        monkeypatch.setattr(handover, "spark_session", lambda *_: spark)
        monkeypatch.setattr(checkpoints, "has_topic", lambda *_: False)

    def began(self, query, topic, *ends, bronze=(), committed):
        """Write batches of a former query with these ends, some in bronze, some committed."""
        log = StreamLog(checkpoint_of(self.settings, query))
        writer_id(log.folder)
        (log.folder / "metadata").write_text('{"id":"d4110d41-a810-4184-8eb7-6ddf0261c033"}')
        writer, table = writer_of_query(self.settings, query), query.bronze[0]
        tables.ensure(self.spark, self.settings.warehouse_root, table)
        for batch, end in enumerate(ends):
            log.write_ends(batch, {(topic, 0): end})
            if batch in bronze:
                first = ends[batch - 1] if batch else 0
                rows = [
                    {"value": COMPLETED, "topic": topic, "partition": 0, "offset": n}
                    for n in range(first, end)
                ]
                lines = raw(self.spark, rows, kind=topic.partition(".")[2]).select(*table.schema.names)
                root = self.settings.warehouse_root
                tables.append(lines, root, table, txn_app_id=writer.id, txn_version=batch)
            if batch < committed:
                log.write_commit(batch)
        return log

    def hand_over(self):
        """Hand over, then check that the new queries need no repair."""
        hand_over(self.settings, self.say)
        assert repairs_of(writers(self.settings)) == []
        return ends_in_bronze(writer_of_query(self.settings, LINES))


@pytest.fixture
def site(spark, tmp_path, monkeypatch):
    return FormerWarehouse(spark, tmp_path, monkeypatch)


def test_a_new_warehouse_has_nothing_to_hand_over(site):
    assert site.hand_over() == {}
    assert not checkpoint_of(site.settings, LINES).exists()


def test_the_query_of_lines_continues_at_the_position_of_each_topic(site):
    """One batch is committed, one is in bronze but not in silver, one was begun but not written."""
    site.began(FORMER_REQUESTS, REQUEST_TOPIC, 2, 3, bronze=(0, 1), committed=1)
    site.began(FORMER_CLIENTS, CLIENT_TOPIC, 5, 9, bronze=(0,), committed=1)

    assert site.hand_over() == {(REQUEST_TOPIC, 0): 3, (CLIENT_TOPIC, 0): 5}

    silver = tables.read(site.spark, site.settings.warehouse_root, REQUESTS)
    assert [row.offset for row in silver.collect()] == [2]  # silver lacked it, bronze had it
    log = StreamLog(checkpoint_of(site.settings, LINES))
    assert (log.offsets, log.commits) == ([0], [0])
    assert [one.query_name for one in writers(site.settings)] == ["ingest_lines", "ingest_scrapes"]
    assert len(list((log.folder.parent / ASIDE).iterdir())) == 2
    assert not StreamLog(checkpoint_of(site.settings, SCRAPES)).offsets


def test_a_topic_that_was_created_again_before_the_handover_is_detected(site, monkeypatch):
    log = site.began(FORMER_REQUESTS, REQUEST_TOPIC, 2, bronze=(0,), committed=1)
    (log.folder / checkpoints.TOPIC_ID).write_text("A_id_of_the_old_topic_")
    monkeypatch.setattr(checkpoints, "topic_id", lambda *_: "dKxJ3w_zS8-1b2c3d4e5fA")

    site.hand_over()

    with pytest.raises(TopicRecreatedError, match="was A_id_of_the_old_topic_"):
        check_nothing_lost(site.settings)


@pytest.mark.parametrize("step", ["streams.log.StreamLog.write_commit", "ingest.handover.set_aside"])
def test_an_interrupted_handover_is_repeated(site, monkeypatch, step):
    site.began(FORMER_REQUESTS, REQUEST_TOPIC, 2, bronze=(0,), committed=1)
    site.began(FORMER_CLIENTS, CLIENT_TOPIC, 5, bronze=(0,), committed=1)
    with monkeypatch.context() as patched:
        patched.setattr(f"engine.{step}", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            hand_over(site.settings, site.say)

    assert site.hand_over() == {(REQUEST_TOPIC, 0): 2, (CLIENT_TOPIC, 0): 5}


def test_a_batch_whose_topics_are_partly_in_bronze_is_finished_from_bronze(site):
    """The ingest died between two bronze tables; then retention deleted the lines of the written one."""
    site.began(FORMER_REQUESTS, REQUEST_TOPIC, 2, bronze=(0,), committed=1)
    site.began(FORMER_CLIENTS, CLIENT_TOPIC, 5, bronze=(0,), committed=1)
    site.hand_over()
    writer, root = writer_of_query(site.settings, LINES), site.settings.warehouse_root
    log = StreamLog(writer.checkpoint)
    log.write_ends(1, {(REQUEST_TOPIC, 0): 3, (CLIENT_TOPIC, 0): 9})
    rows = [{"value": COMPLETED, "topic": REQUEST_TOPIC, "partition": 0, "offset": 2}]
    line = raw(site.spark, rows, kind="request-log").select(*REQUEST_LOG.schema.names)
    tables.append(line, root, REQUEST_LOG, txn_app_id=writer.id, txn_version=1)

    assert repairs_of([writer]) == []
    assert ends_in_bronze(writer) == {(REQUEST_TOPIC, 0): 3, (CLIENT_TOPIC, 0): 5}
    finish_from_bronze(site.spark, site.settings, LINES, writer)

    assert (log.ends(1), log.commits) == ({(REQUEST_TOPIC, 0): 3, (CLIENT_TOPIC, 0): 5}, [0, 1])
    vars(log_entries._held).clear()
    assert tables.read(site.spark, root, REQUESTS).count() == 1
    assert tables.read(site.spark, root, CLIENT_EVENTS).count() == 0
    assert tables.read(site.spark, root, CLIENT_LOG).count() == 5
