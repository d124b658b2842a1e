"""The campaign itself: finished runs are not repeated, a cut result does not count, the page is correct."""

import random
from contextlib import nullcontext
from dataclasses import replace

import pytest

from benchmarks.faults import campaign, kills, page, plan, results
from benchmarks.faults.results import Result
from benchmarks.faults.steady import KillOutcome
from benchmarks.faults.worker import PlannedRun


def result(**changes):
    """Return a result with defaults for all other fields."""
    plain = {
        "fault": "f",
        "group": "g",
        "number": 0,
        "seed": 4,
        "code": "c",
        "commit": "abc",
        "seconds": 60.0,
    }
    return Result(**(plain | {"began_at": "2026-11-21T12:00:00+00:00", "n": 1, "wrong": []} | changes))


def test_a_cut_result_is_ignored_and_the_next_one_is_read(tmp_path):
    file = tmp_path / "results.jsonl"
    results.add(file, result(number=0))
    file.write_text(file.read_text() + '{"fault": "f", "number"')
    results.add(file, result(number=1))

    assert [found.number for found in results.read(file)] == [0, 1]


class Crew:
    """Runs in this process; each is done at once. `ran` has what they drew."""

    def __init__(self, *, interrupted_at=0):
        """Raise KeyboardInterrupt in a run."""
        self.ran, self._interrupted_at = [], interrupted_at

    def do(self, to_do, _crew, _pace, keep, _say):
        """Do the runs in order."""
        for run in to_do:
            self.ran.append(run.dice.random())
            if len(self.ran) == self._interrupted_at:
                raise KeyboardInterrupt
            keep(result(fault=run.fault, number=run.number, code=run.code), "about 0 minutes left")


@pytest.fixture
def campaign_of(tmp_path, monkeypatch):
    """Return a function that does the planned runs of a fault, with a crew, and keeps their results."""
    monkeypatch.setattr(campaign, "broker", lambda _state: nullcontext("nowhere"))
    monkeypatch.setattr(campaign, "workers", lambda _n, _setup: nullcontext([]))

    def do(crew, times=2):
        monkeypatch.setattr(campaign, "_do", crew.do)
        entry = plan.Entry(name="f", group="g", run=lambda *_: KillOutcome(wrong=[]), times=times)
        runs, file = campaign._runs(entry, times, 4), tmp_path / "found.jsonl"
        return campaign._all(runs, tmp_path, file, campaign.Progress(), at_once=2, find=lambda _name: entry)

    return do


def test_a_finished_run_is_not_repeated(campaign_of):
    """After Ctrl-C the interrupted run starts again, and earlier runs are kept."""
    crew = Crew(interrupted_at=2)
    with pytest.raises(campaign.typer.Exit) as stopped:
        campaign_of(crew)
    assert stopped.value.exit_code == campaign.EXIT_STOPPED

    found = campaign_of(crew)
    assert [one.number for one in found] == [0, 1]
    assert len(crew.ran) == 3
    assert crew.ran[1] == crew.ran[2] != crew.ran[0]


def test_progress_says_how_many_runs_are_done_and_how_long_the_others_take(campaign_of, capfd):
    campaign_of(Crew())

    printed = capfd.readouterr().err
    assert "2 runs, 0 done before; about 2 minutes left" in printed
    assert "2 of 2: f 1, n = 1, all well, 60 s; about 0 minutes left" in printed


def test_a_run_whose_code_was_changed_meanwhile_does_not_count(campaign_of, monkeypatch, tmp_path, capfd):
    codes = iter(["before", "before", "after"])
    monkeypatch.setattr(campaign, "code_of", lambda _entry: next(codes))

    with pytest.raises(campaign.typer.Exit) as stopped:
        campaign_of(Crew())

    assert stopped.value.exit_code == campaign.EXIT_WRONG
    assert [one.number for one in results.read(tmp_path / "found.jsonl")] == [0]
    assert "its code was changed meanwhile" in capfd.readouterr().err


