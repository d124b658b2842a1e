"""The sentence at the top of a report: what a scenario asked first, who is slow after it."""

import pytest

from answers.answer import Headline
from answers.leader_redirects import redirects
from answers.metadata_lookups import lookups
from answers.opening import opening
from answers.partition_skew import sentences as skew
from answers.questions import whole_answer
from answers.slow_links.culprits import headline
from answers.throttles.sentences import bad_throttles
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.silver.perf_test import PERF_SUMMARIES
from tests.serving.report import client_rows, gold_rows, throttle_rows
from tests.serving.report.test_page import text_of

CALM = "No broker, side or link stands out."
QUIET = headline(gold_rows.culprits(gold_rows.NO_CULPRIT))
SLOW = headline(gold_rows.culprits(gold_rows.LINK))
BEGINS = {
    "redirect": (
        "Clients lost a leader that moved 16 times, producers for 6.60 ms (3.9.1, n = 8) to 104 ms "
        "(3.6.0, n = 8) at the median."
    ),
    "skew": (
        "Broker 1 is slow for 2 of 2 producers' spreads over partitions, and got 4.70 (sticky) times the "
        "others' share."
    ),
    "metadata": (
        "1 client asks for known topics again with each new one (2.4.1): topics asked grow like new topics "
        "to the power of 1.98."
    ),
}


def clients(**changes):
    """Return the sentences about clients by scenario."""
    rows = client_rows.clients(**changes)
    sentences = {
        "redirect": redirects.headline(rows.leader_redirect_summary),
        "skew": skew.headline(rows.partition_skew_summary),
        "metadata": lookups.headline(rows.metadata_lookup),
    }
    return {name: [sentence] if sentence else [] for name, sentence in sentences.items()}


@pytest.mark.parametrize(("scenario", "begins"), BEGINS.items())
def test_what_a_scenario_asked_comes_first_and_who_is_slow_second(scenario, begins):
    shown = opening(QUIET, clients(), {scenario}, is_accused=False)

    assert shown.sentence == f"{begins} {CALM}"
    assert shown.mood == "unsure"
    assert [line.split(":")[0] for line in shown.evidence[:2]] == ["Also found"] * 2


def test_slow_link_comes_first_if_no_scenario_asked_about_clients():
    shown = opening(SLOW, clients(), set(), is_accused=True)

    assert (shown.sentence, shown.mood) == (SLOW.sentence, "alarm")
    assert sum(line.startswith("Also found: ") for line in shown.evidence) == 3


def test_slow_link_makes_an_alarm_of_what_was_asked_about_clients():
    shown = opening(SLOW, clients(), {"skew"}, is_accused=True)

    assert shown.sentence.startswith("Broker 1 is slow for 2 of 2 producers' spreads")
    assert shown.sentence.endswith(SLOW.sentence)
    assert shown.mood == "alarm"


def test_leaders_that_died_are_named():
    died = {"leader_redirect_summary": [client_rows.disconnects("3.9.1")]}
    only = {"partition_skew_summary": [], "metadata_lookup": []}

    shown = opening(QUIET, clients(**died, **only), set(), is_accused=False)

    assert shown.sentence == f"Clients lost a leader that died 2 times, for up to 12,300 ms. {CALM}"


def test_clients_without_a_problem_are_not_in_the_sentence():
    rows = client_rows.clients().partition_skew_summary
    even = [row | {"slow_by": None} for row in rows]
    few = [row | {"batches": 299} for row in rows]
    unknown = [row | {"batches": None} for row in rows]  # no request log
    for skews in (even, few, unknown):
        well = {
            "partition_skew_summary": skews,
            "leader_redirect_summary": [],
            "metadata_lookup": [client_rows.lookups("3.9.1", 1.0), client_rows.lookups("3.9.1", None)],
        }
        assert opening(QUIET, clients(**well), {"skew"}, is_accused=False) == QUIET


@pytest.mark.parametrize(("batches", "n"), [(299, 0), (300, 1)])
def test_a_producer_is_judged_from_300_batches_on(batches, n):
    row = client_rows.skewed("sticky") | {"batches": batches}

    assert skew.headline([row]).count("of 1 producers' spreads") == n


def test_a_topic_of_one_partition_is_no_spread():
    assert skew.headline([client_rows.skewed("sticky") | {"partitions": 1}]) == ""


def test_throttle_that_needs_action_is_in_the_evidence():
    rows = throttle_rows.throttles().throttle_compliance
    shown = opening(QUIET, {}, set(), bad_throttles(rows), is_accused=False)
    quiet = opening(QUIET, {}, set(), bad_throttles(rows[:2]), is_accused=False)

    assert (shown.sentence, shown.mood) == (CALM, "unsure")
    assert [line[:47] for line in shown.evidence[-2:]] == [
        "Also found: broker 2, leader (sent): over limit",
        "Also found: broker 1, follower (fetched): left ",
    ]
    assert quiet.mood == "calm"


def test_no_data_is_not_enough_data():
    whole = whole_answer(gold_rows.empty())

    assert whole.headline == Headline(
        sentence="Not enough data to say who is slow.", mood="unsure", evidence=whole.headline.evidence
    )


def redirected(scenario):
    """Return a slow link, redirects, and a performance test of a scenario."""
    events = [client_rows.redirect(version, n) for version in ("3.6.0", "3.9.1") for n in range(8)]
    run = {"cluster": "lab", "position": "a/1", "run": "r", "arm": "a", "scenario": scenario}
    run |= {"logged_at": gold_rows.at(3), "is_steady_state": False}
    return gold_rows.slow_link({LEADER_REDIRECT: events, PERF_SUMMARIES: [run]})


def test_sections_come_in_the_order_of_what_was_asked_and_found():
    asked, not_asked = text_of(redirected("redirect")), text_of(redirected("other"))

    assert asked.index('id="redirects"') < asked.index('id="pairs"') < asked.index('id="quality"')
    assert not_asked.index('id="pairs"') < not_asked.index('id="redirects"') < not_asked.index('id="quality"')
    assert "<title>Plumbline: Clients lost a leader that moved 16 times" in asked
    assert "<title>Plumbline: Broker 3" in not_asked
