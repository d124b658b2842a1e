"""The report as a person asks for it."""

import gzip
import json
import os
import shutil
from dataclasses import replace

import pytest
import typer
from deltalake import write_deltalake
from typer.testing import CliRunner

from answers.questions import whole_answer
from collectors.files import discover
from conf.exit_codes import WrongUseError
from engine.ingest.raw_files import Origin, write_raw
from jobs import report as job
from serving.report.run import making
from serving.report.run.gold_of_files import rows_of_files
from serving.report.run.options import nodes_of, zone_of
from tests.engine import made_logs
from tests.serving.report import test_opening

app = typer.Typer()
app.command()(job.report)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words):
    """Give the line that a wrong use gets, without the progress before it."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    return result.output.strip().splitlines()[-1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_missing_folder_is_named_with_the_way_out():
    told = refused("--from", "nowhere")

    assert (
        told
        == "error: nowhere does not exist; give the folder that contains the brokers' logs, as in --from DIR"
    )


def test_file_instead_of_a_folder_is_named(here):
    (here / "a.log").write_text("")

    assert refused("--from", "a.log").startswith("error: a.log is not a folder")


def test_folder_without_anything_understood_is_told_what_is_wanted(here):
    (here / "logs").mkdir()
    assert "it is empty" in refused("--from", "logs")

    (here / "logs" / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    told = refused("--from", "logs")

    assert "photo.jpg: neither its name nor its content" in told
    assert "broker-1/kafka-request.log" in told


def test_page_of_metrics_by_another_name_is_told_how_such_a_file_is_named(here):
    page = here / "logs" / "broker-1" / "metrics.txt"
    page.parent.mkdir(parents=True)
    page.write_text("# TYPE up gauge\nup 1\n")
    told = refused("--from", "logs")

    assert "metrics.txt: neither its name nor its content is that of a request log" in told
    assert "saved scrapes must be named *.prom" in told
    assert "*state-change*.log* and *.prom (scrapes) in folders" in told


def test_folder_with_nothing_but_kafkas_other_logs_is_told_so(here):
    (here / "logs").mkdir()
    (here / "logs" / "server.log").write_text("nothing\n")

    assert "(it holds other files of Kafka's); wanted are" in refused("--from", "logs")


@pytest.fixture
def redirected(monkeypatch, here):
    """Let each report show a slow link and redirects of a scenario that asked for them."""
    selection = test_opening.redirected("redirect")

    def content(*_):
        return making.ReportContent(
            selection=replace(selection, outside={"not_understood": []}),
            whole=whole_answer(selection),
            inputs={},
        )

    monkeypatch.setattr(making, "from_files", content)
    return here


@pytest.mark.usefixtures("redirected")
def test_first_sentence_is_about_clients_if_a_scenario_asked_about_them():
    said = run("--from", "logs").output.splitlines()

    assert any(line.startswith("Clients lost a leader that moved 16 times, ") for line in said)
    assert said[-2:] == ["report.html", "report.json"]


@pytest.mark.usefixtures("redirected")
def test_tables_are_printed_only_with_their_option_and_no_line_is_longer_than_80():
    without, with_tables = (run("--from", "logs", *option).stdout for option in ([], ["--tables"]))

    assert ["Clients whose leader moved" in text for text in (without, with_tables)] == [False, True]
    assert len(without.splitlines()) <= 40
    assert max(len(line) for line in with_tables.splitlines() if not line.startswith("   ")) <= 80


def test_folder_that_names_no_broker_is_told_about_node(here):
    folder = here / "x" / "logs"
    folder.mkdir(parents=True)
    (folder / "kafka-request.log").write_text("")
    told = refused("--from", folder) if not any(part[-1:].isdigit() for part in here.parts) else None

    assert told is None or "use --node PATTERN=ID" in told


def test_nothing_or_both_to_read_is_wrong_use(here):
    (here / "logs").mkdir()
    (here / "my.toml").write_text("")

    assert "give either --from DIR" in refused()
    assert "give either --from DIR" in refused("--from", "logs", "--conf", "my.toml")
    assert "use it with --from" in refused("--conf", "my.toml", "--node", "a=1")
    assert "give bytes/s above 0" in refused("--conf", "my.toml", "--network", "0")


def test_settings_that_are_wrong_are_named(here):
    (here / "my.toml").write_text("[warehouse]\nrot = 1\n")

    assert "my.toml: [warehouse] rot: unknown key; did you mean 'root'?" in refused("--conf", "my.toml")
    assert "missing.toml" in refused("--conf", "missing.toml")


def test_warehouse_that_is_not_there_is_named(here):
    (here / "my.toml").write_text('[warehouse]\nroot = "lake"\n')

    assert "no warehouse at" in refused("--conf", "my.toml")
    assert not (here / "report.html").exists()


def test_folder_as_a_target_is_refused_before_any_work(here):
    (here / "logs").mkdir()

    assert "logs is a folder; name the file to write" in refused("--from", "logs", "--html", "logs")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--node", "east", "is not PATTERN=ID"),
        ("--node", "east=left", "an ID that ends in a number"),
        ("--node", "=1", "is not PATTERN=ID"),
        ("--time-zone", "Mars/Base", "is no zone"),
        ("--time-zone", "../etc/passwd", "is no zone"),
        ("--since", "yesterday", "is neither an instant"),
        ("--truth", "nowhere.json", "not the ground truth"),
    ],
)
def test_option_that_cannot_be_understood_is_named(option, value, told):
    assert told in refused("--from", "logs", option, value)


def test_patterns_may_hold_an_equals_sign():
    assert nodes_of(["rack=a/*=7"]) == {"rack=a/*": "7"}


def test_zone_is_checked_when_it_is_given():
    assert zone_of("Europe/Berlin") == "Europe/Berlin"
    with pytest.raises(WrongUseError, match="Europe/Berlin"):
        zone_of("Berlin")


@pytest.fixture(scope="module")
def slow_link(tmp_path_factory):
    """Two minutes of three brokers; from the 70th second on follower 3 reaches leader 1 by 20 ms later."""
    folder = tmp_path_factory.mktemp("logs") / "logs"
    made_logs.write_logs(folder, seconds=130, added_ms={(3, 1): 20.0}, onset_s=70)
    return folder


def report_of(folder, target, *words):
    """Make the report of a folder and give its JSON."""
    told = run("--from", folder, "--json", target / "r.json", "--html", target / "r.html", *words)
    assert told.exit_code == 0, told.output
    return json.loads((target / "r.json").read_text()), told.output


def test_slow_link_is_found_in_raw_files(slow_link, tmp_path):
    content, told = report_of(slow_link, tmp_path)

    summary = content["tables"]["broker_rtt_accused"]
    slow = [row for row in summary if (row["follower_id"], row["leader_id"]) == (3, 1)]
    others = [row for row in summary if (row["follower_id"], row["leader_id"]) != (3, 1)]
    assert "Broker 3's link to broker 1 is slow by 20.0 ms since 11:04:10 UTC." in told
    assert {row["method"]: round(row["rtt_ms"]) for row in slow} == {"paired": 21, "passive": 21}
    assert max(row["rtt_ms"] for row in others) < 1.2
    assert {row["total_p50_ms"] // 10 for row in content["tables"]["fetch_latency"]} == {50}


def test_every_line_is_accounted_for(slow_link, tmp_path):
    """A truncated line, garbage, another logger's line, a file given twice, a torn gzip, an empty file."""
    folder = tmp_path / "logs"
    shutil.copytree(slow_link, folder)
    request_log = folder / "broker-1" / "kafka-request.log"
    packed = gzip.compress(request_log.read_bytes())
    (folder / "broker-1" / "kafka-request.log.2026-11-21-10.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "broker-2" / "kafka-request.log.1").write_bytes(
        (folder / "broker-2/kafka-request.log").read_bytes()
    )
    (folder / "broker-3" / "kafka-request.log.1").write_bytes(b"\x00\xff\xfe\x80garbage\n" * 3)
    (folder / "broker-3" / "kafka-request.log.2").write_bytes(b"")
    (folder / "notes.txt").write_text("nothing\n")
    for broker in (1, 2):
        (folder / f"broker-{broker}" / "controller.log").write_text("nothing\n")
    with (folder / "broker-3" / "kafka-request.log").open("ab") as log:
        log.write(b'2026-11-21T11:05:10.1Z DEBUG Completed request:{"isForwarded":fal\n')
        log.write(b"2026-11-21T11:05:10.1Z INFO Rolled new log segment (kafka.log.UnifiedLog)\n")

    content, told = report_of(folder, tmp_path)

    quality = content["data_quality"]
    reasons = {row["reason"]: row["lines"] for row in quality["quarantined_by_reason"]}
    assert quality["is_balanced"]
    assert quality["lines_read"] == sum(file["lines"] for file in content["inputs"]["files"])
    assert quality["skipped"] == 1
    assert reasons["no_value"] == 1
    assert quality["quarantined"] == 3 + 1 + 1 + (sum(reasons.values()) - 5)
    assert quality["duplicates"] >= 700
    assert [file["path"] for file in content["inputs"]["not_understood"]] == ["notes.txt"]
    assert "not understood: notes.txt" in told
    assert content["inputs"]["passed_over"] == [{"what": "controller.log", "files": 2}]
    assert "skipped: no telemetry in the first 16 MiB: controller.log (2)" in told
    assert "<li>Files skipped: no telemetry" in (tmp_path / "r.html").read_text()
    assert "doubtful: broker-3/kafka-request.log.2 is empty" in told


