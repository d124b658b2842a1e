"""The recorded example: the report names what the lab injected, and says that it is a recording."""

import json
from datetime import datetime

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.clients import judge as clients
from benchmarks.throttles import judge as throttles
from benchmarks.truth.judge import allowed_ms, demo_result
from jobs import report as job
from lab.clients.redirect import VERSIONS
from serving.report.run import example
from serving.report.truth import read_truth

MOST_BYTES = 4_000_000
"""The files are part of every checkout."""

app = typer.Typer()
app.command()(job.report)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the report once; return what was printed, the JSON and the page."""
    folder = tmp_path_factory.mktemp("example")
    result = run("--example", "--html", folder / "r.html", "--json", folder / "r.json")
    assert result.exit_code == 0, result.output
    return result.stdout, json.loads((folder / "r.json").read_text()), (folder / "r.html").read_text()


@pytest.fixture(scope="module")
def tables(made):
    return made[1]["tables"]


@pytest.fixture(scope="module")
def truth():
    return read_truth(example.EXAMPLE / "truth.json")


def test_the_one_finding_is_the_slow_link_with_its_onset(tables, truth):
    rows = [
        row | {name: datetime.fromisoformat(row[name]) for name in ("window_start", "since") if row[name]}
        for row in tables["broker_rtt_culprit"]
    ]
    result = demo_result(truth, rows)

    assert (result.reported, result.findings, result.outside) == (result.injected, 1, 0)
    assert abs(result.onset_s) <= 10
    assert result.is_right


@pytest.mark.parametrize("method", ["paired", "passive"])
def test_the_slow_link_rises_by_the_injected_delay(method, tables, truth):
    link = {"follower_id": truth["follower_id"], "leader_id": truth["leader_id"], "method": method}
    slow, quiet = (
        next(row["rtt_ms"] for row in tables[name] if link.items() <= row.items())
        for name in ("broker_rtt_accused", "broker_rtt_quiet")
    )

    assert slow - quiet == pytest.approx(truth["delay_ms"], abs=allowed_ms(method, truth["delay_ms"]))


def test_every_producer_meets_moves_and_only_newer_ones_get_the_new_leader(tables, truth):
    moves = len(truth["redirect"]["moves"])
    found = {
        row.version: row for row in clients.by_version(truth["redirect"], tables) if row.api == "PRODUCE"
    }

    assert set(found) == set(VERSIONS)
    assert [version for version, row in found.items() if not moves / 2 < row.n <= moves] == []
    assert [version for version, row in sorted(found.items()) if row.hinted] == ["3.9.1", "4.3.1"]
    assert found["3.6.0"].p50_ms > 100 > found["4.3.1"].p50_ms


def test_consumers_of_old_and_new_clients_meet_the_moves(tables, truth):
    found = {row.version for row in clients.by_version(truth["redirect"], tables) if row.api == "FETCH"}

    assert found == {"3.6.0", "4.3.1"}


def test_the_throttle_that_stays_set_has_its_verdict(tables, truth):
    found = throttles.sides(truth["throttle"], tables)

    assert {side.reported for side in found} == {"left_over"}
    assert all(side.is_named for side in found)
    assert len(found) == 2


def test_a_lookup_of_the_old_client_asks_for_all_its_topics(tables, truth):
    topics = truth["metadata"]["topics"]
    asked = {row["client_id"]: row["topics_per_lookup"] for row in tables["metadata_lookup"]}

    assert asked["metadata-2.4.1-0"] == pytest.approx(topics / 2, rel=0.2)
    assert [asked[f"metadata-{version}-0"] for version in ("2.8.2", "3.9.1", "4.3.1")] == [1, 1, 1]


def test_every_line_is_read(made):
    content = made[1]

    assert content["data_quality"]["is_balanced"]
    assert content["data_quality"]["quarantined"] == 0
    assert content["data_quality"]["doubts"] == []
    assert content["inputs"]["not_understood"] == []


def test_the_output_says_that_it_is_a_recording_what_was_injected_and_what_to_do_next(made, truth):
    printed, _, page = made

    assert printed.startswith("A recording of 3 real brokers (Kafka 4.3.1)")
    assert [one["what"] for one in truth["injected"] if one["what"] not in printed] == []
    assert "`plumbline report --from DIR`" in printed
    assert "`plumbline demo`" in printed
    assert "Injected delay compared with the measured one" in page


def test_the_files_are_small():
    files = [file for file in example.EXAMPLE.rglob("*") if file.is_file()]

    assert sum(file.stat().st_size for file in files) < MOST_BYTES


@pytest.mark.parametrize("other", [("--from", "logs"), ("--conf", "my.toml")], ids="".join)
def test_another_input_is_refused(other):
    result = run("--example", *other)

    assert result.exit_code == 2
    assert "--example has its own input" in result.output


def test_missing_files_are_named_with_the_ways_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr(example, "EXAMPLE", tmp_path / "nowhere")
    result = run("--example", "--html", tmp_path / "r.html")

    assert result.exit_code == 2
    assert f"the example is not in {tmp_path / 'nowhere'}" in result.output.replace("\n", "")
    assert "git checkout docs/example" in result.output
    assert not (tmp_path / "r.html").exists()
