"""Gold from silver: late, repeated and reordered lines give the same gold."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from delta.tables import DeltaTable as SilverTable
from deltalake import DeltaTable
from typer.testing import CliRunner

from conf.exit_codes import ExitCode
from conf.settings import PROJECT, BuildGold
from engine.delta import log_entries, tables
from engine.gold.builder import gold_of
from engine.gold.data_quality import rebuild_data_quality
from engine.process.lease import lease
from engine.streams.note import versions
from jobs.build_gold import app
from schemas.bronze import BRONZE
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver import SILVER
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import GoldLab, gold_at_once
from tests.transforms.gold.silver_rows import START, at, joined, stream_of, whole
from transforms.gold.fetch_latency.build import BUILD
from transforms.spans import window_of


class FetchLab(GoldLab):
    """A warehouse with the tables about fetches."""

    def arrive(self, requests, events=()):
        """Append silver rows, one file per table."""
        for table, rows in ((REQUESTS, requests), (CLIENT_EVENTS, events)):
            if rows:
                super().arrive(table, rows)

    def lose_requests(self):
        """Delete every request from silver."""
        SilverTable.forPath(self.spark, tables.path(self.warehouse, REQUESTS)).delete()

    def rebuild(self, windows):
        """Build windows again; return how many were refused."""
        return self.builder().rebuild(BUILD, windows)


@pytest.fixture(scope="module")
def empty_lab(spark, tmp_path_factory):
    """Create the tables as the jobs do."""
    lab = FetchLab(spark, tmp_path_factory.mktemp("empty"), BUILD)
    for table in (*BRONZE, *SILVER, *GOLD):
        tables.ensure(spark, lab.warehouse, table)
    return lab


@pytest.fixture(scope="module")
def built_lab(empty_lab, tmp_path_factory):
    """Return a lab with half a minute of two idle brokers, and their gold."""
    lab = empty_lab.copied(tmp_path_factory.mktemp("built"))
    lab.arrive(*idle())
    lab.run()
    return lab


@pytest.fixture
def lab(empty_lab, tmp_path):
    return empty_lab.copied(tmp_path)


@pytest.fixture
def built(built_lab, tmp_path):
    return built_lab.copied(tmp_path)


def at_once(spark, requests, events):
    return gold_at_once(spark, [BUILD], whole({REQUESTS: requests, CLIENT_EVENTS: events}))


def idle(*, first=0.6, n=60, **more):
    """Return silver of two brokers that fetch from each other for half a minute, 2 ms and 5 ms apart."""
    return joined(
        stream_of(n, first=first, rtt_ms=2, leader=1, follower=2, **more),
        stream_of(n, first=first + 0.1, rtt_ms=5, leader=2, follower=1, **more),
    )


def windows(*seconds):
    return [window_of((START + timedelta(seconds=second)).timestamp()) for second in seconds]


def test_late_and_repeated_lines_restate_gold_as_if_built_at_once(lab):
    """
    The second of two runs gets late lines of one log, and lines of the first run again.

    The late lines cross a window boundary, so the adjacent windows change too: gaps, pairs, coverage.
    """
    requests, events = idle()
    late = [row for row in requests if row[1] == 1 and at(8) <= row[2] < at(12)]
    late_events = [row for row in events if at(15) <= row[2] < at(16)]
    on_time = [row for row in requests if row not in late]
    seen = [row for row in events if row not in late_events]
    lab.arrive(on_time, seen)
    lab.run()
    between = lab.rows(FETCH_LATENCY)
    lab.arrive(late + on_time[5:20], late_events + seen[:9])
    lab.run()

    assert lab.gold() == at_once(lab.spark, requests, events)
    assert between != lab.rows(FETCH_LATENCY)


def test_a_backlog_is_cut_by_its_bytes_and_gives_the_same_gold(lab, capsys):
    """Without the limit an hour is one batch, which does not fit into the heap."""
    requests, events = idle()
    middle = len(requests) // 2
    lab.arrive(requests[:middle], events)
    lab.arrive(requests[middle:])
    lab.settings = replace(lab.settings, build_gold=BuildGold(max_bytes_per_trigger="1b"))

    lab.run()

    assert "batch 1: " in capsys.readouterr().err
    assert lab.gold() == at_once(lab.spark, requests, events)


def test_a_window_settles_with_later_lines_however_late_they_arrive(lab):
    """The last window of a run is unsettled; a line five minutes later settles it."""
    requests, events = idle(n=18)
    later, later_events = stream_of(4, first=300.6, leader=1, follower=2, start_id=900)
    lab.arrive(requests, events)
    lab.run()
    before = {row["is_settled"] for row in lab.rows(BROKER_RTT)}
    lab.arrive(later, later_events)
    lab.run()

    assert before == {False}
    assert lab.gold() == at_once(lab.spark, requests + later, events + later_events)


def test_a_window_settles_with_the_first_line_more_than_a_minute_after_it(lab):
    """Half a second more is enough, also for a process that knows the last line of the silent broker."""
    requests, events = idle(n=18)
    later, later_events = stream_of(1, first=70.5, leader=1, follower=2, start_id=900)
    builder = lab.builder()
    lab.arrive(requests, events)
    lab.run(builder)
    lab.arrive(later, later_events)
    lab.run(builder)

    assert lab.gold() == at_once(lab.spark, requests + later, events + later_events)


def test_the_fetch_before_is_found_however_long_a_fetch_has_waited(lab):
    """Each fetch arrives in its own run, half a minute after the fetch that its round trip starts from."""
    requests, _ = stream_of(3, total_ms=28_000.0, rtt_ms=3, leader=1, follower=2)
    for served in requests:
        lab.arrive([served], [])
        lab.run()

    found = lab.rows(BROKER_RTT)
    assert lab.gold() == at_once(lab.spark, requests, [])
    assert [row["n"] for row in found if row["method"] == "passive" and row["n"]] == [1, 1]


def test_rebuilding_a_span_gives_the_same_rows(built):
    first = built.gold()
    built.rebuild(windows(0, 10, 20, 30))

    assert built.gold() == first
    assert len(first[BROKER_RTT.name]) > 8


def test_rebuilding_one_window_leaves_the_others_alone(built):
    """Silver lost all requests; only the rebuilt window shows it."""
    before = built.rows(FETCH_LATENCY)
    built.lose_requests()
    built.rebuild(windows(10))

    ten = at(10).replace(tzinfo=None)
    assert built.rows(FETCH_LATENCY) == [row for row in before if row["window_start"] != ten]


def test_nothing_new_writes_nothing(built):
    version = DeltaTable(tables.path(built.warehouse, FETCH_LATENCY)).version()
    built.run()

    assert DeltaTable(tables.path(built.warehouse, FETCH_LATENCY)).version() == version


def test_windows_with_incomplete_silver_are_never_rebuilt(built, capsys):
    """Silver is complete from 11:21:00 on, and a window looks a minute back: 11:22:00 is the first."""
    before = built.rows(FETCH_LATENCY)
    where = tables.path(built.warehouse, REQUESTS)
    built.spark.sql(
        f"ALTER TABLE delta.`{where}` SET TBLPROPERTIES ('{tables.COMPLETE_FROM}' = '2026-11-21T11:21:00Z')"
    )
    built.lose_requests()

    refused = built.rebuild(windows(0, 10, 110, 120, 130))

    assert refused == 3
    assert built.rows(FETCH_LATENCY) == before
    output = capsys.readouterr().err
    assert "fetches not rebuilt: 2026-11-21T11:20:00Z to 2026-11-21T11:20:20Z" in output
    assert "fetches not rebuilt: 2026-11-21T11:21:50Z to 2026-11-21T11:22:00Z" in output


def test_a_commit_records_the_versions_of_silver_it_was_built_from(built):
    newest = DeltaTable(tables.path(built.warehouse, BROKER_RTT)).history(1)[0]
    built_from = json.loads(newest["userMetadata"])["built_from"]
    assert built_from == {"silver.requests": 1, "silver.client_events": 1}


def test_every_gold_table_opens_in_delta_rs_at_reader_version_1(built):
    rebuild_data_quality(built.warehouse)

    for table in (*gold_of([BUILD]), DATA_QUALITY):
        opened = DeltaTable(tables.path(built.warehouse, table))
        assert opened.protocol().min_reader_version == 1
        assert [field.name for field in opened.schema().fields] == table.schema.names
        # The baseline is empty: it needs a whole hour of history.
        assert (opened.to_pyarrow_table().num_rows > 0) == (table is not BROKER_RTT_BASELINE)


def has_rows(lab, table):
    """Return whether a table has rows within a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until and not tables.snapshot(lab.warehouse, table).paths():
        time.sleep(0.1)
    return bool(tables.snapshot(lab.warehouse, table).paths())


