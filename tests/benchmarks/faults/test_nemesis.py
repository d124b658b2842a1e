"""The nemesis: its schedule, the hosts that it disturbs, what it calls wrong, and what it says at its end."""

import hashlib
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from typer.testing import CliRunner

from benchmarks import pages
from benchmarks.faults import oracles, page, steady
from benchmarks.faults.job import GOLD, INGEST
from benchmarks.faults.nemesis import __main__ as program
from benchmarks.faults.nemesis import faults, results, supervisor
from benchmarks.faults.nemesis import round as one_round
from benchmarks.faults.nemesis.host import JobHost
from benchmarks.faults.nemesis.round import FaultRecord, RoundOutcome, unseen_loss, verdict
from benchmarks.faults.nemesis.schedule import LASTS_S, FaultKind, schedule
from benchmarks.faults.nemesis.supervisor import Supervisor, may_end
from benchmarks.faults.site import Acked
from engine.delta import tables
from engine.process.session import DIED, NOT_STARTED
from engine.streams.audit.findings import StateError
from schemas.bronze import REQUEST_LOG
from schemas.gold.fetch_latency import FETCH_LATENCY
from transforms.frames import arrow_of

TOPIC = "t.request-log"
TORN = "read log: /w/silver/requests/_delta_log/7.json is torn; nothing was written: x"
VALUES = (b"one", b"two", b"three")
LEDGER = [
    Acked(TOPIC, 0, offset, f"p/{offset}", hashlib.sha256(value).hexdigest())
    for offset, value in enumerate(VALUES)
]


def test_a_seed_draws_the_same_schedule_and_another_seed_another():
    assert schedule("7/0", 600.0) == schedule("7/0", 600.0)
    assert schedule("7/0", 600.0) != schedule("7/1", 600.0)


def test_each_kind_comes_before_any_comes_again_and_some_faults_overlap():
    for seed in range(20):
        planned = schedule(str(seed), 600.0)
        first = planned[: len(FaultKind)]

        assert {fault.kind for fault in first} == set(FaultKind)
        assert [fault.at_s for fault in planned] == sorted(fault.at_s for fault in planned)
        assert planned[-1].at_s < 600.0
        assert all(LASTS_S[fault.kind][0] <= fault.for_s <= LASTS_S[fault.kind][1] for fault in planned)
        assert any(later.at_s < fault.at_s + fault.for_s for fault, later in pairwise(planned))


def test_two_hours_have_far_more_than_a_hundred_faults():
    assert sum(len(schedule(f"1/{number}", 600.0)) for number in range(12)) > 400


def test_each_kind_has_a_fault():
    assert faults.FAULTS.keys() == set(FaultKind)


LOOK = """
import os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for _ in sys.stdin:
    began = time.monotonic()
    os.fsync(file)
    print(time.time(), time.monotonic() - began, flush=True)
"""


