"""A7: who holds produce back, from made gold and from its silver."""

from dataclasses import replace
from datetime import timedelta

import pytest

from answers.next_steps.produce import of_held
from answers.produce_held import held, slowest, verdict
from answers.produce_held.figures import parts_over_time
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
        "Since 11:02:00 UTC 100 % of the acks=all requests to broker 1 that wait for replication wait for "
        "follower 3: 22.0 ms at the median, 21.1 ms of it is the network path to follower 3. Without it they "
        "would be 20.0 ms faster."
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
    assert (answer.headline.mood, answer.news) == ("calm", ())


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


def only_in(*windows):
    """Return rows of a fault in these windows; the other ones have ties."""
    return [
        held_row(SLOW_FROM if n in windows else 0, 1, 3) | {"window_start": at(n)} for n in range(WINDOWS)
    ]


NOBODY = {
    "too few requests": [held_row(n, 1, 3, n=2) for n in range(SLOW_FROM, WINDOWS)],
    "two windows": only_in(4, 5),
    "scattered windows": only_in(0, 3, 6, 9, 12),
    "every third window is quiet for two": only_in(*range(0, WINDOWS, 3)),
    "too small a share": changed(n_released=29, n_tie=11),
    "ties": [held_row(n, 1, 3) for n in range(SLOW_FROM)],
}


@pytest.mark.parametrize("rows", NOBODY.values(), ids=NOBODY)
def test_nobody_is_named(rows):
    assert held.pairs(gold(*rows))
    assert held.chief(gold(*rows)) is None


HELD_BACK = {
    "three requests of a window": [held_row(n, 1, 3, n=3) for n in range(SLOW_FROM, WINDOWS)],
    "three windows": only_in(4, 5, 6),
    "three quarters": changed(n_released=30, n_tie=10),
}


@pytest.mark.parametrize("rows", HELD_BACK.values(), ids=HELD_BACK)
def test_a_follower_is_named_from_the_thresholds_on(rows):
    assert held.chief(gold(*rows)).row["follower_id"] == 3


def test_without_an_accused_link_the_page_says_so():
    selection = gold(*changed())
    found = held.chief(selection)

    assert found.part == "network"
    assert "no broker and no link was slow" in verdict.agreement(found, accusation(selection))
    assert QUESTION.answer(selection).headline.mood == "unsure"


def test_another_culprit_does_not_agree(east):
    found = held.chief(east)
    other = found._replace(row=found.row | {"follower_id": 2})

    assert "do not agree" in verdict.agreement(other, accusation(east))
    assert not verdict.does_agree(other, accusation(east))


def test_a_finding_of_another_time_says_nothing(east):
    found = held.chief(east)
    earlier = found._replace(row=found.row | {"window_start": at(0), "until": at(SLOW_FROM - 2)})

    assert "no broker and no link was slow" in verdict.agreement(earlier, accusation(east))


def test_a_run_goes_on_over_a_single_window_and_ends_before_two():
    rows = only_in(2, 4, 5, 7, *range(10, 20))
    later, whole = gold(*rows), replace(gold(*rows), until=at(8))

    assert (held.chief(later).row["window_start"], held.chief(later).row["until"]) == (at(10), at(20))
    assert (held.chief(whole).row["window_start"], held.chief(whole).row["until"]) == (at(2), at(8))
    assert [held.chief(of).is_open for of in (later, whole)] == [False, True]
    assert verdict.sentence(held.chief(later)).startswith("From 11:01:40 to 11:03:20 UTC 100 % of")


@pytest.mark.parametrize("weak", [{"n_released": 29, "n_tie": 11}, {"held_sum_ms": 40 * 1.9}])
def test_a_run_ends_with_a_share_or_a_hold_that_is_too_small(weak):
    rows = [row | weak if nth >= 10 else row for nth, row in enumerate(only_in(*range(WINDOWS)))]

    assert held.chief(gold(*rows)).row["until"] == at(10)


@pytest.mark.parametrize("busy", [{"n_released": 0, "n_tie": 200}, {"held_sum_ms": 0.0, "n_released": 480}])
def test_the_windows_between_count_too(busy):
    """Five windows with held requests, four between them with more that were not held."""
    busy |= {"n": busy["n_released"] + busy.get("n_tie", 0)}
    rows = [row | busy if nth in (1, 3, 5, 7) else row for nth, row in enumerate(only_in(*range(9)))]

    assert held.chief(gold(*rows[:9])) is None


def test_a_run_has_ended_if_other_requests_came_later():
    later = held_row(0, 2, 1) | {"window_start": at(WINDOWS)}

    assert held.chief(gold(*changed())).is_open
    assert not held.chief(gold(*changed(), later)).is_open


def test_a_run_is_not_joined_over_a_long_pause():
    rows = [row | {"window_start": at(30 * n)} for n, row in enumerate(only_in(*range(WINDOWS)))]

    assert held.chief(gold(*rows)) is None


