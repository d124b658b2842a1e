"""What the report says of throttles and moves."""

from answers.throttles.listings import MOVES
from answers.throttles.sentences import of_moves, of_throttles
from tests.serving.report import gold_rows, throttle_rows
from tests.serving.report.test_page import HOSTILE, listed, text_of, written


def test_sections_are_left_out_without_a_throttle_and_a_move():
    text = text_of(gold_rows.slow_link())

    assert [f'id="{name}"' in text for name in ("throttles", "moves", "pairs")] == [False, False, True]


def test_throttles_that_need_action_come_first_and_a_misleading_mbean_is_named():
    over, left, kept = of_throttles(throttle_rows.throttles().throttle_compliance)

    start = "broker 2, leader (sent): over limit; because. "
    assert over == f"{start}The broker's own byte-rate read up to 25.00 MB/s: a burst over too few seconds"
    assert left == "broker 1, follower (fetched): left over; because"
    ramp = "The broker's own byte-rate read 3.00 MB/s on average: it ramps up and down over 11 s"
    assert kept == f"broker 1, leader (sent): compliant; because. {ramp}"


def test_moves_have_their_forecast_and_its_error():
    done, going, endless, given_up = of_moves(throttle_rows.throttles().reassignment_progress)

    assert done == (
        "move of 2026-11-21 11:03:00 (8 partitions): done at 2026-11-21 11:05:00, 600 MB at 5.00 MB/s; "
        "half-way its end was forecast 3.0 % too early; KIP-73's formula 5.0 % too late"
    )
    assert going.endswith("300 MB to go, done about 2026-11-21 11:05:00 (2026-11-21 11:04:50 to no sure end)")
    assert endless.endswith("without a forecast of its end; the throttle lies outside IN < T < N - IN/R")
    assert "given up" in given_up


def test_text_of_users_is_shown_and_never_run(chromium, tmp_path):
    opened = chromium.open(written(listed(MOVES, [throttle_rows.move(moved_by=HOSTILE)]), tmp_path))

    assert opened.complaints == []
    assert HOSTILE in opened.page.locator("#move-table").inner_text()