def test_names_that_are_no_utf8_are_read_and_told(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    made_logs.write_logs(folder, seconds=2, added_ms={}, onset_s=1)
    odd = folder / "broker-1" / os.fsdecode(b"request-\xff.log")
    (folder / "broker-1" / "kafka-request.log").rename(odd)
    (folder / os.fsdecode(b"notes-\xff.txt")).write_text("nothing\n")

    content, told = report_of(folder, tmp_path)

    assert content["data_quality"]["is_balanced"]
    assert r"broker-1/request-\xff.log" in {file["path"] for file in content["inputs"]["files"]}
    assert r"not understood: notes-\xff.txt" in told


@pytest.mark.usefixtures("here")
def test_a_span_that_ends_before_it_begins_is_refused():
    assert "is not before --until" in refused(
        "--from", "logs", "--since", "2026-11-21T12:00", "--until", "2026-11-21T11:00"
    )


def test_target_that_cannot_be_written_is_refused_before_any_work(here):
    (here / "a.txt").write_text("")

    assert "a.txt is no folder that can be written to" in refused("--from", "logs", "--html", "a.txt/r.html")


def test_empty_logs_are_wrong_use_and_leave_no_litter(tmp_path, monkeypatch):
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    (tmp_path / "broker-1").mkdir()
    (tmp_path / "broker-1" / "kafka-request.log").write_bytes(b"")

    told = refused("--from", tmp_path, "--json", tmp_path / "r.json")

    assert "no line in the 1 files" in told
    assert not (tmp_path / "r.json").exists()
    assert list(scratch.glob("plumbline-report-*")) == []


@pytest.fixture(scope="module")
def warehouse(slow_link, tmp_path_factory):
    """Give settings of a warehouse that holds the gold of the slow link, as cluster east."""
    root = tmp_path_factory.mktemp("warehouse")
    origin = Origin(folder=slow_link, cluster="east", time_zone="UTC")
    write_raw(discover(slow_link).understood, origin, root / "raw", on_file=lambda _file: None)
    for table, rows in rows_of_files(root / "raw", root / "scratch", {}).items():
        write_deltalake(str(root / "lake" / table.layer / table.name), rows)
    (root / "my.toml").write_text(f'[warehouse]\nroot = "{root / "lake"}"\n')
    return root / "my.toml"


def test_warehouse_gives_the_report_that_its_raw_files_gave(warehouse, tmp_path):
    told = run("--conf", warehouse, "--json", tmp_path / "r.json", "--until", "2026-11-21T11:05")

    content = json.loads((tmp_path / "r.json").read_text())
    slow = [row for row in content["tables"]["broker_rtt_accused"] if row["rtt_ms"] > 2]
    assert "Broker 3's link to broker 1 is slow by 20.0 ms since 11:04:10 UTC." in told.output
    assert {(row["follower_id"], row["leader_id"]) for row in slow} == {(3, 1)}
    assert max(row["window_start"] for row in content["tables"]["broker_rtt"]) == "2026-11-21T11:04:50Z"
    assert content["data_quality"]["is_balanced"]
    assert not (tmp_path / "report.html").exists()


def test_a_warehouse_without_rows_is_refused_with_the_commands_to_run_first(here):
    (here / "lake").mkdir()
    (here / "my.toml").write_text('[warehouse]\nroot = "lake"\n')

    told = refused("--conf", "my.toml")

    assert told.endswith(
        "has no rows: run `plumbline ingest --conf my.toml`, then `plumbline build-gold --conf my.toml`"
    )
    assert not (here / "report.html").exists()


def test_a_span_without_windows_is_no_error(warehouse, tmp_path):
    assert run("--conf", warehouse, "--json", tmp_path / "r.json", "--until", "2020-01-01").exit_code == 0


def test_cluster_that_is_not_in_the_warehouse_is_refused_with_those_that_are(warehouse):
    told = refused("--conf", warehouse, "--cluster", "west")

    assert "no cluster 'west' in " in told
    assert told.endswith("there are: east")
