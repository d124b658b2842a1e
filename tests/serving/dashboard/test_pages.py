"""Pages and the requests for them, without a browser."""

from dataclasses import replace
from datetime import timedelta

import pytest

from answers.gold.reader import GoldReader
from answers.questions import QUESTIONS
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from serving.dashboard.app import BY_PATH, made
from serving.dashboard.filters import Filters
from serving.dashboard.request import DashboardRequest
from serving.dashboard.shell import controls
from tests.answers import made_gold
from tests.answers.made_gold import WINDOWS, at, text_of

WINDOW = timedelta(seconds=10)


@pytest.fixture
def request_for_east(gold):
    return DashboardRequest(gold, Filters(cluster="east"))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.path)
def test_every_page_of_an_empty_warehouse_names_what_is_missing(question, tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [])
    request = DashboardRequest(GoldReader.of_warehouse(tmp_path), Filters(follower=1, leader=2))

    text = text_of(made(question, request))

    assert "verdict" in text
    assert "no data: " in text


def test_who_is_slow_does_not_depend_on_the_filter_of_brokers(request_for_east):
    of_two = replace(request_for_east, filters=Filters(cluster="east", broker=2))

    sentence = "Broker 3's link to broker 1 is slow by 20.1 ms since 11:02:00 UTC."
    assert sentence in text_of(made(QUESTIONS[0], request_for_east))
    assert sentence in text_of(made(QUESTIONS[0], of_two))


def test_a_page_says_that_its_filter_matches_nothing(request_for_east):
    of_nine = replace(request_for_east, filters=Filters(cluster="east", broker=9))

    text = text_of(made(QUESTIONS[0], of_nine))

    assert "Nothing about broker 9 between 2026-11-21 11:00:00 and 2026-11-21 11:05:00 UTC." in text
    assert "Known: 1, 2, 3." in text
    assert "slow by" not in text


def test_span_begins_with_the_oldest_window_and_ends_with_the_newest(request_for_east):
    assert request_for_east.span == (at(0), at(WINDOWS))


def test_no_span_is_longer_than_the_reach(gold):
    request = DashboardRequest(gold, Filters(cluster="east", span="all"), reach=timedelta(minutes=2))

    assert request.span == (at(WINDOWS - 1) - timedelta(minutes=2), at(WINDOWS))


def test_choices_of_a_filter_are_those_within_the_reach(gold):
    """The topics had no events in the last minute."""
    of_redirects = BY_PATH["/redirects"]
    requests = [
        DashboardRequest(gold, Filters(cluster="east"), reach) for reach in (timedelta(days=1), 6 * WINDOW)
    ]

    topics = [["audit" in text_of(controls(request, of_redirects))] for request in requests]

    assert topics == [[True], [False]]


def test_a_pair_has_both_brokers(request_for_east):
    def pair(**brokers):
        return replace(request_for_east, filters=Filters(cluster="east", **brokers)).selection.pair

    assert pair(follower=3, leader=1) == (3, 1)
    assert pair(follower=3) is pair(leader=1) is pair() is None


def test_without_clusters_pages_are_empty(tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [])
    request = DashboardRequest(GoldReader.of_warehouse(tmp_path), Filters(cluster="nowhere"))

    assert (request.cluster, request.clusters, request.selection.cluster) == (None, [], "")


def test_throttles_have_the_verdict_of_the_report(request_for_east):
    sentence = BY_PATH["/throttles"].answer(request_for_east.selection).headline.sentence

    assert sentence.startswith("Broker 1, leader: over limit; ")
    assert "highest 11 s: 1.90" in sentence
    assert "A move is under way: 6 of 10 partitions done, 10.00 MB to go." in sentence
    assert "under way, 40.00 MB at" in text_of(made(BY_PATH["/throttles"], request_for_east))


@pytest.mark.parametrize(
    ("windows", "sentence"),
    [
        ([made_gold.throttle(n, [900_000] * 10) for n in range(4)], "1 throttle was kept."),
        (
            [made_gold.throttle(n, [900_000] * 10) for n in range(1)],
            "No throttle has enough traffic to judge.",
        ),
        ([], "No throttle was set and no replica was moved in this span."),
    ],
)
def test_throttles_that_are_kept(tmp_path, windows, sentence):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(n, 1, 2) for n in range(4)])
    made_gold.write(tmp_path, THROTTLE_COMPLIANCE, windows)

    request = DashboardRequest(GoldReader.of_warehouse(tmp_path), Filters())

    assert BY_PATH["/throttles"].answer(request.selection).headline.sentence == sentence


def test_only_the_newest_comparison_of_two_arms_is_shown(request_for_east):
    of = replace(request_for_east, filters=Filters(cluster="east", run="new against old"))

    shown = text_of(made(BY_PATH["/comparison"], of))

    assert "all of its interval lies below" in shown
    assert "of the night before" not in shown
