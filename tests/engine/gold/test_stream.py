"""Gold's one stream continues from the checkpoints of the streams before it."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from pyspark.sql import functions as F

from conf.progress import Progress
from conf.settings import PROJECT, Settings, WarehouseSettings
from engine.delta import tables
from engine.gold.arrivals import arrivals
from engine.gold.batches import Batches
from engine.gold.builder import Builder
from engine.gold.former import FORMER, former_repairs, starting_versions
from engine.gold.stream import STREAM
from engine.process.fail_points import VARIABLE
from engine.streams.audit.findings import StateError
from engine.streams.log import StreamLog
from schemas.bronze import BRONZE, REQUEST_LOG
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver import SILVER
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.engine.gold.gold_lab import append, arrived_at
from tests.jobs.test_build_gold import FetchLab, at_once, idle, settings_file
from tests.transforms.gold.silver_rows import START, stream_of
from transforms.gold.builds import BUILDS
from transforms.gold.fetch_latency.build import BUILD
from transforms.gold.partition_skew import table as skew
from transforms.spans import Span, window_of

SPAN = Span(window_of(START.timestamp()), window_of(START.timestamp()) + 120)


@pytest.fixture
def settings(tmp_path):
    return replace(
        Settings(), warehouse=WarehouseSettings(root=str(tmp_path / "w"), checkpoints=str(tmp_path / "c"))
    )


def write_batch(settings, stream, batch, versions, *, is_committed=True):
    log = StreamLog(stream.checkpoint(settings))
    log.offsets_file(batch).parent.mkdir(parents=True, exist_ok=True)
    offsets = [
        json.dumps({"sourceVersion": 1, "reservoirVersion": version, "index": -1}) for version in versions
    ]
    log.offsets_file(batch).write_text("\n".join(["v1", json.dumps({"batchWatermarkMs": 0}), *offsets]))
    (log.folder / "metadata").write_text(json.dumps({"id": "7d9c1e44-0b57-4a0d-8d3c-6f8e3a1b2c5d"}))
    if is_committed:
        log.write_commit(batch)


def run(lab, stream, builds, starting=None):
    """Run one stream over the new rows, as the job does; return the request lines of each batch."""
    lines = []
    batches = Batches(Builder(lab.spark, lab.warehouse, Progress(), builds), Progress())

    def each(batch, batch_id):
        lines.append(batch.filter(F.contains("file", F.lit(f"/{REQUESTS.name}/"))).count())
        batches(batch, batch_id)

    rows = arrivals(lab.spark, lab.settings, starting, builds=builds)
    stream.writer(rows, lab.settings, each).trigger(availableNow=True).start().awaitTermination()
    stream.note(lab.settings)
    return lines


def former_run(lab, streams):
    """
    Build gold of the new rows, and leave the checkpoints that the former streams would have left.

    The former code is gone; a stream's position is the version of each table that it would read next.
    """
    newest = {table.name: tables.snapshot(lab.warehouse, table).version for table in (*BRONZE, *SILVER)}
    Builder(lab.spark, lab.warehouse, Progress()).rebuild_span(SPAN)
    for stream in streams:
        write_batch(lab.settings, stream, 0, [newest[table.name] + 1 for table in stream.read])
        stream.note(lab.settings)


@pytest.fixture
def lab(spark, tmp_path):
    lab = FetchLab(spark, tmp_path, *BUILDS)
    for table in (*BRONZE, *SILVER, *GOLD):
        tables.ensure(spark, lab.warehouse, table)
    return lab


@pytest.mark.parametrize("streams", FORMER, ids=["version 3", "version 2", "version 1"])
def test_it_continues_from_the_checkpoints_of_former_streams(lab, streams):
    """What all former streams had read is not read again, and gold equals a build from all of silver."""
    first, second, third = (idle(first=at + 0.6, n=20, start_id=10 * at) for at in (0, 20, 40))
    for part in (first, second):
        lab.arrive(*part)
    former_run(lab, streams)
    lab.arrive(*third)

    lines = run(lab, STREAM, BUILDS, starting_versions(lab.settings))

    assert sum(lines) == len(second[0]) + len(third[0])  # the newest version before is read once more
    everything = [first[n] + second[n] + third[n] for n in (0, 1)]
    assert lab.rows(BROKER_RTT) == at_once(lab.spark, *everything)[BROKER_RTT.name]


def test_damaged_gold_of_a_former_stream_is_built_from_all_of_silver(lab):
    lab.arrive(*idle(n=20))
    former_run(lab, FORMER[-1])
    assert starting_versions(lab.settings).keys() == set(STREAM.read)

    log = lab.warehouse / BROKER_RTT.layer / BROKER_RTT.name / "_delta_log"
    max(log.glob("*.json")).write_bytes(b"")

    assert starting_versions(lab.settings) == {}


@pytest.mark.parametrize("table", [REQUEST_LOG, REQUESTS, QUARANTINE], ids=lambda table: table.name)
def test_a_torn_table_of_the_ingest_stops_the_job_before_it_begins_and_is_named(settings, table):
    """Of some tables only the lines are counted (found by the nemesis: delta-rs named no file)."""
    tables.make(settings.warehouse_root, table)
    (entry,) = (settings.warehouse_root / table.layer / table.name / "_delta_log").glob("*.json")
    entry.write_bytes(bytes(entry.stat().st_size))

    with pytest.raises(StateError, match=f"{table.name}/_delta_log/{entry.name}") as refused:
        STREAM.repairs(settings)

    assert "plumbline ingest" in str(refused.value)


def test_other_inputs_need_a_new_version():
    """A checkpoint fits only its query: increment `version`, and add the former one to `FORMER`."""
    read = ["client_events", "isr_changes", "leadership_changes", "metric_samples", "metric_series"]
    read += ["reassignments", "requests", "runs", "throttle_changes", "topics"]

    assert (STREAM.version, [table.name for table in STREAM.read]) == (4, read)


def test_an_input_that_no_former_stream_read_begins_with_its_newest_version(lab):
    """Its older rows would touch windows that are built already. It has an offset from the first batch on."""
    for name in ("orders", "payments"):
        row = {"cluster": "lab", "topic_id": f"id of {name}", "topic_name": name, "seen_at": START}
        append(lab.frame(TOPICS, [row]), lab.warehouse, TOPICS)
    lab.arrive(*idle(n=20))
    former_run(lab, FORMER[0])

    starting = starting_versions(lab.settings)
    run(lab, STREAM, BUILDS, starting)

    log = StreamLog(STREAM.checkpoint(lab.settings))
    offset = log.sources(max(log.commits))[STREAM.read.index(TOPICS)]
    assert (starting[TOPICS], offset["reservoirVersion"]) == (2, 3)


def test_without_a_position_of_each_former_stream_gold_is_built_from_all_of_silver(settings):
    assert starting_versions(settings) == {}
    write_batch(settings, FORMER[-1][0], 0, [5, 5, 5])
    assert starting_versions(settings) == {}


def test_former_checkpoints_stay_until_the_first_batch_is_planned(settings):
    write_batch(settings, FORMER[-1][0], 0, [5, 5, 5])
    assert former_repairs(settings) == []

    write_batch(settings, STREAM, 0, [5] * len(STREAM.read), is_committed=False)
    [repair] = former_repairs(settings)
    repair.do()

    assert not FORMER[-1][0].checkpoint(settings).exists()
    assert STREAM.checkpoint(settings).exists()


def test_a_kill_between_the_commits_of_a_batch_leaves_no_table_unsettled(lab):
    """The batch gives up a silent broker. Its retry finds the window settled in the first table only."""
    requests, events = idle(n=18)
    later, later_events = stream_of(4, first=300.6, leader=1, follower=2, start_id=900)
    lab.arrive(requests, events)
    run(lab, STREAM, BUILDS)
    lab.arrive(later, later_events)

    command = [sys.executable, "-m", "jobs.build_gold", "--conf", settings_file(lab)]
    killed = subprocess.run(
        command, cwd=PROJECT, env=os.environ | {VARIABLE: "gold-table-committed"}, timeout=300, check=False
    )
    between = {table: settled_at_start(lab, table) for table in (FETCH_LATENCY, BROKER_RTT)}
    run(lab, STREAM, BUILDS)

    assert killed.returncode == -signal.SIGKILL
    assert between == {FETCH_LATENCY: {True}, BROKER_RTT: {False}}
    expected = at_once(lab.spark, requests + later, events + later_events)
    built = lab.gold()
    assert {name: built[name] for name in expected} == expected
    assert settled_at_start(lab, BROKER_RTT_CULPRIT) == {True}


def settled_at_start(lab, table):
    start = START.replace(tzinfo=None)
    return {row["is_settled"] for row in lab.rows(table) if row["window_start"] == start}


@pytest.mark.parametrize(("table", "times"), [(REQUESTS, 5), (CLIENT_EVENTS, 7)])
def test_a_window_is_built_by_each_batch_with_lines_that_can_pair_with_its_own(table, times):
    """At the default trigger: lines of the request log up to 10 s after it, of the client log up to 15 s."""
    built = Counter()
    (touch,) = (BUILD.touch_name(n) for n, touch in enumerate(BUILD.touched_by) if touch.table is table)
    for end in range(3, 200, 5):
        slots = {window_of(second) for second in range(end - 5, end)}
        touched = BUILD.touched([arrived_at(table, slot, touch) for slot in slots], max(slots))
        built.update(set().union(*touched))

    assert built[100] == times


def test_a_name_builds_no_window_whose_lines_have_not_arrived(lab):
    """While gold catches up, silver has an hour of lines that later batches bring."""
    requests, events = idle(n=18)
    lab.arrive(requests, events)
    builder = Builder(lab.spark, lab.warehouse, Progress(), BUILDS)
    (touch,) = (
        skew.BUILD.touch_name(n) for n, each in enumerate(skew.BUILD.touched_by) if each.table is TOPICS
    )
    first = window_of(START.timestamp())

    touched = builder.touched(skew.BUILD, [arrived_at(TOPICS, first, touch)])

    assert max(touched) == first
    assert max(
        builder.touched(skew.BUILD, [arrived_at(REQUESTS, first + 50), arrived_at(TOPICS, first, touch)])
    ) == (first + 50)
