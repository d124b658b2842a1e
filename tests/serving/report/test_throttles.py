"""What the report says and shows of throttles and moves."""

import json

from answers.throttles.sentences import of_moves, of_throttles
from serving.report.document import as_text, document
from serving.report.page import page
from tests.serving.report import gold_rows, throttle_rows
from tests.serving.report.test_page import HOSTILE, STAMP, written


def test_sections_are_there_only_where_there_is_something_to_tell(chromium, tmp_path):
    opened = chromium.open(written(throttle_rows.throttles(), tmp_path))
    opened.page.screenshot(path=tmp_path / "throttles.png", full_page=True)

    assert opened.complaints == []
    assert opened.page.locator("#throttle-table tbody tr").count() == 4
    assert opened.page.locator("#move-table tbody tr").count() == 4
    bare = page(gold_rows.slow_link(), STAMP)
    assert [f'id="{name}"' in bare for name in ("throttles", "moves")] == [False] * 2


def test_what_somebody_has_to_act_on_stands_first_and_the_bean_is_told_where_it_misleads():
    over, left, kept = of_throttles(throttle_rows.throttles().throttle_compliance)

    start = "broker 2, leader (sent): over limit; because. "
    assert over == f"{start}The broker's own byte-rate read up to 25.00 MB/s: a burst over too few seconds"
    assert left == "broker 1, follower (fetched): left over; because"
    ramp = "The broker's own byte-rate read 3.00 MB/s on average: it ramps up and down over 11 s"
    assert kept == f"broker 1, leader (sent): compliant; because. {ramp}"


def test_moves_are_told_with_their_forecast_and_how_good_it_was():
    done, going, endless, given_up = of_moves(throttle_rows.throttles().reassignment_progress)

    assert done == (
        "move of 2026-11-21 11:03:00 (8 partitions): done at 2026-11-21 11:05:00, 600 MB at 5.00 MB/s; "
        "half-way its end was forecast 3.0 % too early; KIP-73's formula 5.0 % too late"
    )
    assert going.endswith("300 MB to go, done about 2026-11-21 11:05:00 (2026-11-21 11:04:50 to no sure end)")
    assert endless.endswith("without a forecast of its end; the throttle lies outside IN < T < N - IN/R")
    assert "given up" in given_up


def test_json_holds_the_tables():
    told = json.loads(as_text(document(throttle_rows.throttles())))["tables"]

    assert [row["state"] for row in told["throttle_compliance"]][:2] == ["compliant", "none"]
    assert told["reassignment_progress"][0]["forecast_error"] == -0.03
    assert told["throttle_compliance_windows"][0]["window_start"] == "2026-11-21T11:03:00Z"
    assert len(told["reassignment_progress_windows"]) == 1


def test_names_of_strangers_are_shown_and_never_run(chromium, tmp_path):
    rows = [throttle_rows.move(moved_by=HOSTILE)]
    opened = chromium.open(written(throttle_rows.throttles(reassignment_progress=rows), tmp_path))

    assert opened.complaints == []
    assert HOSTILE in opened.page.locator("#move-table").inner_text()
