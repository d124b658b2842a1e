"""The lane of events under a figure."""

import re

import plotly.graph_objects as go
import pytest

from answers.events import found as answer
from answers.events.lane import GAP_PX, KINDS, ROW_PX, with_lane
from tests.answers.test_events import at, change, found

PLOT_PX, TOP_PX, BOTTOM_PX = 230, 30, 80


def figure():
    """Return a time line of a minute."""
    line = go.Scatter(x=["2026-11-21 11:20:00", None, "2026-11-21 11:21:00"], y=[1.0, None, 2.0])
    return go.Figure(line).update_layout(
        height=PLOT_PX + TOP_PX + BOTTOM_PX,
        margin={"t": TOP_PX, "b": BOTTOM_PX},
        legend={"y": -0.2},
        shapes=[{"type": "rect", "x0": "2026-11-21 11:20:00", "yref": "y domain", "y0": 0, "y1": 1}],
    )


def an_event(kind="leader_move", second=10, until=None, what="what"):
    return {"kind": kind, "at": at(second), "ended_at": until and at(until), "what": what}


def test_without_events_a_figure_is_unchanged():
    assert with_lane(figure(), []).to_json() == figure().to_json()


def test_the_data_keep_their_height_and_the_figure_grows_by_the_lane():
    laned = with_lane(figure(), [an_event(), an_event("broker_restart")]).layout

    lane_px = 2 * ROW_PX
    plot_px = laned.height - TOP_PX - BOTTOM_PX
    assert plot_px == PLOT_PX + lane_px + GAP_PX
    (low, high), (bottom, top) = laned.yaxis.domain, laned.yaxis2.domain
    assert (high - low) * plot_px == pytest.approx(PLOT_PX)
    assert (bottom, top * plot_px) == (0, pytest.approx(lane_px))
    assert (high, (low - top) * plot_px) == (1, pytest.approx(GAP_PX))
    assert laned.legend.y * plot_px == pytest.approx(-0.2 * PLOT_PX)


def test_the_lane_shares_the_time_axis_which_is_drawn_under_it():
    laned = with_lane(figure(), [an_event()])

    assert laned.layout.xaxis.anchor == "y2"
    assert (laned.data[1].xaxis, laned.data[1].yaxis) == (None, "y2")
    assert laned.data[1].x[0] == "2026-11-21 11:20:10"
    assert laned.layout.xaxis.range is None


def test_a_figure_of_plotly_defaults_grows_too():
    plain = with_lane(go.Figure(go.Scatter(x=["2026-11-21 11:20:00"], y=[1.0])), [an_event()]).layout

    assert plain.height == 450 + ROW_PX + GAP_PX
    assert plain.yaxis.domain[1] == 1


def test_a_legend_above_the_data_stays_where_it_is():
    above = figure().update_layout(legend={"y": 1.02})

    assert with_lane(above, [an_event()]).layout.legend.y == 1.02


def test_a_second_data_axis_keeps_its_part():
    two = figure().update_layout(yaxis={"domain": [0.5, 1]}, yaxis2={"domain": [0, 0.5]})

    laned = with_lane(two, [an_event()]).layout

    assert laned.yaxis.domain[0] == laned.yaxis2.domain[1]
    assert laned.yaxis2.domain[0] > laned.yaxis3.domain[1]


def test_each_kind_has_a_row_and_a_marker_of_its_own():
    """A kind of `answers.events` without a row would be left out of the lane."""
    kinds = {value for name, value in vars(answer).items() if name.isupper() and isinstance(value, str)}
    kinds = {kind for kind in kinds if re.fullmatch(r"[a-z_]+", kind)}
    assert kinds == set(KINDS)

    laned = with_lane(figure(), [an_event(kind) for kind in KINDS])

    lanes = laned.data[1:]
    assert len({lane.marker.symbol[0] for lane in lanes}) == len({lane.y[0] for lane in lanes}) == len(KINDS)
    labels = [label for label, _, _ in KINDS.values()]
    assert list(laned.layout.yaxis2.categoryarray) == labels[::-1]  # the first category is at the bottom
    assert not any(lane.showlegend for lane in lanes)


def test_only_kinds_that_occur_have_a_row():
    assert len(with_lane(figure(), [an_event(), an_event(second=20)]).data) == 2


def test_what_lasts_has_a_line_that_does_not_widen_the_time_axis():
    """The data are from 0 to 60 s."""
    long = an_event("reassignment", -600, 700)
    begun, ended = an_event("reassignment", 30), an_event("log_off", 20, 25)

    laned = with_lane(figure(), [long, begun, ended])

    assert [x and x[-5:] for x in laned.data[1].x] == ["20:00", "21:00", None, "20:30", "21:00", None]
    assert [x and x[-5:] for x in laned.data[2].x] == ["20:20", "20:25", None]
    assert laned.data[1].hovertext[0] == "2026-11-21 11:10:00 to 2026-11-21 11:31:40: what"


def test_an_event_that_ends_at_once_has_one_marker():
    laned = with_lane(figure(), [an_event("log_off", 20, 20)])

    assert [x and x[-5:] for x in laned.data[1].x] == ["20:20", None]


def test_events_after_the_data_and_of_a_figure_without_data_are_drawn_at_their_time():
    late = with_lane(figure(), [an_event("throttle_set", 90)])
    alone = with_lane(go.Figure(), [an_event("reassignment", 90, 120)])

    assert [x and x[-5:] for x in late.data[1].x] == ["21:30", None]
    assert [x and x[-5:] for x in alone.data[0].x] == ["21:30", "22:00", None]


def test_a_hostile_topic_is_plain_text_in_a_figure():
    hostile = "<a href='javascript:alert(1)'>x</a><br>%{y}&lt;"
    rows = found([change(1, 1, 2, topic=hostile)])
    (text, _) = with_lane(figure(), rows).data[1].hovertext

    assert hostile in rows[0]["what"]
    assert not re.search(r"[<>&'%{}]", text)
    assert text.startswith("2026-11-21 11:20:01: 1 partition of ·a href")


def test_a_long_text_is_cut():
    (text, _) = with_lane(figure(), [an_event(what="x" * 10_000)]).data[1].hovertext

    assert len(text) == 200
