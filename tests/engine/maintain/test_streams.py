"""What maintenance keeps for streams that have not read it yet."""

import json
import os
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from engine.delta import log_entries
from engine.maintain import actions
from engine.maintain.streams import StreamReader, needed, readers, stands_still
from engine.streams.log import StreamLog
from schemas.silver.requests import REQUESTS
from tests.engine.maintain.made_tables import HOUR_S, MIB, days_ago
from tests.engine.streams.made_stream import Stream


def test_a_stream_goes_on_over_merged_deleted_and_vacuumed_files(warehouse):
    """It neither fails nor reads a line again; what it has not read yet is kept for it."""
    seen = Counter()

    def read_on():
        stream = warehouse.spark.readStream.format("delta").option("skipChangeCommits", "true")
        query = (
            stream.option("maxFilesPerTrigger", 1)
            .load(str(warehouse.where(REQUESTS)))
            .writeStream.option("checkpointLocation", str(warehouse.checkpoints / "gold"))
            .foreachBatch(
                lambda batch, _: seen.update(r.position for r in batch.select("position").collect())
            )
        )
        query.trigger(availableNow=True).start().awaitTermination()

    warehouse.append(REQUESTS, days_ago(1), days_ago(40))
    read_on()
    warehouse.append(REQUESTS, days_ago(1), days_ago(40), times=3)
    result = warehouse.maintain()
    assert result.exit_code == 0, result.stderr
    stream = readers(warehouse.checkpoints, str(DeltaTable(str(warehouse.where(REQUESTS))).metadata().id))
    warehouse.append(REQUESTS, days_ago(0))
    read_on()
    actions.compact(DeltaTable(str(warehouse.where(REQUESTS))), REQUESTS, days_ago(0), target_bytes=MIB)
    log = DeltaTable(str(warehouse.where(REQUESTS)))
    actions.vacuum(log, actions.unneeded(log, 0), 0)
    warehouse.append(REQUESTS, days_ago(0), times=1)
    read_on()

    assert [(reader.query, reader.version, reader.is_starting) for reader in stream] == [("gold", 3, False)]
    assert seen == {f"p{n}": 2 if n <= 5 else 1 for n in range(1, 9)}
    assert warehouse.files(REQUESTS)[days_ago(1)] == 1


