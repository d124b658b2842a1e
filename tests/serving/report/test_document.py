"""The report as JSON."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from answers.questions import whole_answer
from conf.atomic_file import write_atomically
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.rows import iso
from schemas.silver.not_kept import QUARANTINE as QUARANTINE_TABLE
from serving.report.document import QUARANTINE, TABLES, as_text, document
from tests.answers.selected import selected
from tests.serving.report import gold_rows

RTT = (
    "window_start leader_id follower_id method n rtt_ms rtt_low_ms rtt_high_ms rtt_p10_ms rtt_p50_ms "
    "rtt_p99_ms"
)
CONTRACT = {
    "fetch_latency": (
        "window_start leader_id follower_id client_id kind n total_p50_ms total_p99_ms leader_local_p50_ms "
        "true_p50_ms true_p99_ms"
    ),
    "broker_rtt": RTT,
    "broker_rtt_summary": RTT,
    "broker_rtt_culprit": "window_start culprit broker_id follower_id leader_id effect_ms since",
}
BALANCE = ["lines_read", "kept", "quarantined", "skipped", "duplicates"]


def content_of(selection):
    """Return the document of all questions, as JSON holds it."""
    return json.loads(as_text(document(selection, whole_answer(selection).headline, selection.outside)))


def test_every_key_is_there_when_nothing_was_read():
    content = content_of(gold_rows.empty())

    assert set(content) == {"verdict", "tables", "left_out", "data_quality", "inputs"}
    assert set(content["tables"]) == {*TABLES, "quarantine"}
    assert all(rows == [] for rows in content["tables"].values())
    assert {name: content["data_quality"][name] for name in BALANCE} == dict.fromkeys(BALANCE, 0)
    assert content["data_quality"]["by_source"] == []


def test_a_table_with_too_many_rows_is_left_out_with_their_number_and_its_summary_stays(monkeypatch):
    gold = gold_rows.slow_link()
    whole = content_of(gold)
    n = len(whole["tables"]["broker_rtt"])
    assert 0 < len(whole["tables"]["fetch_latency"]) < n
    assert whole["left_out"] == {}

    monkeypatch.setattr("serving.report.document.MOST_ROWS", n)
    assert content_of(gold) == whole
    monkeypatch.setattr("serving.report.document.MOST_ROWS", n - 1)
    cut = content_of(gold)

    assert cut["left_out"] == {"broker_rtt": n}
    assert cut["tables"] == whole["tables"] | {"broker_rtt": []}


@pytest.fixture(scope="module")
def slow_link():
    return content_of(gold_rows.slow_link({QUALITY_RESULTS: [gold_rows.FAILED_RULE]}))


@pytest.mark.parametrize("table", CONTRACT)
def test_rows_have_the_columns_of_the_contract_and_no_histogram(table, slow_link):
    row = slow_link["tables"][table][0]

    assert set(CONTRACT[table].split()) <= set(row)
    assert not [name for name in row if name.endswith("_hist")]


def test_results_of_rules_have_their_examples(slow_link):
    (result,) = slow_link["tables"]["quality_results"]

    assert result["span_start"] == "2026-11-21T11:00:00Z"
    assert (result["is_passed"], result["examples"]) == (False, ['{"n": 1}'])


def test_counts_are_added_up_over_sources(slow_link):
    quality = slow_link["data_quality"]

    assert {name: quality[name] for name in BALANCE} == {
        "lines_read": 3000,
        "kept": 2970,
        "quarantined": 3,
        "skipped": 24,
        "duplicates": 3,
    }
    assert quality["is_balanced"]


def test_instants_are_utc_with_z():
    cet = datetime(2026, 11, 21, 12, 4, 20, 5000, tzinfo=timezone(timedelta(hours=1)))

    assert iso(cet) == "2026-11-21T11:04:20.005000Z"


def test_instant_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="no time zone"):
        iso(datetime(2026, 11, 21, tzinfo=UTC).replace(tzinfo=None))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_what_is_no_number_is_null(value):
    tables = gold_rows.tables(set(), gold_rows.NO_CULPRIT)
    tables[BROKER_RTT] = [tables[BROKER_RTT][0] | {"rtt_ms": value}]

    (row,) = content_of(selected(tables))["tables"]["broker_rtt"]

    assert row["rtt_ms"] is None


def test_text_with_lone_surrogates_can_be_written(tmp_path):
    """A file name need not be UTF-8; Python reads it with surrogates."""
    write_atomically(tmp_path / "a.json", as_text({"caf\udce9/*": "caf\udce9.log"}))

    assert json.loads((tmp_path / "a.json").read_text()) == {"caf\udce9/*": "caf\\udce9.log"}


def test_floats_of_numpy_are_numbers():
    content = {"change": np.float64(0.25), "p": np.float64("nan"), "n": [1]}

    assert json.loads(as_text(content)) == {"change": 0.25, "p": None, "n": [1]}
    with pytest.raises(TypeError, match="has no form in JSON"):
        as_text({"rows": object()})


def test_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    (tmp_path / "report.json").write_text("old")

    with pytest.raises(TypeError):
        write_atomically(tmp_path / "report.json", None)

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.json", "old")]


def test_every_key_is_explained_to_the_reader():
    page = (Path(__file__).parents[3] / "docs" / "report.md").read_text()
    content = content_of(gold_rows.empty())

    named = {*content, *content["tables"], *content["data_quality"], *QUARANTINE}

    assert [name for name in sorted(named) if f"`{name}`" not in page] == []


def test_device_is_written_to_and_a_link_stays_one(tmp_path):
    (tmp_path / "latest.json").symlink_to(tmp_path / "of-today.json")

    write_atomically(tmp_path / "latest.json", "new")
    write_atomically(Path("/dev/null"), "gone")

    assert (tmp_path / "latest.json").is_symlink()
    assert (tmp_path / "of-today.json").read_text() == "new"
    assert Path("/dev/null").is_char_device()


def test_log_in_the_folder_of_another_broker_is_doubted(slow_link):
    """Follower 2 in the log of "broker 2": a broker does not fetch from itself."""
    row = {"cluster": "lab", "reason": "node_is_another_replica", "source": "broker-2/kafka-request.log"}
    rows = [row | {"position": str(nth)} for nth in range(2)]

    doubts = content_of(gold_rows.slow_link({QUARANTINE_TABLE: rows}))["data_quality"]["doubts"]

    assert doubts[0].startswith("broker-2/kafka-request.log holds lines of another bro")
    assert slow_link["data_quality"]["doubts"] == []


def test_the_verdict_is_that_of_the_page(slow_link):
    verdict = slow_link["verdict"]

    assert verdict["sentence"].startswith("Broker 3's link to broker 1 is slow by ")
    assert verdict["mood"] == "alarm"
    assert any("95 % interval" in line for line in verdict["evidence"])


def test_names_of_files_and_changes_of_runs_are_in_it(slow_link):
    """They are in no table of gold."""
    outside = {
        "run_changes": [{"run": "night-25", "changed_at": datetime(2026, 11, 21, tzinfo=UTC)}],
        "run_changes_missing": [{"reason": "`make otava` installs it"}],
        "files": [{"path": "a.log", "lines": 0}],
    }
    content = content_of(replace(gold_rows.healthy(), outside=outside))

    assert content["tables"]["run_changes"][0]["changed_at"] == "2026-11-21T00:00:00Z"
    assert content["data_quality"]["doubts"] == ["a.log is empty", "`make otava` installs it"]
    assert slow_link["tables"]["run_changes"] == []