def test_a_run_that_was_wrong_stays_wrong(campaign_of, tmp_path):
    """Two machines may have done the same run."""
    (once,) = campaign_of(Crew(), times=1)
    file = tmp_path / "found.jsonl"
    file.unlink()
    results.add(file, replace(once, wrong=["x: 1 lost"]))
    results.add(file, once)

    (found,) = campaign_of(Crew(), times=1)

    assert found.wrong == ["x: 1 lost"]


def test_the_rest_takes_as_long_as_the_pace_since_says():
    """Former runs took a minute each; now they take half of it, and two run at once."""
    pace = campaign._Pace([result(seconds=60.0)], plan.entry_of)
    waiting = [PlannedRun("f", number, 4, "c") for number in range(8)]
    assert pace.left(waiting, [], 2) == "about 4 minutes left"

    pace.note(result(seconds=30.0))

    assert pace.left(waiting, [], 2) == "about 2 minutes left"


def test_partial_campaigns_of_several_machines_add_up_and_the_last_one_only_writes_the_page(
    tmp_path, monkeypatch
):
    entries = [plan.Entry(name=name, group="late by hours", run=None, times=1) for name in ("f", "h")]
    monkeypatch.setattr(campaign.plan, "whole", lambda: entries)
    monkeypatch.setattr(campaign, "RESULTS", tmp_path / "faults.jsonl")
    monkeypatch.setattr(campaign, "PAGE", tmp_path / "faults.md")
    monkeypatch.setattr(campaign, "broker", lambda _state: pytest.fail("a broker was started"))
    for entry, commit in zip(entries, ("abc", "abd"), strict=True):
        results.add(
            tmp_path / "faults.jsonl",
            result(fault=entry.name, code=campaign.code_of(entry), commit=commit, machine="2 cores"),
        )

    with pytest.raises(campaign.typer.Exit) as ended:
        campaign.main(state=tmp_path / "state")

    assert ended.value.exit_code == 0
    page = (tmp_path / "faults.md").read_text()
    assert "- Commit abc: 1 runs, 2026-11-21, on 2 cores.\n- Commit abd: 1 runs, 2026-11-21" in page


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ("request_log: 3 lost, first ('t', 0, 1)", results.LOST),
        ("request_log: 1 doubled, first ('t', 0, 1)", results.DOUBLED),
        ("requests: ('app', 0) was committed 2 times", results.DOUBLED),
        ("request-log: 1 lines in silver twice, first ('t', 0, 1)", results.DOUBLED),
        ("request-log: 4 read, 1 kept + 1 quarantined + 1 skipped = 3", results.TOTALS),
        ("silver.requests: 2 rows missing, 0 too many, as x", results.LOST),
        ("silver.requests: 0 rows missing, 1 too many, as x", results.DOUBLED),
        ("gold.broker_rtt: 1 rows missing, 1 too many, as x", results.TOTALS),
        ("requests: versions [0, 2] have a hole", results.OTHER),
        ("requests version 3 showed {('t', 0): 3}: it shrank from {('t', 0): 4}", results.TOTALS),
        ("requests version 3 showed {('t', 0): 3}: doubled", results.DOUBLED),
        ("requests version 3 showed {('t', 0): 3}: a part of a batch, which has {}", results.OTHER),
        ("topic: of 3 lines 1 are lost, as broker-1/m/4", results.LOST),
        ("bronze request-log: 1 lost, 0 doubled", results.LOST),
        ("bronze request-log: 0 lost, 1 doubled", results.DOUBLED),
        ("request-log: 1 lines twice in silver", results.DOUBLED),
        # After its start a failure has a row, a path or a last line, which may contain any words.
        ("silver.requests: 2 rows missing, 0 too many, as it doubled 2 times", results.LOST),
        ("silver.requests: 0 rows missing, 1 too many, as 4 read, 3 lost", results.DOUBLED),
        ("gold.broker_rtt: 0 rows missing, 1 too many, as it doubled", results.TOTALS),
        ("requests: x.parquet cannot be read: 3 lost, 1 doubled", results.OTHER),
        ("ingest ended with exit code 1: 3 rows missing, it shrank, it tried 2 times", results.OTHER),
        ("not reported once: 'bytes to the end, if any, are lost'", results.OTHER),
    ],
)
def test_the_start_of_a_failure_decides_its_column(failure, kind):
    assert results.kind_of(failure) == kind


