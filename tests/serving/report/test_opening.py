"""With which sentence a report opens: what was asked first, the links' verdict behind it."""

from dataclasses import replace

import pytest

from serving.report.answers import Answers
from serving.report.headline import headline_of
from serving.report.page import page
from tests.serving.report import client_rows, gold_rows, throttle_rows
from tests.serving.report.test_page import STAMP

CALM = "No broker, side or link stands out."


def with_clients(links, **changes):
    """Give the rows about clients beside those about links."""
    rows = client_rows.clients(**changes)
    names = [name for name in client_rows.TABLES if getattr(rows, name)]
    return replace(links, **{name: getattr(rows, name) for name in names})


def asked(scenario):
    rows = client_rows.clients().perf_summaries
    return {"perf_summaries": [row | {"scenario": scenario} for row in rows]}


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


@pytest.mark.parametrize(("scenario", "begins"), BEGINS.items())
def test_what_was_asked_of_clients_is_said_first_and_the_links_verdict_second(scenario, begins):
    shown = headline_of(with_clients(gold_rows.healthy(), **asked(scenario)))

    assert shown.sentence == f"{begins} {CALM}"
    assert shown.mood == "unsure"
    assert [line.split(":")[0] for line in shown.small_print[:2]] == ["Also found"] * 2


def test_page_and_title_open_with_it():
    text = page(with_clients(gold_rows.healthy(), **asked("redirect")), STAMP)

    assert "<title>Plumbline: Clients lost a leader that moved 16 times" in text
    assert text.index("<h1>Clients lost a leader") < text.index(f"{CALM}</h1>")


def test_slow_link_is_said_first_where_nobody_asked_about_clients():
    links = headline_of(gold_rows.slow_link())

    shown = headline_of(with_clients(gold_rows.slow_link()))

    assert (shown.sentence, shown.mood, shown.finding) == (links.sentence, "alarm", links.finding)
    assert sum(line.startswith("Also found: ") for line in shown.small_print) == 3


def test_slow_link_alarms_beside_what_was_asked_of_clients():
    shown = headline_of(with_clients(gold_rows.slow_link(), **asked("skew")))

    assert shown.sentence.startswith("Broker 1 is slow for 2 of 2 producers' spreads")
    assert shown.sentence.endswith(headline_of(gold_rows.slow_link()).sentence)
    assert shown.mood == "alarm"


def test_leaders_that_died_are_told():
    died = [client_rows.disconnects("3.9.1")]
    rows = {"partition_skew_summary": [], "metadata_lookup": [], "leader_redirect_summary": died}

    shown = headline_of(with_clients(gold_rows.healthy(), **rows))

    assert shown.sentence == f"Clients lost a leader that died 2 times, for up to 12,300 ms. {CALM}"


def test_clients_that_do_well_leave_the_word_to_the_links():
    rows = client_rows.clients()
    even = [row | {"slow_by": None} for row in rows.partition_skew_summary]
    few = [row | {"batches": 299} for row in rows.partition_skew_summary]
    unknown = [row | {"batches": None} for row in rows.partition_skew_summary]  # no request log
    for skews in (even, few, unknown):
        well = {
            "partition_skew_summary": skews,
            "leader_redirect_summary": [],
            "metadata_lookup": [client_rows.lookups("3.9.1", 1.0), client_rows.lookups("3.9.1", None)],
        }
        shown = headline_of(with_clients(gold_rows.healthy(), **well, **asked("skew")))

        assert (shown.sentence, shown.mood) == (CALM, "calm")


def test_nothing_is_nothing():
    assert headline_of(Answers()).sentence == "Not enough data to say who is slow."


def test_throttle_that_needs_action_is_in_the_evidence():
    bad = throttle_rows.throttles().throttle_compliance
    shown = headline_of(replace(gold_rows.healthy(), throttle_compliance=bad))
    quiet = headline_of(replace(gold_rows.healthy(), throttle_compliance=bad[:2]))

    assert (shown.sentence, shown.mood) == (CALM, "unsure")
    assert [line[:47] for line in shown.small_print[-2:]] == [
        "Also found: broker 2, leader (sent): over limit",
        "Also found: broker 1, follower (fetched): left ",
    ]
    assert quiet.mood == "calm"