def settings_file(lab):
    conf = lab.root / "conf.toml"
    conf.write_text(
        f'[warehouse]\nroot = "{lab.warehouse}"\ncheckpoints = "{lab.root}/checkpoints"\n'
        "[build_gold]\nlease_timeout_s = 0.2\n"
    )
    return str(conf)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--until", "2026-11-21T11:20:00"], 2, "--until needs --since"),
        (["--since", "2026-11-21T11:20:00", "--follow"], 2, "--follow excludes both"),
        (["--since", "2026-11-21T11:20:00", "--until", "2026-11-21T11:20:00"], 2, "is not before --until"),
        (
            ["--since", "2026-11-21T11:20:00", "--until", "2026-11-21T11:20:20"],
            0,
            "rebuilding 2026-11-21T11:20:00Z",
        ),
        ([], 0, "counting every line"),
    ],
)
def test_the_command_reports_its_steps_and_ends_with_its_exit_code(lab, options, code, message):
    lab.arrive(*idle(n=20))

    result = CliRunner().invoke(app, ["--conf", settings_file(lab), *options])

    assert (result.exit_code, message in " ".join(result.stderr.split())) == (code, True), result.stderr
    if code == 0:
        assert lab.rows(BROKER_RTT)
        noted = versions(lab.root / "checkpoints" / "build_gold-v4")
        for table in (BROKER_RTT, DATA_QUALITY):
            assert noted[table.name] == log_entries.opened(lab.warehouse / "gold" / table.name).version() > 0


def test_a_second_writer_is_refused(lab):
    with lease(lab.warehouse, "gold", timeout_s=0.2):
        result = CliRunner().invoke(app, ["--conf", settings_file(lab)])

    assert result.exit_code == ExitCode.HELD
    assert f"process {os.getpid()} " in result.stderr


def test_follow_counts_every_line_and_ends_cleanly_with_ctrl_c(lab):
    lab.arrive(*idle(n=20))
    job = "from engine.gold import recount; from jobs.build_gold import app; recount.EVERY_S = 0; app()"
    command = [sys.executable, "-c", job, "--conf", settings_file(lab), "--follow"]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("batch ") and not any(earlier.startswith("batch ") for earlier in lines[:-1]):
                was_counted = has_rows(lab, DATA_QUALITY)
                process.send_signal(signal.SIGINT)
        code = process.wait(120)

    assert code == 0, "".join(lines)
    assert was_counted
    assert any("stopped" in line for line in lines)
    assert "Traceback" not in "".join(lines)
    assert lab.rows(BROKER_RTT)
