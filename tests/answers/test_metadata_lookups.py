"""What lookups cost a client, from made METADATA requests."""

import math

import pytest

from answers.drawing import MOST_LEGEND_ENTRIES
from answers.metadata_lookups.figures import lookups_over_time
from answers.metadata_lookups.lookups import growing, lookups
from answers.metadata_lookups.question import QUESTION
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.metadata_lookup import METADATA_LOOKUP, METADATA_LOOKUP_SUMMARY
from tests.answers import made_gold
from tests.answers.cases import Cases
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.lookup_rows import AT, gold, lookup, names, silver


def built(silver):
    return {METADATA_LOOKUP: gold(silver)}


def by_client(selection):
    return {row["client_id"]: row for row in lookups(selection)}


CASES = Cases(built, by_client)


def test_rows_are_the_declared_ones_and_nothing_gives_nothing():
    assert_declared(lookups(selected(built(silver([lookup(1, names(1))])))), METADATA_LOOKUP_SUMMARY)
    assert lookups(selected(built(silver([])))) == []


@CASES.test
def test_lookups_are_of_the_run_that_the_client_ran():
    run = {"cluster": "lab", "run": "r1", "arm": "old", "client_id": "c", "started_at": AT}

    row = (yield silver([lookup(1, names(1))], [run]))["c"]

    assert (row["run"], row["arm"]) == ("r1", "old")


OLD = [lookup(10 * n, names(*range(n + 1)), client="old") for n in range(40)]
NEW = [lookup(10 * n, names(n), client="new") for n in range(40)]


@CASES.test
def test_asking_for_all_at_each_new_topic_grows_like_the_square():
    found = yield silver([*OLD, *NEW])

    old, new = found["old"], found["new"]
    assert (old["lookups"], old["new_topics"], old["topics_asked"]) == (40, 40, 40 * 41 // 2)
    assert (new["lookups"], new["new_topics"], new["topics_asked"]) == (40, 40, 40)
    # n (n + 1) / 2 is not yet n squared: numpy.polyfit gives a slope of 1.903 over 2..40.
    assert old["growth_exponent"] == pytest.approx(1.903, abs=0.001)
    assert new["growth_exponent"] == pytest.approx(1.0)
    assert (new["lookups_per_new_topic"], new["topics_per_lookup"], new["bytes_per_1000_new_topics"]) == (
        1,
        1,
        100_000,
    )


@CASES.test
def test_a_client_without_an_id_has_its_topics_too():
    row = (yield silver([lookup(10 * n, names(n), client=None) for n in range(40)]))[None]

    assert (row["lookups"], row["new_topics"], row["growth_exponent"]) == (40, 40, pytest.approx(1.0))


@CASES.test
def test_no_exponent_is_fitted_to_a_few_topics():
    found = yield silver(NEW[:10])

    assert found["new"]["growth_exponent"] is None


@pytest.mark.parametrize(("windows", "is_fitted"), [(4, False), (5, True)])
def test_an_exponent_needs_five_windows_with_new_topics(windows, is_fitted):
    made = [made_gold.lookup(nth) for nth in range(windows)]

    [row] = lookups(selected({METADATA_LOOKUP: made}, cluster="east"))

    assert row["topics_asked_most"] >= 16
    assert (row["growth_exponent"] is not None) is is_fitted


@pytest.mark.parametrize(("topics", "is_fitted"), [(15, False), (16, True)])
def test_an_exponent_needs_16_topics(topics, is_fitted):
    made = [made_gold.lookup(nth) | {"topics": list(range(n))} for nth, n in enumerate((2, 5, 9, 12, topics))]

    [row] = lookups(selected({METADATA_LOOKUP: made}, cluster="east"))

    assert (row["growth_exponent"] is not None) is is_fitted


def test_a_client_grows_from_an_exponent_of_one_and_a_half_on():
    rows = [{"growth_exponent": exponent} for exponent in (None, 1.49, 1.5)]

    assert growing(rows) == rows[2:]


def test_lookups_of_all_topics_are_not_among_topics_per_lookup():
    """Such a lookup names no topic."""
    of_all = {"lookups": 3, "all_topics_lookups": 1}

    [row] = lookups(selected({METADATA_LOOKUP: [made_gold.lookup(0) | of_all]}, cluster="east"))
    assert (row["topics_asked"], row["topics_per_lookup"]) == (8, 4.0)
    only = made_gold.lookup(0) | {"arm": None, "all_topics_lookups": 1, "topics_asked": 0}
    assert [*map(math.isnan, lookups_over_time([only]).data[0].y)] == [True]


def test_the_figure_has_the_clients_that_ask_for_most_topics():
    clients = MOST_LEGEND_ENTRIES + 1
    windows = [
        made_gold.lookup(0, client=f"c-{n}") | {"arm": None, "topics_asked": n} for n in range(clients)
    ]

    names = [trace.name for trace in lookups_over_time(windows).data]

    assert len(names) == MOST_LEGEND_ENTRIES
    assert not any(name.startswith("c-0") for name in names)


def test_a_span_without_lookups_is_not_called_calm():
    read = {BROKER_RTT: [made_gold.rtt(0, 2, 1)]}

    headline = QUESTION.answer(selected(read, cluster="east")).headline

    assert (headline.sentence, headline.mood) == ("No client looked metadata up in this span.", "unsure")


@CASES.test
def test_refreshes_bring_no_topics_and_bend_no_exponent():
    refreshes = [lookup(400 + 10 * n, names(*range(40)), client="new") for n in range(30)]

    row = (yield silver([*NEW, *refreshes]))["new"]

    assert (row["new_topics"], row["evicted_topics"], row["lookups"]) == (40, 0, 70)
    assert row["growth_exponent"] == pytest.approx(1.0)


@CASES.test
def test_topics_that_a_refresh_leaves_out_were_evicted():
    rows = [lookup(0, names(1)), lookup(10, names(2)), lookup(20, names(3)), lookup(30, names(1, 3))]
    rows += [lookup(40, names(2)), lookup(50, names(1))]

    row = (yield silver(rows))["c"]

    assert (row["new_topics"], row["evicted_topics"]) == (3, 1 + 2)