def test_files_are_kept_since_the_slowest_stream_stood_still(tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    now = datetime.now(UTC)
    for version, hours in enumerate((400, 300, 200, 1)):
        entry = log / f"{version:020}.json"
        entry.touch()
        os.utime(entry, (now.timestamp() - hours * HOUR_S,) * 2)

    def kept(version, **more):
        stream = StreamReader(query="build_gold", checkpoint=tmp_path, version=version, **more)
        return needed(log, [stream], hours=168, log_hours=168, now=now)

    assert (kept(3).hours, kept(4).hours) == (168, 168)
    assert kept(1).hours == 301
    assert kept(1).is_log_needed
    assert kept(1, is_starting=True).hours > 100 * 365 * 24
    assert kept(3, is_starting=True).hours == 168
    assert "build_gold" in kept(1).why
    (log / f"{1:020}.json").unlink()
    assert kept(1).hours == 168
    assert "cannot continue" in kept(1).why


def test_a_stream_that_stood_still_for_longer_than_the_retention_of_the_log_can_continue(warehouse):
    """The entries that it has not read stay, though they are old and below a checkpoint."""
    where = warehouse.where(REQUESTS)
    for _ in range(4):
        warehouse.append(REQUESTS, days_ago(3))
    read_to, log = DeltaTable(where).version() - 4, where / "_delta_log"
    log_entries.write_checkpoint(where, log_entries.opened(where))
    for file in log.iterdir():
        os.utime(file, (datetime.now(UTC).timestamp() - 3 * 24 * HOUR_S,) * 2)
    warehouse.append(REQUESTS, days_ago(0))
    stream = StreamLog(warehouse.checkpoints / "build_gold-v4")
    stream.offsets_file(0).parent.mkdir(parents=True)
    place = {"sourceVersion": 1, "reservoirId": str(DeltaTable(where).metadata().id), "index": -1}
    place |= {"reservoirVersion": read_to, "isStartingVersion": False}
    stream.offsets_file(0).write_text(f"v1\n{{}}\n{json.dumps(place)}")
    stream.write_commit(0)

    result = warehouse.maintain("--only", "silver.requests")

    assert result.exit_code == 0, result.stderr
    assert f"merged {days_ago(3)}" in result.stderr
    assert "cannot continue" not in result.stderr
    assert {f"{version:020}.json" for version in range(read_to, read_to + 5)} <= {
        file.name for file in log.iterdir()
    }


def test_files_that_a_clock_set_back_removed_are_kept_for_a_stream_that_has_not_read_them(warehouse):
    """They look unused for days (found by the nemesis: gold ended with 1 at every start)."""
    for _ in range(2):
        warehouse.append(REQUESTS, days_ago(1))
    where = warehouse.where(REQUESTS)
    actions.compact(DeltaTable(where), REQUESTS, days_ago(1), target_bytes=MIB)
    log, now = where / "_delta_log", datetime.now(UTC)
    newest = DeltaTable(where).version()
    merge = log / f"{newest:020}.json"
    lines = [json.loads(line) for line in merge.read_text().splitlines()]
    for action in lines:
        if "remove" in action:
            action["remove"]["deletionTimestamp"] -= 5 * 24 * HOUR_S * 1_000
    merge.write_text("\n".join(map(json.dumps, lines)))

    def kept(version):
        stream = StreamReader(query="build_gold", checkpoint=where, version=version)
        return needed(log, [stream], hours=48, log_hours=168, now=now).hours

    assert (kept(newest - 1), kept(newest), kept(newest + 1)) == (121, 121, 48)


def test_the_commits_that_a_deletion_relies_on_are_on_disk(tmp_path, monkeypatch):
    log, synced = StreamLog(tmp_path / "build_gold_v1"), []
    read_to = '{"sourceVersion":1,"reservoirId":"an-id","reservoirVersion":5,"index":-1}'
    log.offsets_file(0).parent.mkdir(parents=True)
    log.offsets_file(0).write_text(f"v1\n{{}}\n{read_to}")
    readers(tmp_path, "an-id")  # no commit is there yet
    log.write_commit(0)
    monkeypatch.setattr("engine.streams.log.sync_checked", synced.append)

    readers(tmp_path, "another-id")
    readers(tmp_path, "an-id")

    assert synced == [log.commits_file(0)]


@pytest.mark.parametrize("torn", ["", "\0" * 300, 'v1\n{"batchWatermarkMs":0}\n{"sourceVersion":1,"reser'])
def test_a_stream_that_does_not_tell_what_it_has_read_wants_everything(warehouse, torn):
    log = StreamLog(warehouse.checkpoints / "build_gold_v1")
    for batch in range(2):
        log.write_ends(batch, {("t", 0): batch})
        log.write_commit(batch)
    log.offsets_file(1).write_text(torn)
    warehouse.append(REQUESTS, days_ago(1))
    orphan = warehouse.where(REQUESTS) / "killed-1-abcd" / "part-0.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(b"x" * 100)
    os.utime(orphan, (time.time() - 200 * HOUR_S,) * 2)

    result = warehouse.maintain("--only", "silver.requests")

    assert result.exit_code == 0, result.stderr
    assert orphan.exists()
    assert "silver.requests: the stream build_gold_v1 (if it is no longer used, remove" in result.stderr
    assert f"{log.offsets_file(1)} is torn: all files are kept for it" in result.stderr


def test_a_batch_whose_commit_is_torn_is_given_again_and_wants_its_files(tmp_path):
    log = StreamLog(tmp_path / "build_gold_v1")
    for batch in range(3):
        told = f'{{"sourceVersion":1,"reservoirId":"an-id","reservoirVersion":{batch + 5},"index":-1}}'
        log.offsets_file(batch).parent.mkdir(parents=True, exist_ok=True)
        log.offsets_file(batch).write_text(f"v1\n{{}}\n{told}")
        log.write_commit(batch)
    assert [stream.version for stream in readers(tmp_path, "an-id")] == [7]

    log.commits_file(2).write_text("")

    assert [stream.version for stream in readers(tmp_path, "an-id")] == [6]


def test_the_entry_of_a_batch_that_was_left_unfinished_is_kept(tmp_path):
    """Its rows tell where it ends, and which parser began it."""
    stream = Stream(tmp_path).write(2, until="silver")
    now = datetime.now(UTC)

    def kept(where, hours):
        return stands_still([stream.writer()], where, now + timedelta(hours=hours))

    assert [kept(stream.silver, hours) for hours in (0.5, 1.5)] == [False, True]
    assert not kept(tmp_path / "silver" / "other", 1.5)
    stream.log.write_commit(1)
    assert not kept(stream.silver, 1.5)
