"""The command `compare`: from raw files of performance tests, and from a warehouse."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from collectors.files import discover
from conf.exit_codes import ExitCode, WrongUseError
from conf.settings import PROJECT, Settings
from engine.delta import tables
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from plumbline.cli import app
from schemas.gold.run_comparison import RUN_COMPARISON
from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS, RUNS
from serving.report.compare import run_tables
from serving.report.compare.options import share_of
from serving.report.compare.runs import runs_of
from serving.report.compare.saved import _fingerprint
from tests.engine import made_logs
from tests.engine.made_runs import write_run
from tests.transforms.parse.records import DATA
from tests.verdicts.made_runs import run_of
from verdicts.comparison import ComparisonRequest, compared
from verdicts.doubts import of_runs

PUBLISHED = DATA / "published"
PAGE = (PROJECT / "docs" / "comparison.md").read_text().replace("\n> ", " ").replace("\n", " ")
SIZES = (100, 104, 98, 101, 97, 103, 99, 102)


def run(*words):
    return CliRunner().invoke(app, ["compare", *(str(word) for word in words)])


def refused(*words):
    """Return the error line of a wrong use, without the progress before it."""
    result = run(*words)
    assert result.exit_code == ExitCode.NO_VERDICT, result.output
    return result.output.strip().splitlines()[-1]


def written(folder, factor, *, n=8, **more):
    """Write blocks of two arms in alternating order, with the contender's latencies times `factor`."""
    for block, size in enumerate(SIZES[:n]):
        for place, arm in enumerate(("old", "new") if block % 2 else ("new", "old")):
            latency = size * (factor if arm == "new" else 1)
            minute = 4 * block + 2 * place
            write_run(folder, f"skew-{block:03}", arm, [latency] * 4, minute=minute, **more)
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "b"), "give either --from DIR"),
        (("a", "b", "--from", "x", "--conf", "y.toml"), "give either --from DIR"),
        (("a", "b", "--from", "nowhere"), "nowhere does not exist"),
        (("a", "a", "--from", "x"), "both arms are 'a': name two"),
        (("a", "b", "--from", "x", "--metric", "p98"), "--metric 'p98' is none; there are: records_per_s"),
        (("a", "b", "--from", "x", "--tolerance", "0"), "is no share between 0 and 1"),
        (("a", "b", "--conf", "missing.toml"), "missing.toml"),
        (("a", "b", "--from", "x", "--since", "yesterday"), "--since 'yesterday' is neither an instant"),
        (("a", "b", "--from", "x", "--save"), "give --conf FILE instead of --from DIR"),
        (("a", "b", "--from", "x", "--json", "."), ". is a folder; name the file to write"),
    ],
)
def test_wrong_use_is_reported_and_ends_with_its_own_code(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert message in refused(*words)


def test_an_empty_folder_is_refused_with_the_layout_of_perf_test_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()

    told = refused("old", "new", "--from", "empty")

    assert "(it is empty); needed is the output of kafka-producer-perf-test" in told
    assert told.endswith("a folder per arm: empty/old/1.txt, empty/new/1.txt")


def test_a_misspelt_option_is_not_reported_as_inconclusive():
    assert run("a", "b", "--form", "x").exit_code == ExitCode.NO_VERDICT
    assert run("a").exit_code == ExitCode.NO_VERDICT
    assert run("--help").exit_code == 0


@pytest.mark.parametrize("text", ["5 percent", "-5%", "1", "100%", "nan", ""])
def test_a_tolerance_that_is_no_share_is_refused(text):
    with pytest.raises(WrongUseError, match="is no share between 0 and 1"):
        share_of(text)


def test_published_kip_951_is_inconclusive_at_three_against_three(tmp_path):
    result = run(
        "baseline",
        "kip-951",
        "--from",
        PUBLISHED / "kip951",
        "--metric",
        "p999_ms",
        "--unpaired",
        "--json",
        tmp_path / "c.json",
    )

    content = json.loads((tmp_path / "c.json").read_text())
    (row,) = content["run_comparison"]
    assert result.exit_code == 2, result.output
    assert content["sentence"] in PAGE
    assert f"{100 * row['change_of_means']:.1f} %" in PAGE
    assert "INCONCLUSIVE: kip-951 against baseline, p999_ms" in result.output
    assert (
        "3 runs of each arm are too few for any verdict; about 1 more of each would decide" in result.output
    )
    assert (row["p"], row["change_low"], row["more_runs"]) == (pytest.approx(0.1), None, 1)
    assert row["change_of_means"] == pytest.approx(-0.872, abs=0.0005)
    assert (row["baseline_median"], row["contender_median"]) == (1201.0, 174.0)


def test_published_files_contain_the_published_lines():
    for line in (PUBLISHED / "kip951_leader_change.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert (PUBLISHED / "kip951" / row["arm"] / f"{row['run']}.txt").read_text() == row["line"] + "\n"


def test_blocks_that_improved_are_reported_in_all_formats(tmp_path):
    folder = written(tmp_path / "runs", 0.8)
    targets = {kind: tmp_path / f"c.{kind}" for kind in ("json", "html", "markdown")}
    words = [word for kind, path in targets.items() for word in (f"--{kind}", path)]

    result = run("old", "new", "--from", folder, "--metric", "avg_ms", "--metric", "p99_ms", *words)

    content = json.loads(targets["json"].read_text())
    page, text = targets["html"].read_text(), targets["markdown"].read_text()
    assert result.exit_code == 0, result.output
    assert (content["verdict"], content["is_blocked"], content["deciding_metric"]) == (
        "improved",
        True,
        "avg_ms",
    )
    assert content["sentence"].startswith("IMPROVED: new against old, avg_ms, -2")
    assert all(content["sentence"] in text_of for text_of in (result.output.replace("\n", " "), page))
    assert text.startswith("**IMPROVED: new against old, avg\\_ms, -2")
    assert [row["n_contender"] for row in content["run_comparison"]] == [8, 8]
    assert len(content["runs"]) == 16
    assert content["cautions"] == ["no run declares a warm-up: all figures include it"]
    for place in ("intervals", "strip-0", "strip-1", "quantiles-figure", "avg", "max"):
        assert f'data-figure="figure-{place}"' in page
        assert f'id="figure-{place}"' in page
    assert "http://" not in page.split("<script>")[0]
    assert run("new", "old", "--from", folder, "--metric", "p99_ms").exit_code == 1


def test_only_runs_since_an_instant_are_compared(tmp_path):
    """The eight blocks begin four minutes apart; the last two began since."""
    folder = written(tmp_path / "runs", 0.8)
    starts = sorted(run["started_at"] for run in compared_runs(folder))

    runs = compared_runs(folder, "--since", starts[-4], "--until", "2100-01-01T00:00Z")

    assert sorted(run["started_at"] for run in runs) == starts[-4:]
    assert "no run of arm 'old' began in this time range" in refused(
        "old", "new", "--from", folder, "--since", "1s"
    )


def compared_runs(folder, *options):
    target = folder.parent / "c.json"
    run("old", "new", "--from", folder, "--json", target, *options)
    return json.loads(target.read_text())["runs"]


def test_a_declared_warm_up_is_left_out_and_percentiles_refused(tmp_path):
    for arm, factor in (("old", 1.0), ("new", 0.5)):
        for nth, size in enumerate(SIZES[:5]):
            latencies = [2000, 2000, *[factor * size] * 3]
            write_run(tmp_path, f"{arm}-{nth}", arm, latencies, minute=2 * nth, warm_up_s=10.0)

    result = run("old", "new", "--from", tmp_path, "--json", tmp_path / "c.json")

    rows = {row["metric"]: row for row in json.loads((tmp_path / "c.json").read_text())["run_comparison"]}
    assert result.exit_code == 0, result.output
    assert rows["avg_ms"]["verdict"] == "improved"
    assert rows["avg_ms"]["baseline_median"] == pytest.approx(100)
    assert rows["max_ms"]["contender_median"] == pytest.approx(150)
    assert {name for name, row in rows.items() if row["verdict"] == "invalid"} == {
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "p999_ms",
    }
    assert rows["p99_ms"]["reason"].startswith("warm-up included: run old-0 of old declares 10 s of warm-up")
    assert run("old", "new", "--from", tmp_path, "--metric", "p99_ms").exit_code == 3


def test_an_interrupted_run_that_was_set_aside_is_not_read(tmp_path):
    folder = written(tmp_path / "runs", 1.0, n=4)
    cut = write_run(tmp_path / "runs", "skew-000", "old", [9000], minute=99, has_end=False)
    cut.rename(cut.with_name(f"{cut.name}.cut"))

    asked = ("old", "new", "--metric", "avg_ms", "--unpaired", "--tolerance", "10%")
    result = run(*asked, "--from", folder, "--json", tmp_path / "c.json")

    content = json.loads((tmp_path / "c.json").read_text())
    assert content["verdict"] == "equivalent", result.output
    assert "set aside, not read: 1 files that end in .cut" in result.output


def test_gold_of_a_runs_time_is_compared_where_there_is_a_request_log(tmp_path):
    made_logs.write_logs(tmp_path / "logs", seconds=110, added_ms={(3, 1): 20.0}, onset_s=58)
    for minute, arm in ((123, "old"), (124, "new")):  # 11:03 and 11:04, the latter with a slow link
        write_run(tmp_path / "logs" / "perf", "r1", arm, [10.0] * 8, minute=minute)
    metric = "fetch_latency.true_p99_ms"

    result = run("old", "new", "--from", tmp_path / "logs", "--metric", metric, "--json", tmp_path / "c.json")

    content = json.loads((tmp_path / "c.json").read_text())
    values = {each["arm"]: each["values"] for each in content["runs"]}
    assert (result.exit_code, content["verdict"]) == (2, "inconclusive"), result.output
    assert values["new"][metric] - values["old"][metric] == pytest.approx(20, abs=1)


@pytest.fixture(scope="module")
def sick(tmp_path_factory):
    """Return runs with one fault each that their files show."""
    root = tmp_path_factory.mktemp("sick")
    write_run(root / "raw", "well", "a", [10] * 3, scenario="s")
    write_run(root / "raw", "slow", "a", [10] * 3, reached=900, scenario="s", minute=1)
    write_run(root / "raw", "failed", "a", [10] * 3, exit_code=1, minute=2, scenario="s")
    write_run(root / "raw", "short", "a", [10] * 3, lost=5, minute=3, scenario="s")
    write_run(root / "raw", "killed", "a", [10] * 3, has_end=False, minute=4, scenario="s")
    write_run(root / "raw", "twice", "a", [10] * 3, minute=5, scenario="s")
    write_run(root / "raw", "twice", "a", [10] * 3, minute=6, scenario="s")
    write_run(root / "raw", "steady", "a", [90, 10, 10], steady=[10, 10], minute=7, scenario="s")
    write_run(root / "raw", "other", "a", [10] * 3, minute=8, scenario="s", words=["linger.ms=5"])
    write_run(root / "raw", "well", "a", [10] * 3, scenario="another", minute=9)
    origin = Origin(folder=root / "raw", cluster="lab", time_zone="UTC")
    write_raw(discover(root / "raw").understood, origin, root / "read", on_file=lambda _file: None)
    found = run_tables.tables_of_files(root / "read", root / "scratch", "lab", has_requests=False)
    return {each.run: each for each in runs_of(found, ("a",), "s")}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("slow", "the rate asked for was not reached: run slow of a"),
        ("failed", "run failed of a ended with exit code 1"),
        ("short", "run short of a sent 14,995 of the 15,000 records it was asked for"),
        ("killed", "run killed of a started but has no end"),
        ("twice", "run twice of a is 2 runs of one name: give each its own"),
        ("other", "the runs of a are not of one configuration: configuration: linger.ms=5"),
    ],
)
def test_a_fault_of_a_run_is_found_in_its_own_file(sick, name, message):
    assert of_runs([sick["well"]], []) == []
    assert message in of_runs([sick["well"], sick[name]], [])