def test_the_clock_of_a_host_steps_and_its_disk_slows_down_while_a_process_runs(tmp_path):
    host = JobHost(tmp_path, "host")
    with subprocess.Popen(
        [sys.executable, "-c", LOOK, str(tmp_path / "file")],
        env=os.environ | host.variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def look():
            process.stdin.write("\n")
            process.stdin.flush()
            now, took_s = map(float, process.stdout.readline().split())
            return round((now - time.time()) / 100), took_s

        assert look()[0] == 0
        host.step_clock(-5_000.0)
        assert look()[0] == -50
        host.step_clock(0.0)
        host.slow_syncs(0.3)
        ahead, took_s = look()
        assert ahead == 0
        assert took_s >= 0.3
        host.slow_syncs(0.0)
        assert look()[1] < 0.3
        process.stdin.close()


SET_BACK = "{} stopped: the clock of this host was set back by 807,748 s, and Kafka's client or Spark"
MISSING = "[DELTA_STREAMING_TRAILING_COMMIT_MISSING] Delta stream detected commits up to version 43"


@pytest.mark.parametrize(
    ("word", "code", "line", "kinds", "is_excused"),
    [
        ("ingest", 6, "the disk is full: /w", [FaultKind.FULL_DISK], True),
        ("ingest", 6, "the disk is full: /w", [FaultKind.SLOW_DISK, FaultKind.CLOCK], False),
        ("ingest", 6, "something else", [FaultKind.FULL_DISK], False),
        ("ingest", 1, "ingest stopped: broker transport failure", [FaultKind.BROKER], True),
        ("ingest", 1, "ingest stopped: KeyError: 'cluster_id'", [FaultKind.BROKER], False),
        ("build-gold", 1, "build_gold stopped: broker transport failure", [FaultKind.BROKER], False),
        ("ingest", 1, SET_BACK.format("ingest"), [FaultKind.CLOCK], True),
        ("build-gold", 1, SET_BACK.format("build_gold"), [FaultKind.CLOCK], True),
        ("ingest", 1, SET_BACK.format("ingest"), [FaultKind.BROKER], False),
        ("build-gold", 5, TORN, [FaultKind.POWER], True),
        ("build-gold", 5, TORN, [FaultKind.BROKER], False),
        ("build-gold", 5, "the state is odd", [FaultKind.POWER], False),
        ("ingest", 5, TORN, list(FaultKind), False),
        ("build-gold", 1, f"build_gold stopped: {MISSING}", [FaultKind.TORN], True),
        ("build-gold", 1, f"build_gold stopped: {MISSING}", [FaultKind.POWER], False),
        ("maintain", 1, f"silver.requests failed: {TORN}", [FaultKind.TORN], True),
        ("maintain", 1, "silver.requests failed: the disk is full: /w", [FaultKind.FULL_DISK], True),
        ("maintain", 1, "silver.requests failed: 12 live files deleted", list(FaultKind), False),
        ("maintain", 1, "AssertionError", list(FaultKind), False),
        ("ingest", 3, "Kafka lost lines", list(FaultKind), False),
        ("ingest", -9, "", list(FaultKind), False),
        ("ingest", -11, "", list(FaultKind), False),
    ],
)
def test_only_a_fault_that_explains_an_end_excuses_it(word, code, line, kinds, is_excused):
    assert may_end(word, code, line, kinds) == is_excused


def test_what_a_job_says_of_a_torn_file_is_recognized():
    error = StateError(
        Path("/w/silver/requests/_delta_log/7.json"), "read log", "is torn", "start the ingest"
    )
    assert re.search(supervisor.DAMAGED, str(error))


def test_the_sentence_of_a_job_counts_and_not_what_a_thread_prints_after_it():
    output = "x\nbuild_gold stopped: Spark's JVM has died\nOSError: No space left on device\n"
    assert supervisor.sentences("build-gold", output) == ["build_gold stopped: Spark's JVM has died"]
    assert supervisor.sentences("build-gold", "Traceback\nKeyError: 1\n") == ["KeyError: 1"]


def test_each_table_that_maintain_could_not_do_must_be_explained():
    there = supervised()
    lines = [
        f"silver.requests failed: {TORN}",
        "silver.topics failed: 3 live files deleted",
        "bronze.x: merged",
    ]
    with there.expecting(FaultKind.TORN):
        there._judge(EndedJob("maintain", 1, "\n".join(lines)))

    assert [wrong.partition(": ")[2] for wrong in there.wrong] == [lines[1]]
    assert there.excused == {"maintain 1: a table failed: read log: … is torn": 1}


class EndedJob:
    """A job that ended: its word, its exit code and what it printed."""

    def __init__(self, word, code, output):
        """Set what the supervisor asks for."""
        self.word, self.code, self.output = word, code, output


def supervised():
    return Supervisor(SimpleNamespace(conf=None, root=None), {})


def test_an_end_that_no_fault_explains_is_wrong():
    there = supervised()
    with there.expecting(FaultKind.CLOCK):
        there._judge(EndedJob("ingest", 1, "x\ningest stopped: the clock\n"))

    (wrong,) = there.wrong
    assert re.fullmatch(r"ingest ended with exit code 1 at ..:..:..: ingest stopped: the clock", wrong)
    assert there.ends == {"ingest 1": 1}


def test_a_fault_excuses_an_end_for_a_while_after_it(monkeypatch):
    there, now = supervised(), time.monotonic()
    with there.expecting(FaultKind.FULL_DISK):
        pass
    full = EndedJob("ingest", 6, "the disk is full: /w")
    there._judge(full)
    assert there.wrong == []

    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now + supervisor.NOTICED_WITHIN_S + 10.0)
    there._judge(full)
    assert len(there.wrong) == 1


def test_only_a_job_that_was_killed_may_end_by_a_kill():
    there = supervised()
    jobs = [
        EndedJob("ingest", -9, ""),
        EndedJob("build-gold", 1, f"build_gold stopped: {DIED}"),
        EndedJob("ingest", 1, f"ingest stopped: {NOT_STARTED}"),
    ]
    for job in jobs:
        there._judge(job)
    assert len(there.wrong) == 3

    there.wrong.clear()
    there._killed.update(jobs)
    for job in jobs:
        there._judge(job)
    assert there.wrong == []


@pytest.fixture
def written(tmp_path):
    """Return a warehouse with a few records in bronze, and jobs that have nothing to do."""
    root = tmp_path / "warehouse"
    for table in steady.ALL:
        tables.make(root, table)
    rows = [
        {"topic": TOPIC, "partition": 0, "offset": offset, "position": f"p/{offset}", "value": value}
        for offset, value in enumerate(VALUES)
    ]
    write_deltalake(oracles.where(root, REQUEST_LOG), arrow_of(rows, REQUEST_LOG.schema), mode="append")
    return SimpleNamespace(root=root, build_gold=lambda: (0, ""), ingest=lambda: (0, ""))


