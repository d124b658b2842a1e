"""Gold's one stream continues from the checkpoints of the four streams before it."""

import json
from dataclasses import replace

import pytest

from conf.settings import Settings, Warehouse
from engine.gold.stream import FORMER, STREAM, former_repairs, starting_versions
from engine.streams.log import StreamLog
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS


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


def test_each_table_is_read_from_the_oldest_position_of_the_former_streams(settings):
    for n, stream in enumerate(FORMER):
        write_batch(settings, stream, 0, [5 + n] * len(stream.read))
        write_batch(settings, stream, 1, [9] * len(stream.read), is_committed=False)

    found = starting_versions(settings)

    assert found.keys() == set(STREAM.read)
    assert (found[REQUESTS], found[RUNS]) == (4, 5)


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