def test_the_steady_state_of_the_tool_is_used_if_the_file_has_it(sick):
    assert (sick["steady"].method, sick["steady"].values["avg_ms"]) == ("steady_state", 10.0)
    assert (sick["well"].method, sick["well"].scenario) == ("whole", "s")
    assert [window.avg_ms for window in sick["steady"].windows] == [90.0, 10.0, 10.0]


def test_a_warehouse_has_the_same_verdict_as_its_raw_files(tmp_path):
    folder = written(tmp_path / "runs", 0.8, n=6)
    origin = Origin(folder=folder, cluster="east", time_zone="UTC")
    write_raw(discover(folder).understood, origin, tmp_path / "raw", on_file=lambda _file: None)
    silver, _ = parse_files(raw_lines(tmp_path / "raw"), tmp_path / "silver", Settings())
    for table in (RUNS, PERF_SUMMARIES, PERF_WINDOWS):
        tables.append_rows(silver[table].to_table(), tmp_path / "lake", table, txn_app_id="t")
    (tmp_path / "my.toml").write_text(f'[warehouse]\nroot = "{tmp_path / "lake"}"\n')
    asked = ("old", "new", "--metric", "avg_ms")

    of_warehouse = run(*asked, "--conf", tmp_path / "my.toml", "--json", tmp_path / "w.json")
    of_files = run(*asked, "--from", folder, "--cluster", "east", "--json", tmp_path / "f.json")

    rows = [json.loads((tmp_path / name).read_text())["run_comparison"] for name in ("w.json", "f.json")]
    assert (of_warehouse.exit_code, of_files.exit_code) == (0, 0), of_warehouse.output
    assert not (tmp_path / "lake" / "gold" / "run_comparison").exists()
    kept = [run(*asked, "--conf", tmp_path / "my.toml", "--save") for _ in range(2)]
    assert [result.exit_code for result in kept] == [0, 0]
    assert "saved in gold.run_comparison" in kept[0].output
    assert "already" in kept[1].output
    saved = (
        tables.snapshot(tmp_path / "lake", RUN_COMPARISON)
        .all_rows(RUN_COMPARISON.schema.names)
        .read_all()
        .to_pylist()
    )
    assert {row["metric"]: row["verdict"] for row in saved} == {
        row["metric"]: row["verdict"]
        for row in json.loads((tmp_path / "w.json").read_text())["run_comparison"]
    }
    assert len({(row["metric"], row["compared_at"]) for row in saved}) == len(saved)
    assert all(row["compared_at"] is not None for row in saved)
    assert rows[0] == rows[1]
    assert "with --cluster: east" in refused(*asked, "--conf", tmp_path / "my.toml", "--cluster", "west")
    assert "no run of arm 'newer'; there are: new (6 runs), old (6 runs)" in refused(
        "old", "newer", "--conf", tmp_path / "my.toml"
    )


def test_a_new_result_for_the_same_runs_is_saved_too():
    """Gold may be built after the runs, so the first result must not be final."""
    runs = [run_of(f"x-{nth}", arm, 100.0 + nth, minute=nth) for arm in ("old", "new") for nth in range(6)]
    known = [replace(run, values=dict(run.values) | {"fetch_latency.true_p99_ms": 3.0}) for run in runs]
    asked = ComparisonRequest(baseline="old", contender="new")

    first, again, later = (_fingerprint(compared(each, asked), "lab", None) for each in (runs, runs, known))
    assert first == again
    assert first != later