def test_an_entry_of_gold_is_torn_only_if_a_job_needs_it(tmp_path):
    """With a checkpoint of its version, no job reads it again, so none repairs it."""
    tables.make(tmp_path, FETCH_LATENCY)
    there = SimpleNamespace(root=tmp_path)
    before = len(faults.repairable(GOLD, there))
    DeltaTable(oracles.where(tmp_path, FETCH_LATENCY)).create_checkpoint()

    assert (before, len(faults.repairable(GOLD, there))) == (2, 1)


def test_an_entry_of_the_ingest_is_torn_only_if_the_ingest_writes_it_again(written, tmp_path):
    """It does so if the entry is of its newest batch and no checkpoint has it."""
    offsets = tmp_path / "ingest_lines_v1" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").touch()
    written.settings = SimpleNamespace(warehouse=SimpleNamespace(checkpoints=tmp_path))
    where, none = oracles.where(written.root, REQUEST_LOG), arrow_of([], REQUEST_LOG.schema)
    found = [len(faults.repairable(INGEST, written))]
    batch = CommitProperties(app_transactions=[Transaction("ingest_lines-id", 0)])
    write_deltalake(where, none, mode="append", commit_properties=batch)
    found.append(len(faults.repairable(INGEST, written)))
    DeltaTable(where).create_checkpoint()
    found.append(len(faults.repairable(INGEST, written)))

    assert found == [5, 6, 5]


def lost(written, ledger):
    site = SimpleNamespace(ledger=ledger, warehouse=lambda *_, **__: written)
    return [finding for finding in verdict(site, written) if results.results.kind_of(finding) == "lost"]


def test_the_verdict_fails_if_a_record_is_dropped_from_the_topic_or_from_bronze(written):
    assert lost(written, LEDGER) == []
    dropped = Acked(TOPIC, 1, 9, "p/9", "")
    assert lost(written, [*LEDGER, dropped]) == [f"request_log: 1 lost, first ('{TOPIC}', 1, 9)"]

    DeltaTable(str(oracles.where(written.root, REQUEST_LOG))).delete('"offset" = 1')
    assert lost(written, LEDGER) == [f"request_log: 1 lost, first ('{TOPIC}', 0, 1)"]


def test_the_verdict_has_what_each_oracle_finds(monkeypatch):
    names = ("lost_or_doubled", "unbalanced", "bad_log", "unbalanced_books", "other_than_twin")
    for name in names:
        monkeypatch.setattr(oracles, name, lambda *_, name=name, **__: [name])
    job = SimpleNamespace(root=None, build_gold=lambda: (0, ""), ingest=lambda: (0, ""))
    site = SimpleNamespace(ledger=LEDGER, warehouse=lambda *_, **__: job)

    assert verdict(site, job) == list(names)


def test_a_round_without_findings_shows_that_a_loss_would_be_found(written, monkeypatch):
    monkeypatch.setattr(one_round, "against_twin", lambda *_, is_tidied: [] if is_tidied else ["a hole"])
    site = SimpleNamespace(ledger=LEDGER)
    assert verdict(site, written) == []
    assert oracles.rows_of(written.root, REQUEST_LOG, "offset")["offset"].to_pylist() == [1, 2]

    monkeypatch.setattr(oracles, "lost_or_doubled", lambda *_: [])
    assert unseen_loss(written.root, LEDGER[1:]) == [
        "a record was dropped from bronze on purpose, and the ledger found []"
    ]


def fault(kind, began_s, ended_s):
    return FaultRecord(round="7/0", kind=kind, hit="x", at="", began_s=began_s, ended_s=ended_s)


OUTCOME = RoundOutcome(
    wrong=["request_log: 1 lost, first x"],
    faults=[fault("SIGSTOP", 1.0, 5.0), fault("kill -9", 3.0, 3.0), fault("kill -9", 9.0, 9.5)],
    planned={"SIGSTOP": 1, "kill -9": 3},
    ends={"ingest -9": 2},
    excused={"ingest 6: the disk is full": 1},
    records=7_000,
    not_in_topic=0,
)


def a_run(**changes):
    named = {"seed": 7, "began_at": datetime(2026, 11, 27, tzinfo=UTC), "for_s": 600.0}
    return results.run_of([OUTCOME], [], **(named | changes))


def test_faults_that_are_there_at_the_same_time_are_counted():
    run = a_run()

    assert (run.n, run.together) == (3, 2)
    assert run.kinds == {"SIGSTOP": [4.0], "kill -9": [0.0, 0.5]}