def test_the_table_counts_faults_and_has_bounds_only_for_groups_without_failures():
    passed = [result(number=number, n=20) for number in range(5)]
    failed = result(fault="h", group="other", n=5, wrong=["request_log: 3 lost, first x"])

    assert results.table([*passed, failed]).splitlines()[2:] == [
        "| g | 100 | 0 | 0 | 0 | 0 | 3.0 % |",
        "| other | 5 | 1 | 0 | 0 | 0 | - |",
        "| **all** | 105 | 1 | 0 | 0 | 0 |  |",
    ]


def test_the_plan_has_the_kills_of_the_campaign():
    """It has 100 random kills and each named point five times; the same seed gives the same kills."""
    entries = {entry.name: entry for entry in plan.whole()}
    drawn = kills.random_kills(random.Random(1), ingest=plan.INGEST_KILLS, gold=plan.GOLD_KILLS)

    assert entries["random-kills"].times * entries["random-kills"].n == 100
    assert len(drawn) == entries["random-kills"].n
    assert entries["named-kills"].times == 5
    assert len(kills.named_kills(random.Random(1))) == entries["named-kills"].n
    assert kills.named_kills(random.Random(1)) == kills.named_kills(random.Random(1))


def test_no_stretch_starts_with_a_point_that_needs_existing_tables():
    first = {kills.of_job(kills.INGEST, kills.named_kills(random.Random(n)))[0].fail_at for n in range(99)}

    assert not [point for point in first if point.startswith("checkpoint")]
    assert len({point.partition(":")[0] for point in first}) > 3


def test_the_page_shows_the_places_of_the_kills_and_the_failures():
    hit = {"word": "ingest", "how": "random", "victim": "all", "after_s": 9.0, "is_in_batch": True}
    hits = [hit | {"batches": n} for n in (0, 4, 11)]
    text = page.page([result(n=3, hits=hits, records=9_000, looks=70, wrong=["x: 1 lost"])], seed=4)

    assert "| ingest | random | 3 | 1 | 2 | 4, 11 |" in text
    assert "Of 3 random kills, 1 hit a job that was still starting. The other 2 came within" in text
    assert "- f 0: x: 1 lost" in text
    assert "Seed 4, " in text
    assert "9,000 records" in text


def test_the_page_lists_failed_runs_that_do_not_count():
    before = [
        result(number=1, commit="abc"),
        result(number=2, commit="abd", wrong=["x: 1 lost\nwhere it was"]),
    ]

    text = page.page([result()], seed=4, before=before)

    assert "- f 2, commit abd: `x: 1 lost where it was`" in text
    assert "- f 1, " not in text


def test_no_two_faults_have_the_same_name():
    names = [entry.name for entry in plan.whole()]

    assert len(names) == len(set(names))


def test_a_run_depends_on_the_modules_that_its_module_imports():
    names = {file.stem for file in plan.files_of("steady")}

    assert {"steady", "kills", "job", "oracles", "poller", "all_lines", "site", "made_logs"} <= names
    assert not names & {"plan", "campaign", "results", "faults"}
    assert {"harms", "records"} <= {file.stem for file in plan.files_of("lines.mutations")}
    assert {"log_writer", "three_brokers"} <= {file.stem for file in plan.files_of("edge.faults")}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "engine/x.py",
            "jobs/x.py",
            "schemas/x.py",
            "transforms/x.py",
            "collectors/x.py",
            "conf/jars/x.xml",
        ),
        *("lab/x.py", "lab/templates/x.any", "plumbline/cli.py"),
    ],
)
def test_a_run_depends_on_the_jobs_the_collectors_and_the_lab(tmp_path, monkeypatch, name):
    monkeypatch.setattr(results, "PROJECT", tmp_path)
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text("one")
    before = results.code_version()
    (file.parent / "__pycache__").mkdir()
    (file.parent / "__pycache__" / "x.pyc").touch()

    assert results.code_version() == before
    file.write_text("two")
    assert results.code_version() != before


