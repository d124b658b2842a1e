"""What the demo says when the report does not name the injected fault, or when a stream is not done."""

from pathlib import Path

from typer.testing import CliRunner

from plumbline.cli import app
from plumbline.demo import not_done, wrong_verdicts

LINK = {"shape": "link", "broker_id": None, "follower_id": 3, "leader_id": 1}
NOBODY = {"shape": "none", "broker_id": None, "follower_id": None, "leader_id": None}


def verdict(culprit="link", broker_id=None, follower_id=3, leader_id=1, **more):
    named = {"culprit": culprit, "broker_id": broker_id, "follower_id": follower_id, "leader_id": leader_id}
    figures = {"effect_ms": 10.04, "evidence": 44.1, "is_settled": True, "tied": None}
    return {"window_start": "2026-11-25T11:04:20Z", **named, **figures, **more}


def test_the_injected_link_is_right():
    assert wrong_verdicts(LINK, [verdict(), verdict()]) == []
    assert wrong_verdicts(NOBODY, []) == []


def test_one_wrong_window_is_enough_and_is_printed_with_its_figures():
    wrong = verdict("broker", 2, None, None, is_settled=False, evidence=None)

    assert wrong_verdicts(LINK, [verdict(), wrong]) == [
        "2026-11-25T11:04:20Z: broker (broker_id 2), effect 10.0 ms, evidence unknown, not settled",
        "injected: link (follower_id 3, leader_id 1)",
    ]


def test_an_ambiguous_window_is_wrong_and_lists_the_shapes_that_are_tied():
    tied = [verdict(), verdict("leader_side", None, None, 1)]
    (line, _) = wrong_verdicts(LINK, [verdict("ambiguous", None, None, None, tied=tied)])

    assert "ambiguous (link (follower_id 3, leader_id 1) or leader_side (leader_id 1)), effect" in line


def test_a_report_that_names_nobody_is_wrong():
    assert wrong_verdicts(LINK, []) == [
        "no window names a culprit; injected: link (follower_id 3, leader_id 1)"
    ]


def test_any_verdict_without_a_fault_is_wrong():
    assert wrong_verdicts(NOBODY, [verdict()])[-1] == "injected: none"


def test_the_side_of_a_broker_is_compared_by_the_broker():
    side = {"shape": "leader_side", "broker_id": 1, "follower_id": None, "leader_id": None}

    assert wrong_verdicts(side, [verdict("leader_side", 1, None, 1)]) == []


def test_the_stream_that_is_not_done_is_named_with_its_log():
    assert not_done(Path("logs/ingest.txt"), is_read=False) == (
        "ingest has not read every line after 120 s; log: logs/ingest.txt"
    )
    assert not_done(Path("logs/build-gold.txt"), is_read=True).startswith(
        "ingest is done, build-gold is not after 120 s: the machine may be busy"
    )


def test_ingest_and_build_gold_need_settings():
    for word in ("ingest", "build-gold"):
        result = CliRunner().invoke(app, [word])

        assert (result.exit_code, "Missing option '--conf'" in result.output) == (2, True)
