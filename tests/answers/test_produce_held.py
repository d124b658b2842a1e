"""A7: who holds produce back, from made gold and from its silver."""

from dataclasses import replace
from datetime import timedelta

import pytest

from answers.next_steps.produce import of_held
from answers.produce_held import held, slowest, verdict
from answers.produce_held.question import QUESTION
from answers.slow_links.accusation import accusation
from schemas.gold.produce_held import PRODUCE_HELD, PRODUCE_HELD_SUMMARY
from tests.answers.declared import assert_declared
from tests.answers.made_gold import SLOW_FROM, WINDOWS, at, held_requests
from tests.answers.made_gold import held as held_row
from tests.answers.selected import selected
from tests.transforms.gold.silver_rows import arrow

SINCE = {"since": at(SLOW_FROM), "until": at(WINDOWS)}


def gold(*rows):
    return selected({PRODUCE_HELD: arrow(PRODUCE_HELD, rows)}, cluster="east")


def test_the_sentence_names_the_follower_the_part_and_what_produce_would_save(east):
    answer = QUESTION.answer(replace(east, **SINCE))

    assert answer.headline.sentence == (
        "Half of the acks=all requests to broker 1 wait 22.0 ms for replication; 21.1 ms of it is the "
        "network path to follower 3. Without follower 3 they would be 20.0 ms faster."
    )
    assert answer.headline.mood == "alarm"
    assert "The round trips agree" in answer.headline.evidence[-1]
    assert "ping -c 20 BROKER_1_HOST" in {step.command for step in answer.headline.steps}
    assert answer.news == [answer.headline.sentence]


def test_the_time_before_the_fault_does_not_dilute_it(east):
    assert held.chief(east).row["window_start"] == at(SLOW_FROM)
    whole, part = (QUESTION.answer(of).headline for of in (east, replace(east, **SINCE)))
    assert (whole.sentence, whole.evidence[:2]) == (part.sentence, part.evidence[:2])


def test_before_the_fault_nobody_holds_produce_back(east):
    answer = QUESTION.answer(replace(east, since=at(0), until=at(SLOW_FROM)))

    assert answer.headline.sentence == "No follower holds produce back."
    assert (answer.headline.mood, answer.news) == ("calm", [])


def test_rows_of_the_json_have_their_declared_columns(east):
    windows, pairs = held.windows(east), held.pairs(east)

    assert_declared([{**row, **_hists()} for row in windows], PRODUCE_HELD)
    assert_declared(pairs, PRODUCE_HELD_SUMMARY)
    assert not [name for name in windows[0] if name.endswith("_hist")]


def _hists():
    return {name: None for name in PRODUCE_HELD.schema.names if name.endswith("_hist")}


def test_shares_are_of_the_leaders_requests_that_waited(east):
    by_pair = {(row["leader_id"], row["follower_id"]): row for row in held.pairs(east)}

    slow = WINDOWS - SLOW_FROM
    assert by_pair[1, 3]["share_released"] == pytest.approx(slow / WINDOWS)
    assert by_pair[2, 1]["share_released"] == 0
    assert by_pair[1, None]["n_not_held"] == 40


def changed(**values):
    return [held_row(n, 1, 3) | values for n in range(SLOW_FROM, WINDOWS)]


NOBODY = {
    "too few requests": [held_row(SLOW_FROM, 1, 3, n=29)],
    "too small a share": [*changed(), *(held_row(n, 1, 2, n=60) for n in range(SLOW_FROM, WINDOWS))],
    "ties": [held_row(n, 1, 3) for n in range(SLOW_FROM)],
}


@pytest.mark.parametrize("rows", NOBODY.values(), ids=NOBODY)
def test_nobody_is_named(rows):
    assert held.pairs(gold(*rows))
    assert held.chief(gold(*rows)) is None


def test_without_an_accused_link_the_page_says_so():
    selection = gold(*changed())
    found = held.chief(selection)

    assert found.part == "network"
    assert "no broker and no link is slow" in verdict.agreement(found, accusation(selection))
    assert QUESTION.answer(selection).headline.mood == "unsure"


def test_another_culprit_does_not_agree(east):
    found = held.chief(east)
    other = found._replace(row=found.row | {"follower_id": 2})

    assert "do not agree" in verdict.agreement(other, accusation(east))


@pytest.mark.parametrize(
    ("part", "word"),
    [("busy", "throttle"), ("serve", "broker 1"), ("take", "broker 1"), ("own_append", "broker 3")],
)
def test_the_steps_are_about_the_largest_part(part, word):
    steps = of_held(part, follower=3, leader=1)

    assert any(word in step.text for step in steps)
    assert "ISR" in steps[-1].text


def test_the_slowest_requests_come_with_the_fetch_that_released_them(east):
    requests, clients = slowest.slowest(east, leader=1, follower=3)

    (line,) = (row for row in held_requests(SLOW_FROM) if row["api"] == "PRODUCE")
    assert [(row["ack"], row["topic"], row["held_ms"]) for row in requests] == [
        ("fetch/3/21.2", "orders", pytest.approx(18.0))
    ]
    assert requests[0]["logged_at"] - line["logged_at"] < timedelta(microseconds=2)
    assert [(row["client_id"], row["n"]) for row in clients] == [("app", 1)]


def test_without_silver_there_are_no_single_requests():
    assert slowest.slowest(gold(*changed()), leader=1, follower=3) == ([], [])