@pytest.mark.parametrize("name", ["serving/x.py", "answers/x.py", "docs/x.md", "tests/x.py", "dags/x.py"])
def test_a_run_does_not_depend_on_what_no_job_uses(tmp_path, monkeypatch, name):
    monkeypatch.setattr(results, "PROJECT", tmp_path)
    before = results.code_version()
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("one")

    assert results.code_version() == before


def test_some_faults_depend_on_more():
    """A bomb goes through a report, each reason of the quarantine is documented; all begin in a worker."""
    files = {entry.name: entry.files for entry in plan.whole()}

    assert [name for name, own in files.items() if results.PROJECT / "serving" in own] == [
        "gzip-bomb-through-a-report",
        "gzip-bomb-through-collector-and-ingest",
    ]
    assert results.PROJECT / "docs" / "quarantine.md" in files["million-mutated-lines"]
    assert {file.name for file in plan.EVERY_RUN if file.exists()} == {"plan.py", "worker.py"}


def test_a_run_depends_on_the_files_in_a_folder_that_its_fault_names(tmp_path):
    before = results.code_version(tmp_path)
    (tmp_path / "x.py").write_text("one")

    assert results.code_version(tmp_path) != before


def test_the_page_shows_the_oracles_of_each_group():
    groups = {entry.group for entry in (*plan.whole(), *plan.short())}

    assert groups == page.HELD.keys()
    assert {name for oracles, _ in page.HELD.values() for name in oracles} == page.ORACLES.keys()
    assert page.held_against(["late by hours"]).splitlines()[2:] == [
        "| late by hours | x | x | x |  | x | x |  | the twin read the same lines in order |"
    ]


def test_the_page_names_the_tables_and_the_point_without_a_check():
    text = page.page([result()], seed=4)

    unpolled = ("brokers", "clusters", "leadership_changes", "listeners", "metric_scrapes")
    assert "does not poll " + ", ".join(f"`silver.{name}`" for name in unpolled) in text
    assert "`silver.topics`, `gold.broker_rtt_baseline`" in text
    assert "hits `retention-noted`: only" in text


@pytest.mark.parametrize(
    ("options", "file"),
    [
        ({}, "docs/faults.jsonl"),
        ({"short": True}, "state/results.jsonl"),
        ({"only": ["late-by-hours"]}, "state/results.jsonl"),
        ({"times": 1}, "state/results.jsonl"),
        ({"times": 1, "results_file": "own.jsonl"}, "own.jsonl"),
        ({"results_file": "own.jsonl"}, "own.jsonl"),
    ],
)
def test_only_the_whole_campaign_keeps_its_results_in_the_repository(tmp_path, monkeypatch, options, file):
    files = []
    monkeypatch.setattr(campaign, "RESULTS", tmp_path / "docs" / "faults.jsonl")
    monkeypatch.setattr(campaign, "PAGE", tmp_path / "faults.md")
    monkeypatch.setattr(
        campaign, "_all", lambda _runs, _state, file, _progress, **_: files.append(file) or []
    )
    named = {"results_file": tmp_path / options["results_file"]} if "results_file" in options else {}
    with pytest.raises(campaign.typer.Exit):
        campaign.main(state=tmp_path / "state", **(options | named))

    assert files == [tmp_path / file]
    assert (tmp_path / "faults.md").exists() == (not options.keys() - {"results_file"})
