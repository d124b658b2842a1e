"""Would it have fired: rules over gold's history, asked of a real Prometheus, through the command itself."""

import json
import shutil
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from plumbline.cli import app
from serving.exporter import engine
from tests.serving.exporter import gold_tables
from tests.serving.exporter.gold_tables import QUIET_WINDOWS, SLOW_WINDOWS

END = 1_700_000_000
ONSET = END - 10 * SLOW_WINDOWS


@pytest.fixture(scope="module", autouse=True)
def _prometheus():
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        pytest.skip("prometheus and promtool are not on the path: see .ci/run")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    gold_tables.fill(folder / "warehouse", END)
    return settings(folder)


def settings(folder):
    (folder / "my.toml").write_text(f'[warehouse]\nroot = "{folder / "warehouse"}"\n')
    return folder / "my.toml"


def backtest(conf, out, *more):
    """Run the command; give its exit code, what it wrote, and what fired by rule."""
    asked = ["alerts", "backtest", "--conf", conf, "--json", out / "told.json", *more]
    done = CliRunner().invoke(app, [str(word) for word in asked])
    told = json.loads((out / "told.json").read_text())["rules"] if (out / "told.json").exists() else []
    return done.exit_code, done.output, {one["rule"]: one["firings"] for one in told if one["firings"]}


def utc(at):
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"


def test_the_slow_link_would_have_fired_from_20_s_behind_its_first_window_on(made, tmp_path):
    code, _, fired = backtest(made, tmp_path)

    (link,) = fired["PlumblineSlowLink"]
    assert code == 0
    assert (link["labels"]["follower"], link["labels"]["leader"]) == ("1", "3")
    assert (link["since"], link["until"]) == (ONSET + 10 + 20, END)
    assert link["peak"] == 1


def test_nothing_would_have_fired_in_an_hour_without_fault(tmp_path):
    """The hour is made by hand; what real quiet brokers come to stands in docs/truth.md."""
    gold_tables.fill(tmp_path / "warehouse", END, quiet=360)

    code, told, fired = backtest(settings(tmp_path), tmp_path, "--until", utc(ONSET))

    assert (code, fired) == (0, {})
    assert told.count("would not have fired") + told.count("nothing to judge") == 12


def test_too_much_in_quarantine_would_have_been_told(tmp_path):
    gold_tables.fill(tmp_path / "warehouse", END, quarantined=11)

    _, _, fired = backtest(settings(tmp_path), tmp_path)

    assert [one["peak"] for one in fired["PlumblineQuarantine"]] == [0.011] * 3


@pytest.mark.parametrize(
    "expr",
    ["plumbline_link_slwo == 1", 'plumbline_link_slow{leader="9"} == 1', "plumbline_culprit + nothing > 1"],
)
def test_a_rule_without_series_is_an_error_that_names_them(made, tmp_path, expr):
    rules = tmp_path / "mine.yml"
    rules.write_text(f"groups: [{{name: g, rules: [{{alert: Mine, expr: '{expr}'}}]}}]")

    code, told, _ = backtest(made, tmp_path, "--rules", rules)

    assert code == 1
    assert "Mine: ERROR: could never fire: no series of" in told


def test_a_silent_broker_would_have_been_told_and_no_other(tmp_path):
    gold_tables.fill(tmp_path / "warehouse", END, silent=2, silent_windows=16)

    _, _, fired = backtest(settings(tmp_path), tmp_path)

    assert {one["labels"]["broker"] for one in fired["PlumblineNodeSilent"]} == {"2"}
    assert fired["PlumblineNodeSilent"][0]["since"] == END - 160 + 130
    assert {one["labels"]["broker"] for one in fired["PlumblineNodeLags"]} == {"2"}


def test_a_gap_in_gold_is_one_in_history_too(tmp_path):
    """What is not served any more is not kept alive by Prometheus's lookback."""
    gold_tables.fill(tmp_path / "warehouse", END)

    later = ("--since", utc(END - 60), "--until", utc(END + 400))
    _, _, fired = backtest(settings(tmp_path), tmp_path, *later)

    assert fired["PlumblineSlowLink"][0]["until"] == END + 290  # fresh_s is 300, its end left out
    assert fired["PlumblineGoldNotFresh"][0]["since"] == END + 190


def test_a_history_longer_than_one_answer_is_asked_in_parts(monkeypatch, made, tmp_path):
    monkeypatch.setattr(engine, "_POINTS", 7)

    _, _, fired = backtest(made, tmp_path)

    assert len(fired["PlumblineSlowLink"]) == 1
    assert fired["PlumblineSlowLink"][0]["until"] - ONSET == 10 * (SLOW_WINDOWS)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--until", utc(END - 10 * (QUIET_WINDOWS + SLOW_WINDOWS) - 60)), "the span is empty"),
        (("--rules", __file__), "no file of alert rules"),
    ],
)
def test_wrong_use_is_told(made, tmp_path, options, told):
    code, output, _ = backtest(made, tmp_path, *options)

    assert code == 2
    assert told in output


def test_without_prometheus_the_way_out_is_named(monkeypatch, made, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    code, output, _ = backtest(made, tmp_path)

    assert code == 2
    assert "apt-get install prometheus" in output


def test_a_page_is_printed_once(made):
    done = CliRunner().invoke(app, ["export", "--conf", str(made), "--once"])

    assert done.exit_code == 0
    assert 'plumbline_gold_settled_timestamp_seconds{cluster="lab"} 1.7e+09' in done.output
