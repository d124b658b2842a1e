"""One line of a wrong clock, from 2099: it is not "now" for answers, dashboard and exporter."""

from datetime import UTC, datetime, timedelta

import pytest

from answers.data_quality.counts import freshness
from answers.gold import edges as edges_of_gold
from answers.gold.contents import edges
from answers.gold.reader import GoldReader
from answers.gold.relations import LAST
from answers.gold.selection import WINDOW
from conf.instants import TimeRange
from schemas.gold.broker_rtt import BROKER_RTT
from serving.dashboard.filters import Filters
from serving.dashboard.request import DashboardRequest
from serving.selecting import selection_of
from tests.answers import made_gold
from tests.answers.made_gold import at

FAR = datetime(2099, 1, 1, tzinfo=UTC)
NEWEST = at(5)


@pytest.fixture(params=["overwrite", "append"], ids=["same file", "own file"])
def gold(tmp_path, request):
    """Six windows, and one in 2099."""
    rows, far = [made_gold.rtt(nth, 1, 2) for nth in range(6)], made_gold.rtt(0, 1, 2) | {"window_start": FAR}
    if request.param == "overwrite":
        made_gold.write(tmp_path, BROKER_RTT, [*rows, far])
    else:
        made_gold.write(tmp_path, BROKER_RTT, rows)
        made_gold.write(tmp_path, BROKER_RTT, [far], mode="append")
    return GoldReader.of_warehouse(tmp_path)


def test_the_newest_window_is_not_after_now(gold):
    assert edges(gold, "east") == {"cluster": "east", "oldest": at(0), "newest": NEWEST, "has_future": True}


def test_the_default_span_of_answers_and_of_the_dashboard_ends_with_the_newest_window(gold):
    assert selection_of(gold, "east", TimeRange(None, None)).until == NEWEST + WINDOW
    assert DashboardRequest(gold, Filters()).span[1] == NEWEST + WINDOW


def test_a_given_end_may_be_after_now(gold):
    assert selection_of(gold, "east", TimeRange(None, LAST)).until == LAST


def test_the_exporter_reads_up_to_now(gold):
    now = datetime.now(UTC)
    first, last = gold.extent(BROKER_RTT)

    assert first == at(0)
    assert last <= now + timedelta(minutes=1)


def test_if_all_windows_are_in_the_future_this_machines_clock_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(edges_of_gold, "now_of_answers", lambda: at(0) - timedelta(days=400))
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2) for nth in range(6)])
    gold = GoldReader.of_warehouse(tmp_path)

    assert edges(gold, "east") == {"cluster": "east", "oldest": at(0), "newest": NEWEST, "has_future": False}
    assert selection_of(gold, "east", TimeRange(None, None)).until == LAST


def test_a_node_from_the_future_does_not_make_the_others_late():
    of = {"kind": "request-log", "lines_read": 1, "first_logged_at": at(0)}
    rows = [
        of | {"node": f"broker-{n}", "last_logged_at": last} for n, last in enumerate((at(5), at(6), FAR))
    ]

    assert [row["behind_s"] for row in freshness(rows)] == [10.0, 0.0, 0.0]