def test_the_section_has_each_run_and_stays_when_the_campaign_writes_the_page(tmp_path):
    file, written = tmp_path / "nemesis.jsonl", tmp_path / "faults.md"
    results.add(file, a_run())
    text = results.section(results.add(file, a_run(seed=8)))

    assert "| 7 | 10 | 1 | 3 | 2 | 7,000 | 1 | 0 | 0 | 0 |" in text
    assert "| 8 | 10 | 1 | 3 | 2 | 7,000 | 1 | 0 | 0 | 0 |" in text
    assert "| kill -9 | 6 | 4 | 0.2 | 0.5 |" in text
    assert "| 2 | ingest 6: the disk is full |" in text
    assert "Ends of jobs, by exit code: ingest -9: 4." in text
    pages.write(written, {page.NEMESIS: text}, head="# old\n")
    pages.write(written, {page.NEMESIS: ""}, head="# new\n")
    assert written.read_text().startswith("# new\n")
    assert "| 8 | 10 | 1 | 3 |" in written.read_text()


def test_figures_are_of_the_runs_of_the_newest_code():
    older = replace(a_run(seed=6), code="older", not_in_topic=3)
    text = results.section([older, a_run()])

    assert "| 6 | 10 | 1 | 3 |" in text
    assert "10 minutes, 3 faults" in text
    assert "| kill -9 | 3 | 2 |" in text
    assert "librdkafka" not in text
    assert "librdkafka reported 3 records" in results.section([a_run(), older])


def test_a_kind_that_never_happened_is_wrong():
    kinds = {"SIGSTOP": [1.0]}
    assert results.never_happened({"SIGSTOP": 3, "torn file": 2}, kinds) == []
    assert results.never_happened({"SIGSTOP": 3, "torn file": 3}, kinds) == [
        "3 faults were planned and none hit anything: torn file"
    ]
    assert results.never_happened({"SIGSTOP": 2}, {}) == ["none of 2 planned faults hit anything"]


def test_a_run_without_a_fault_ends_the_command_with_1(command):
    code, output, _ = command(lambda *_: replace(OUTCOME, wrong=[], faults=[]), "--for", "2m", "--no-page")

    assert code == 1
    assert "none of 4 planned faults hit anything" in output


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return a function that runs the command without brokers; its rounds call `play`."""
    played = []
    monkeypatch.setattr(program, "RESULTS", tmp_path / "nemesis.jsonl")
    monkeypatch.setattr(program, "PAGE", tmp_path / "faults.md")
    monkeypatch.setattr(
        program, "ThreeBrokers", lambda _: SimpleNamespace(stop=lambda: played.append("stop"))
    )
    monkeypatch.setattr(program, "interrupt_on_signals", lambda: None)
    app = program.typer.Typer()
    app.command()(program.main)

    def run(play, *options):
        monkeypatch.setattr(program, "play", play)
        done = CliRunner().invoke(app, ["--state", str(tmp_path / "state"), "--seed", "7", *options])
        return done.exit_code, done.output, played

    return run


def test_a_loss_ends_the_command_with_1_and_its_sentence(command, tmp_path):
    seeds = []

    def play(_cluster, _folder, seed, for_s, _show):
        seeds.append((seed, for_s))
        return OUTCOME

    code, output, played = command(play, "--for", "15m")

    assert code == 1
    assert "request_log: 1 lost, first x" in output
    assert "explained 2 times: ingest 6: the disk is full" in output
    assert seeds == [("7/0", 600.0), ("7/1", 300.0)]
    assert played == ["stop"]
    assert "| 7 | 15 | 2 | 6 |" in (tmp_path / "faults.md").read_text()


def test_a_run_that_finds_nothing_ends_with_0_and_may_leave_the_page_alone(command, tmp_path):
    nothing = replace(OUTCOME, wrong=[])
    code, output, _ = command(lambda *_: nothing, "--for", "2m", "--no-page")

    assert code == 0
    assert "nothing lost, doubled or wrong" in output
    assert not (tmp_path / "faults.md").exists()


def test_a_round_that_breaks_is_wrong_and_what_was_found_before_is_reported(command):
    found = iter([OUTCOME])
    code, output, played = command(lambda *_: next(found), "--for", "20m", "--no-page")

    assert code == 1
    assert "request_log: 1 lost" in output
    assert "the nemesis itself failed: StopIteration()" in output
    assert played == ["stop"]


def test_ctrl_c_stops_the_cluster_and_writes_no_page(command, tmp_path):
    def play(*_):
        raise KeyboardInterrupt

    code, output, played = command(play, "--for", "2m")

    assert (code, played) == (130, ["stop"])
    assert "stopped; everything is healed" in output
    assert not (tmp_path / "faults.md").exists()


def test_a_duration_without_a_unit_is_refused(command):
    assert command(None, "--for", "120")[0] == 2