def test_with_many_followers_the_share_of_the_leaders_requests_is_small():
    """Four other followers of other partitions hold nothing back."""
    others = [
        held_row(0, 1, follower) | {"window_start": at(n)}
        for n in range(WINDOWS)
        for follower in (4, 5, 6, 7)
    ]
    found = held.chief(gold(*only_in(*range(WINDOWS)), *others))

    assert (found.row["follower_id"], found.row["share_released"]) == (3, pytest.approx(0.2))
    assert " UTC 20.0 % of the acks=all requests" in verdict.sentence(found)


def test_the_filter_of_brokers_changes_no_share(east):
    of_broker = replace(east, broker=3)
    shares = [
        {(row["leader_id"], row["follower_id"]): row["share_released"] for row in held.pairs(selection)}
        for selection in (east, of_broker)
    ]

    assert QUESTION.answer(of_broker).headline == QUESTION.answer(east).headline
    assert 0 < len(shares[1]) < len(shares[0])
    assert shares[1].items() <= shares[0].items()


def test_of_a_broker_that_is_not_part_of_it_nothing_is_held(east):
    assert held.chief(replace(east, broker=2)) is None


def of_outcomes(**counts):
    names = ("n_released", "n_tie", "n_unmatched", "n_isr_change", "n_failed", "n_not_held")
    return held_row(0, 1, None) | dict.fromkeys(names, 0) | counts | {"n": sum(counts.values())}


NOTHING_HELD = {
    "nothing read": ([], "Nothing is known about this span", "unsure"),
    "none waited": ([of_outcomes(n_not_held=40)], "No produce request waited", "calm"),
    "all failed": (
        [of_outcomes(n_failed=40)],
        "No produce request that waited for replication succ",
        "alarm",
    ),
    "none is matched": ([of_outcomes(n_unmatched=21), held_row(0, 1, 3, n=20)], "Not enough data", "unsure"),
    "most are matched": ([of_outcomes(n_unmatched=19), held_row(0, 1, 3, n=20)], "No follower holds", "calm"),
    "half are matched": ([of_outcomes(n_unmatched=20), held_row(0, 1, 3, n=20)], "No follower holds", "calm"),
    "some failed": ([of_outcomes(n_failed=1), held_row(0, 1, 3, n=20)], "No follower holds", "unsure"),
}


@pytest.mark.parametrize(("rows", "begin", "mood"), NOTHING_HELD.values(), ids=NOTHING_HELD)
def test_what_is_said_if_no_follower_is_named(rows, begin, mood):
    answer = QUESTION.answer(gold(*rows))

    assert answer.headline.sentence.startswith(begin)
    assert answer.headline.mood == mood
    is_listed = any(row["follower_id"] is None and row["n"] for row in rows)
    assert ("not-named" in [section.name for section in answer.sections]) == is_listed


def test_a_throttle_explains_a_follower_that_is_away(east):
    found = held.chief(east)
    busy = found._replace(row=found.row | {"busy_p50_ms": 30.0})
    limit = {"broker_id": 3, "direction": "follower", "limit_bytes_per_s": 5e6}
    others = [limit | {"direction": "leader"}, limit | {"broker_id": 2}, limit | {"limit_bytes_per_s": None}]

    said = verdict.evidence(busy, accusation(east), [limit, *others])
    (line,) = (line for line in said if "throttle" in line)
    assert line == (
        "Broker 3 had a replication throttle of 5.00 MB/s in that time (follower): it can keep broker 3 from "
        "fetching."
    )
    assert not any("throttle" in line for line in verdict.evidence(found, accusation(east), [limit]))


def test_the_mean_parts_are_of_the_requests_whose_parts_are_known():
    row = held_row(SLOW_FROM, 1, 3, n=40)
    bars = parts_over_time([row | {"n_parts": 20, "network_sum_ms": 400.0}], timedelta(seconds=10)).data

    assert {bar.name: list(bar.y) for bar in bars}["network"] == [20.0]
    (drawn,) = held.over_time(gold(row, row | {"follower_id": 2}), 1, 3)
    assert (drawn["window_start"], drawn["n_parts"]) == (row["window_start"], 40)
    assert drawn["network_sum_ms"] == row["network_sum_ms"]


@pytest.mark.parametrize(
    ("part", "word"),
    [("busy", "throttle"), ("serve", "broker 1"), ("take", "broker 1"), ("own_append", "broker 3")],
)
def test_the_steps_are_about_the_largest_part(part, word):
    steps = of_held(part, follower=3, leader=1)

    assert any(word in step.text for step in steps)
    assert "ISR" in steps[-1].text


def test_the_slowest_requests_come_with_the_fetch_that_released_them(east):
    found = slowest.slowest(east, leader=1, follower=3)
    requests, clients = found["requests"], found["clients"]

    (line,) = (row for row in held_requests(SLOW_FROM) if row["api"] == "PRODUCE")
    assert [(row["ack"], row["topic"], row["held_ms"]) for row in requests] == [
        ("fetch/3/21.2", "orders", pytest.approx(17.9))
    ]
    assert requests[0]["logged_at"] - line["logged_at"] < timedelta(microseconds=2)
    assert [(row["client_id"], row["n"]) for row in clients] == [("app", 1)]


def test_without_silver_there_are_no_single_requests():
    assert slowest.slowest(gold(*changed()), leader=1, follower=3) is None
