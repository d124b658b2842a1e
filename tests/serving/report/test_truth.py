"""Injected against measured."""

import json
from datetime import UTC, datetime

import pytest

from answers.slow_links.injected_delay import injected_against_measured, whole_windows
from serving.report.truth import read_truth

TRUTH = {
    "scenario": "slow_link",
    "delayed_pairs": [{"follower_id": 3, "leader_id": 1}],
    "quiet_since": "2026-11-21T11:03:03.000001+00:00",
    "injected_at": "2026-11-21T11:04:03.5+00:00",
    "ended_at": "2026-11-21T11:05:03.5+00:00",
    "applied_quiet": [
        {"follower_id": 3, "leader_id": 1, "n": 120, "applied_p10_ms": 0.12, "applied_p50_ms": 0.16},
        {"follower_id": 1, "leader_id": 3, "n": 120, "applied_p10_ms": 0.12, "applied_p50_ms": 0.15},
    ],
    "applied_injected": [
        {"follower_id": 3, "leader_id": 1, "n": 120, "applied_p10_ms": 10.3, "applied_p50_ms": 10.8},
        {"follower_id": 1, "leader_id": 3, "n": 120, "applied_p10_ms": 0.13, "applied_p50_ms": 0.17},
    ],
}


def at(minute, second):
    return datetime(2026, 11, 21, 11, minute, second, tzinfo=UTC)


def summary(follower, leader, p10, p50, *, estimator="p10"):
    pair = {"follower_id": follower, "leader_id": leader, "method": "paired"}
    return {**pair, "n": 100, "estimator": estimator, "rtt_p10_ms": p10, "rtt_p50_ms": p50}


def written(tmp_path, truth=TRUTH):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(truth))
    return read_truth(path)


def test_rise_is_held_against_the_rise_of_what_was_applied_at_the_same_quantile(tmp_path):
    spans = {
        (at(3, 10), at(4, 0)): [summary(3, 1, 0.6, 0.7), summary(1, 3, 0.6, 0.7)],
        (at(4, 10), at(5, 0)): [summary(1, 3, 0.7, 0.8), summary(3, 1, 10.9, 11.6)],
    }

    rows = injected_against_measured(written(tmp_path), lambda since, until: spans[since, until])

    assert [(row["follower_id"], row["is_delayed"], row["quantile"]) for row in rows] == [
        (3, True, "p10"),
        (1, False, "p10"),
    ]
    assert rows[0]["injected_ms"] == pytest.approx(10.18)
    assert rows[0]["rise_ms"] == pytest.approx(10.3)
    assert rows[0]["error_ms"] == pytest.approx(0.12)


def test_median_is_used_on_both_sides_when_one_span_is_too_thin_for_p10(tmp_path):
    rows = {4: [summary(3, 1, 0.6, 0.7, estimator="p50")], 5: [summary(3, 1, 10.9, 11.6)]}

    told = injected_against_measured(written(tmp_path), lambda _since, until: rows[until.minute])

    assert told[0]["quantile"] == "p50"
    assert told[0]["error_ms"] == pytest.approx((11.6 - 0.7) - (10.8 - 0.16))


def test_pair_without_a_quiet_level_has_no_error_and_not_a_zero(tmp_path):
    rows = {4: [], 5: [summary(3, 1, 10.9, 11.6)]}

    told = injected_against_measured(written(tmp_path), lambda _since, until: rows[until.minute])

    assert told[0]["rise_ms"] is None
    assert told[0]["error_ms"] is None


def test_only_whole_windows_count_and_a_short_span_has_none():
    assert whole_windows(at(4, 3), at(4, 29)) == (at(4, 10), at(4, 20))
    assert whole_windows(at(4, 3), at(4, 9)) == (at(4, 10), at(4, 10))
    assert whole_windows(at(4, 10), at(4, 20)) == (at(4, 10), at(4, 20))


def test_file_that_is_no_truth_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"truth\.json is not the ground truth .*quiet_since"):
        written(tmp_path, {"scenario": "slow_link"})
