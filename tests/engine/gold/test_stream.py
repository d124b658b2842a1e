"""Gold's one stream continues from the checkpoints of the four streams before it."""

import json
from dataclasses import replace

import pytest

from conf.settings import Settings, Warehouse
from engine.delta import tables
from engine.gold.arrivals import arrivals
from engine.gold.batches import Batches
from engine.gold.stream import FORMER, STREAM, WRITERS, former_repairs, starting_versions
from engine.process.progress import Progress
from engine.streams.log import StreamLog
from schemas.bronze import BRONZE
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.silver import SILVER
from schemas.silver.requests import REQUESTS
from tests.jobs.test_build_gold import Lab, at_once, idle


@pytest.fixture
def settings(tmp_path):
    return replace(Settings(), warehouse=Warehouse(root=str(tmp_path / "w"), checkpoints=str(tmp_path / "c")))


def write_batch(settings, stream, batch, versions, *, is_committed=True):
    log = StreamLog(stream.checkpoint(settings))
    log.offsets_file(batch).parent.mkdir(parents=True, exist_ok=True)
    offsets = [
        json.dumps({"sourceVersion": 1, "reservoirVersion": version, "index": -1}) for version in versions
    ]
    log.offsets_file(batch).write_text("\n".join(["v1", json.dumps({"batchWatermarkMs": 0}), *offsets]))
    if is_committed:
        log.write_commit(batch)


def run(lab, stream, writers, starting=None):
    """Run one stream over the new rows, as the job does; return the request lines of each batch."""
    lines = []
    batches = Batches([writer(lab.spark, lab.warehouse, Progress()) for writer in writers], Progress())

    def each(batch, batch_id):
        lines.append(batch.filter(f"input = '{REQUESTS.name}'").count())
        batches(batch, batch_id)

    rows = arrivals(lab.spark, lab.settings, starting, read=stream.read)
    stream.writer(rows, lab.settings, each).trigger(availableNow=True).start().awaitTermination()
    stream.note(lab.settings)
    return lines


def test_it_continues_from_the_checkpoints_of_real_former_streams(spark, tmp_path):
    """What all former streams had read is not read again, and gold equals a build from all of silver."""
    lab = Lab(spark, tmp_path)
    for table in (*BRONZE, *SILVER, *GOLD):
        tables.ensure(spark, lab.warehouse, table)
    first, second, third = idle(n=20), idle(first=20.6, n=20), idle(first=40.6, n=20)
    for part in (first, second):
        lab.arrive(*part)
        for stream, writer in zip(FORMER, WRITERS, strict=True):
            run(lab, stream, [writer])
    lab.arrive(*third)

    lines = run(lab, STREAM, WRITERS, starting_versions(lab.settings))

    assert sum(lines) == len(second[0]) + len(third[0])  # the newest version before is read once more
    everything = [first[n] + second[n] + third[n] for n in (0, 1)]
    assert lab.gold(BROKER_RTT) == at_once(spark, *everything, BROKER_RTT)


def test_damaged_gold_of_a_former_stream_is_built_from_all_of_silver(spark, tmp_path):
    lab = Lab(spark, tmp_path)
    for table in (*BRONZE, *SILVER, *GOLD):
        tables.ensure(spark, lab.warehouse, table)
    lab.arrive(*idle(n=20))
    for stream, writer in zip(FORMER, WRITERS, strict=True):
        run(lab, stream, [writer])
    assert starting_versions(lab.settings).keys() == set(STREAM.read)

    log = lab.warehouse / BROKER_RTT.layer / BROKER_RTT.name / "_delta_log"
    max(log.glob("*.json")).write_bytes(b"")

    assert starting_versions(lab.settings) == {}


def test_without_a_position_of_each_former_stream_gold_is_built_from_all_of_silver(settings):
    assert starting_versions(settings) == {}
    write_batch(settings, FORMER[0], 0, [5, 5, 5])
    assert starting_versions(settings) == {}


def test_former_checkpoints_stay_until_the_first_batch_is_planned(settings):
    write_batch(settings, FORMER[0], 0, [5, 5, 5])
    assert former_repairs(settings) == []

    write_batch(settings, STREAM, 0, [5] * len(STREAM.read), is_committed=False)
    [repair] = former_repairs(settings)
    repair.do()

    assert not FORMER[0].checkpoint(settings).exists()
    assert STREAM.checkpoint(settings).exists()
