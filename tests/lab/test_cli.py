import pytest
from typer.testing import CliRunner

from lab.choices import OPTIONS, ScenarioName
from lab.cli import app


def call(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(
    "command", ["start", "status", "stop", "run", "delay", "probe", "load", "request-log"]
)
def test_every_command_has_help_with_an_example(command):
    shown = call(command, "--help")

    assert shown.exit_code == 0
    assert "Example: plumbline lab" in shown.output.replace("`", "")


@pytest.mark.parametrize(
    "arguments", [("stop",), ("status",), ("run", "healthy"), ("delay", "2:1:10"), ("probe", "2", "1")]
)
def test_without_a_lab_each_command_says_how_to_start_one(tmp_path, arguments):
    told = call(*arguments, "--state", str(tmp_path))

    assert told.exit_code == 1
    assert "plumbline lab start" in told.output


@pytest.mark.parametrize("text", ["2:1", "a:1:3", "2:1:3:4"])
def test_a_delay_that_cannot_be_read_is_a_usage_error(text):
    told = call("delay", text)

    assert told.exit_code == 2
    assert "FOLLOWER:LEADER:MS" in told.output


def test_on_or_off_is_all_a_switch_knows():
    assert call("request-log", "maybe").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "wrong", "may"),
    [
        (("skew", "--delay-ms", "3"), "--delay-ms", "--repeats, --seed"),
        (("redirect", "--rate", "500"), "--rate", "--repeats"),
        (("metadata", "--for", "9s", "--quiet", "9s"), "--quiet, --for", "--repeats"),
        (("metadata", "--for-s", "9", "--quiet-s", "9"), "--quiet-s, --for-s", "--repeats"),
        (("throttle", "--broker", "2"), "--broker", "--part, --repeats"),
        (("healthy", "--delay-ms", "10"), "--delay-ms", "--for"),
        (("slow_link", "--broker", "1"), "--broker", "--follower"),
        (("slow_broker", "--side", "leader"), "--side", "--broker"),
        (("slow_side", "--part", "a"), "--part", "--side"),
    ],
)
def test_an_option_that_a_scenario_would_pass_over_is_a_usage_error(arguments, wrong, may):
    """It was silence before: a rate that nobody produced stood on the command line of a run."""
    told = call("run", *arguments)
    text = " ".join(told.output.replace("│", " ").split())

    assert told.exit_code == 2
    wrong_ones = " ".join(text.partition("takes no ")[2].partition(";")[0].split())
    assert wrong_ones == wrong
    assert may in text


@pytest.mark.parametrize("scenario", list(ScenarioName))
def test_every_option_that_a_scenario_takes_is_taken(tmp_path, scenario):
    """What goes wrong then is that there is no lab."""
    given = {"side": "leader", "part": "a", "quiet": "1s", "for_": "1s"}
    names = {name: f"--{name.rstrip('_').replace('_', '-')}" for name in sorted(OPTIONS[scenario])}
    options = [(option, given.get(name, "1")) for name, option in names.items()]
    told = call("run", scenario, "--state", str(tmp_path), *(word for option in options for word in option))

    assert told.exit_code == 1
    assert "plumbline lab start" in told.output


@pytest.mark.parametrize(
    ("options", "lasts"),
    [
        (("--quiet", "90s", "--for", "2m"), (90, 120)),
        (("--quiet-s", "1.5", "--for-s", "2"), (1.5, 2)),  # former names
        ((), (60, 60)),
    ],
)
def test_durations_have_a_unit_and_former_options_are_still_read(tmp_path, monkeypatch, options, lasts):
    plans = []
    monkeypatch.setattr("lab.cli.scenarios.run", lambda _state, plan, **_: plans.append(plan))

    call("run", "healthy", "--state", str(tmp_path), *options)

    assert [(plan.quiet_s, plan.for_s) for plan in plans] == [lasts]


def test_help_shows_no_former_option():
    assert "--for-s" not in call("run", "--help").output
    assert "--for " in call("run", "--help").output


def test_a_duration_without_a_unit_is_refused_with_an_example(tmp_path):
    refused = call("run", "healthy", "--for", "60", "--state", str(tmp_path))

    assert refused.exit_code == 2
    assert "--for '60' is not a duration: write 90s" in " ".join(refused.output.split())


def test_a_part_of_throttle_that_is_not_there_is_named(tmp_path):
    told = call("run", "throttle", "--part", "d", "--state", str(tmp_path))

    assert told.exit_code == 1
    assert "no part d: the parts are a, a_load" in told.output
