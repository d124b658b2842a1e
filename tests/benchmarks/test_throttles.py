"""What judges throttles can fail: a wrong name, a rate off its limit, a forecast too late."""

from typing import Any

from benchmarks.throttles import judge, page

AT = "2026-11-21T10:{}:00+00:00"
SINCE, UNTIL = AT.format("00"), AT.format("02")


def part(**changes: Any) -> dict[str, Any]:
    side = {"broker_id": 2, "direction": "follower", "limit_bytes_per_s": 1000}
    measured = {"after_first_window_bytes_per_s": 980.0, "first_window_bytes_per_s": 1100.0}
    told: dict[str, Any] = {
        "name": "a",
        "repeat": 0,
        "kind": "move",
        "leaders": [1, 1],
        "followers": [2, 2],
        "limit_bytes_per_s": 1000,
        "limit_set_at": SINCE,
        "asked_at": SINCE,
        "begun_at": SINCE,
        "done_at": AT.format("01"),
        "cleared_at": UNTIL,
        "states": [side | {"state": "compliant", "cause": None}],
        "on_disk": [{"broker_id": 2, "direction": "follower", "measured": measured}],
    }
    return told | changes


def said(**changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "broker_id": 2,
        "direction": "follower",
        "limit_bytes_per_s": 1000,
        "since": SINCE,
        "until": UNTIL,
        "state": "compliant",
        "cause": None,
        "rate_bytes_per_s": 970.0,
        "first_window_overshoot": 0.1,
        "bean_bytes_per_s": 700.0,
        "n": 3,
    }
    return told | changes


def moved(**changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "moved_at": SINCE,
        "ended_at": AT.format("01"),
        "forecast_error": 0.1,
        "forecast_low_at": SINCE,
        "forecast_high_at": UNTIL,
        "forecast_n": 4,
        "kip_error": -0.2,
    }
    return told | changes


def judged(
    of: dict[str, Any], row: dict[str, Any] | None = None, move: dict[str, Any] | None = None
) -> tuple[str, bool]:
    truth = {"since": SINCE, "until": UNTIL, "parts": [of]}
    tables = {
        "throttle_compliance": [said()] if row is None else [row] if row else [],
        "reassignment_progress": [move or moved()],
    }
    found = judge.sides(truth, tables)
    return page.section(truth, found, judge.forecast_moves(judge.moves(truth, tables), truth))


def test_what_was_said_as_it_was_made_meets_every_aim():
    text, is_met = judged(part())

    assert is_met
    assert "| a | 0.001 | 1 | 1 of 1 | 0.970 (0.970) | 0.990 (0.990) | +10.0% / +10.0% |" in text
    assert "off its limit by more than 5% on 1 of the 1 sides" in text


def test_a_rate_six_percent_off_its_limit_misses():
    text, is_met = judged(part(), said(rate_bytes_per_s=940.0))

    assert not is_met
    assert "**Missed: each move's rate within 5 % of its limit.**" in text


def test_of_two_followers_of_one_leader_neither_is_held_to_its_limit():
    measured = {"after_first_window_bytes_per_s": 505.0, "first_window_bytes_per_s": 500.0}
    shared = part(
        name="b",
        followers=[2, 3],
        on_disk=[{"broker_id": 2, "direction": "follower", "measured": measured}],
    )
    truth = {"since": SINCE, "until": UNTIL, "parts": [shared]}
    [side] = judge.sides(truth, {"throttle_compliance": [said(rate_bytes_per_s=500.0)]})

    assert (side.is_narrow, side.is_held, side.is_as_on_disk) == (False, None, None)


def test_a_rate_that_the_disk_did_not_see_misses():
    text, is_met = judged(part(), said(rate_bytes_per_s=1040.0))

    assert not is_met
    assert "Missed: each rate within 5 % of what the disk saw." in text


def test_another_state_and_another_cause_are_not_named_as_made():
    states = part()["states"]
    stuck = part(kind="stuck", states=[states[0] | {"state": "stuck", "cause": "inbound_at_least_limit"}])

    assert "compliant instead of stuck" in judged(stuck)[0]
    assert not judged(stuck, said(state="stuck", cause="limit_too_small"))[1]


def test_a_side_of_which_nothing_was_said_is_not_named():
    text, is_met = judged(part(), {})

    assert not is_met
    assert "nothing instead of compliant" in text


def test_a_row_of_another_limit_or_another_time_is_of_another_part():
    assert not judged(part(), said(limit_bytes_per_s=2000))[1]
    assert not judged(part(), said(since=AT.format("05"), until=AT.format("06")))[1]


def test_a_forecast_beyond_15_percent_misses():
    text, is_met = judged(part(), move=moved(forecast_error=-0.16))

    assert not is_met
    assert "Missed: each forecast of half-way within 15 % of the move's time." in text


def test_a_move_that_the_report_lacks_has_no_forecast():
    assert not judged(part(), move=moved(moved_at=AT.format("30")))[1]


def test_a_round_of_more_than_15_minutes_misses():
    truth = {"since": SINCE, "until": AT.format("16"), "parts": [part()]}
    tables = {"throttle_compliance": [said()], "reassignment_progress": [moved()]}
    found = judge.sides(truth, tables)

    text, _ = page.section(truth, found, judge.moves(truth, tables))
    assert "Missed: a round within 15 minutes." in text
