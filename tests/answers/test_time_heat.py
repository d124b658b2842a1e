"""Latency over time: counts by step and range of latency."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from answers.time_heat import (
    BLUE_TO_YELLOW,
    HIGHEST_MS,
    LOWEST_MS,
    MOST_STEPS,
    PER_DECADE,
    fetches,
    figure,
    round_trips,
)
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from tests.answers.made_gold import HOSTILE, SLOW, SLOW_FROM, WINDOWS, at, hist
from tests.answers.selected import selected

COLUMNS = {"step_at", "step_until", "low_ms", "high_ms", "n"}


def rtt(nth, hist, **more):
    key = {"cluster": "lab", "window_start": at(nth), "follower_id": 2, "leader_id": 1, "method": "paired"}
    return key | {"rtt_hist": hist} | more


def by_range(rows):
    """Return the counts by the ends of their range."""
    counts = Counter()
    for row in rows:
        counts[row["low_ms"], row["high_ms"]] += row["n"]
    return counts


def approx(edge_ms):
    return round(edge_ms, 3)


def test_counts_add_up_to_the_round_trips_of_the_windows(east):
    of_all, of_pair = round_trips(east, "paired"), round_trips(east, "passive", [SLOW])

    assert sum(row["n"] for row in of_all) == 6 * WINDOWS * 40
    assert sum(row["n"] for row in of_pair) == WINDOWS * 40
    assert {row["step_at"] for row in of_all} == {at(nth) for nth in range(WINDOWS)}
    assert of_all[0].keys() == COLUMNS


def test_a_longer_step_has_the_round_trips_of_its_windows(east):
    rows = round_trips(replace(east, step=timedelta(minutes=1)), "paired", [SLOW])

    counts = Counter()
    for row in rows:
        counts[row["step_at"]] += row["n"]
    assert counts == {at(6 * nth): 6 * 40 for nth in range(WINDOWS // 6)}
    assert {row["step_until"] - row["step_at"] for row in rows} == {timedelta(minutes=1)}


def test_each_range_has_the_values_between_its_ends(east):
    """
    The slow windows have 21 to 21.39 ms, the others 1 to 1.39 ms in steps of 0.01.

    1.0 is the end of a range. 1.26 and 1.27 share a bucket with 1.25, whose value is below 1.259.
    """
    counts = by_range(round_trips(east, "paired", [SLOW]))

    slow = {ends: n for ends, n in counts.items() if ends[0] > 2}
    assert list(slow.values()) == [(WINDOWS - SLOW_FROM) * 40]
    [(low, high)] = slow
    assert low < 21
    assert high > 21.4
    assert high / low == pytest.approx(10 ** (1 / PER_DECADE))
    fast = {ends: n for ends, n in counts.items() if ends[0] < 2}
    assert sum(fast.values()) == SLOW_FROM * 40
    assert [(*map(approx, ends), n) for ends, n in sorted(fast.items())] == [
        (0.794, 1.0, SLOW_FROM),
        (1.0, 1.259, SLOW_FROM * 27),
        (1.259, 1.585, SLOW_FROM * 12),
    ]


def test_the_first_and_the_last_range_are_open():
    """Zero and negative round trips come from clocks that are too coarse."""
    [fast], [slow] = hist([LOWEST_MS / 3]), hist([HIGHEST_MS * 700])
    rows = round_trips(selected({BROKER_RTT: [rtt(0, {0: 2, -1500: 1, fast: 4, slow: 3})]}), "paired")

    assert by_range(rows) == {(0.0, LOWEST_MS): 7, (HIGHEST_MS, None): 3}


def test_a_long_span_has_at_most_400_steps_and_loses_nothing():
    rows = round_trips(
        selected({BROKER_RTT: [rtt(nth, hist([1.0 + nth % 7])) for nth in range(3, 2_506)]}), "paired"
    )

    assert 300 < len({row["step_at"] for row in rows}) <= MOST_STEPS
    assert sum(row["n"] for row in rows) == 2_503
    assert {row["step_until"] - row["step_at"] for row in rows} == {timedelta(seconds=70)}


def test_nothing_gives_nothing(east):
    """There is no heat map without rows, or if each histogram is NULL, empty or has counts of 0."""
    empty = selected({BROKER_RTT: [rtt(0, None), rtt(1, {}), rtt(2, dict.fromkeys(hist([1.0]), 0))]})

    assert round_trips(empty, "paired") == fetches(empty, "follower") == []
    assert round_trips(replace(east, cluster="none"), "paired") == []
    assert len(figure([], "round trip").data) == 0


def test_latency_of_fetches_is_the_true_one_if_a_follower_log_is_there(east):
    followers = fetches(east, "follower")

    assert {row["metric"] for row in followers} == {"true"}
    assert sum(row["n"] for row in followers) == 6 * WINDOWS * 40


def test_without_a_follower_log_it_is_the_own_work_of_the_leader():
    """The two are never added: a leader whose followers log nothing is left out if others do."""
    known = {"cluster": "lab", "leader_id": 1, "kind": "follower", "follower_id": 2}
    local = known | {"window_start": at(0), "leader_local_hist": hist([0.5] * 3), "true_hist": {}}
    true = known | {"window_start": at(1), "leader_local_hist": hist([0.5]), "true_hist": hist([9.0] * 2)}

    [row] = fetches(selected({FETCH_LATENCY: [local]}), "follower")
    assert (row["metric"], row["n"]) == ("leader_local", 3)
    [row] = fetches(selected({FETCH_LATENCY: [local, true]}), "follower")
    assert (row["metric"], row["n"]) == ("true", 2)


def test_clients_are_filtered_by_parameter(west):
    assert sum(row["n"] for row in fetches(replace(west, client=HOSTILE), "consumer")) == 3 * 40
    assert fetches(replace(west, client="' OR 1=1 --"), "consumer") == []


def test_figure_has_the_counts_and_a_gap_where_no_window_is(east):
    rows = [row for row in round_trips(east, "paired", [SLOW]) if row["step_at"] != at(4)]

    [drawn] = figure(rows, "round trip").data

    shown = [round(10**z) for row in drawn.z for z in row if z is not None]
    assert sum(shown) == (WINDOWS - 1) * 40
    assert len(drawn.x) == WINDOWS + 1
    assert len(drawn.y) == len(drawn.z) + 1
    assert [approx(edge) for edge in drawn.y[:2]] == [0.794, 1.0]
    assert [nth for nth in range(WINDOWS) if all(row[nth] is None for row in drawn.z)] == [4]
    assert drawn.hovertext[-1][-1] == "2026-11-21 11:04:50 to 11:05:00 UTC<br>20.0 ms to 25.1 ms<br>n 40"
    assert "11:00:00 to 11:00:10 UTC<br>1.00 ms to 1.26 ms<br>n 27" in drawn.hovertext[1][0]


def test_color_bar_shows_counts_and_not_logarithms():
    rows = round_trips(selected({BROKER_RTT: [rtt(0, dict.fromkeys(hist([1.0]), 5_000))]}), "paired")

    bar = figure(rows, "round trip").data[0].colorbar

    assert bar.ticktext == ("1", "3", "10", "30", "100", "300", "1,000", "3,000")
    assert [round(10**value) for value in bar.tickvals] == [1, 3, 10, 30, 100, 300, 1_000, 3_000]


def luminance(color):
    """Return the relative luminance of WCAG."""
    parts = [int(color[nth : nth + 2], 16) / 255 for nth in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colors_are_ordered_by_lightness_and_differ_from_light_and_dark_paper():
    colors = [color for _, color in BLUE_TO_YELLOW]

    assert sorted(colors, key=luminance) == colors
    assert min(contrast(color, paper) for color in colors for paper in ("#ffffff", "#1b2129")) > 1.5
