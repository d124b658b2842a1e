"""Answers from a warehouse with known values."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from answers.fetches.latency import FETCHES, METRICS, fetches
from answers.fetches.slowest import LONGEST, slowest
from answers.gold import contents
from answers.gold.edges import clusters_of
from answers.gold.selection import GoldSelection
from answers.leader_redirects.redirects import by_version, events
from answers.metadata_lookups.lookups import lookups
from answers.partition_skew.spread import producers
from answers.runs import comparisons as run_comparisons
from answers.slow_links.culprits import findings, windows_of
from answers.slow_links.round_trips import culprits, over_time, round_trips
from answers.throttles.limits import limits, traffic
from answers.throttles.moves import moves
from tests.answers.made_gold import HOSTILE, SLOW, SLOW_FROM, WINDOWS, at


def test_quantile_of_a_span_is_that_of_its_fetches_and_not_of_its_windows(east):
    """18 of 30 windows are slow by 20 ms: the p10 is that of the fast ones, an average would be between."""
    slow = next(
        row
        for row in round_trips(east)
        if (row["follower_id"], row["leader_id"], row["method"]) == (*SLOW, "paired")
    )

    assert slow["n"] == WINDOWS * 40
    assert slow["rtt_p10_ms"] == pytest.approx(1.1, rel=0.02)
    assert slow["rtt_p50_ms"] > 20


def nodes_of(plan):
    """Return a node of a plan and all nodes below it."""
    return [plan, *(node for child in plan["children"] for node in nodes_of(child))]


def test_joins_of_histograms_keep_the_keys_in_memory_and_not_the_histograms(east):
    """A hash join keeps its second input. Of a day of 30 brokers, the histograms would be gigabytes."""
    of_query = {
        "is_by_step": False,
        "only": None,
        "pairs": None,
        "broker": None,
        "client": None,
        "step_s": 10,
    }
    span = {"cluster": east.cluster, "since": east.since, "until": east.until}

    plan = east.gold.arrow(f"EXPLAIN (FORMAT JSON) {FETCHES}", span | of_query)["explain_value"][0].as_py()

    joins = [
        node
        for root in json.loads(plan)
        for node in nodes_of(root)
        if node["name"] == "HASH_JOIN" and "client_id IS NOT DISTINCT" in str(node["extra_info"])
    ]
    assert len(joins) == len(METRICS)
    assert {node["children"][1]["name"] for node in joins} == {"CTE_SCAN"}


def test_windows_of_a_longer_step_are_added_up(east):
    minutes = replace(east, step=timedelta(minutes=1))

    rows = [row for row in over_time(minutes) if row["method"] == "paired"]

    assert len(rows) == 6 * WINDOWS / 6
    assert {row["n"] for row in rows} == {6 * 40}
    assert sum(row["rtt_ms"] > 20 for row in rows) == 3
    assert {row["window_start"] for row in rows} == {at(6 * nth) for nth in range(5)}


def test_a_span_has_the_window_that_begins_it_and_not_the_one_at_its_end(east):
    span = replace(east, since=at(2), until=at(5))

    assert [row["window_start"] for row in culprits(span)] == [at(2), at(3), at(4)]
    assert {(row["since"], row["until"], row["windows"]) for row in round_trips(span)} == {(at(2), at(5), 3)}


def test_a_broker_is_on_either_side_and_another_cluster_is_separate(east, west):
    pairs = {(row["follower_id"], row["leader_id"]) for row in round_trips(replace(east, broker=2))}

    assert pairs == {(1, 2), (2, 1), (2, 3), (3, 2)}
    assert {(row["follower_id"], row["leader_id"]) for row in round_trips(west)} == {(2, 1)}


def test_clients_and_topics_are_parameters_and_never_sql(east, west):
    no_one = replace(east, client="' OR 1=1 --", topic="'; DROP TABLE gold.broker_rtt")

    assert [row["client_id"] for row in fetches(replace(west, client=HOSTILE))] == [HOSTILE]
    assert fetches(no_one) == events(no_one) == producers(no_one) == []


def test_quiet_windows_are_those_outside_of_all_findings(east):
    quiet = round_trips(east, but=windows_of(findings(culprits(east))), pairs=[SLOW])

    assert {row["windows"] for row in quiet} == {SLOW_FROM}


def of_fetches(rows):
    """Leave out the fetches of the request that is held back."""
    return [row for row in rows if row["correlation_id"] < 100]


def test_slowest_fetches_have_the_time_of_the_follower_and_the_slowest_is_first(east):
    """Elapsed is 520.5 ms; the wait is 499 ms less the number of the request."""
    rows = of_fetches(slowest(replace(east, since=at(0), until=at(WINDOWS)), SLOW))

    assert [row["correlation_id"] for row in rows] == list(reversed(range(20)))
    assert [row["true_ms"] for row in rows] == [pytest.approx(21.5 + nth) for nth in reversed(range(20))]
    assert {row["cluster"] for row in rows} == {"east"}


def test_slowest_fetches_are_of_the_last_hour_of_a_longer_span(east):
    until = at(SLOW_FROM) + timedelta(seconds=10)

    rows = [
        slowest(replace(east, since=at(0), until=until + later), SLOW) for later in (timedelta(), LONGEST)
    ]

    assert [{row["correlation_id"] for row in of_fetches(of)} for of in rows] == [
        set(range(10)),
        set(range(10, 20)),
    ]


def test_the_slow_leader_of_a_producer_is_known(east):
    assert [row["slowest_leader_id"] for row in producers(east)] == [1]


def test_redirects_and_lookups_have_a_row_per_version(east):
    assert [(row["software_version"], row["n"], row["disconnects"]) for row in by_version(east)] == [
        ("3.6.0", 6, 0),
        ("4.3.1", 6, 1),
    ]
    assert [(row["lookups"], row["new_topics"]) for row in lookups(east)] == [(8, 64)]


def test_highest_mean_of_any_eleven_seconds_is_compared_with_the_limit(east):
    """Ten seconds of 2 MB and one of 0.9 are 20.9 MB: 1.9 MB/s over 11 s."""
    limit = limits(east)[0]

    assert limit["best_window_bytes_per_s"] == pytest.approx(20_900_000 / 11)
    assert (limit["state"], limit["limit_bytes_per_s"]) == ("over_limit", 1_000_000)


def test_traffic_is_the_mean_of_each_step(east):
    rows = traffic(replace(east, step=timedelta(seconds=20)))

    assert [(row["step_at"], row["throttled_bytes_per_s"]) for row in rows] == [
        (at(0), 900_000),
        (at(2), 1_450_000),
    ]


def test_a_move_has_its_progress(east):
    move = moves(east)[0]

    assert (move["state"], move["partitions_done"], move["bytes_to_go"]) == ("under_way", 6, 10_000_000.0)


def test_only_the_newest_comparison_of_two_arms_is_listed(made):
    rows = run_comparisons.newest(made, "east")

    assert [(row["contender"], row["metric"], row["verdict"]) for row in rows] == [
        ("new", "p99_ms", "improved"),
        ("new", "avg_ms", "equivalent"),
        ("newer", "p99_ms", "regressed"),
    ]


def test_contents_of_a_cluster(made):
    assert clusters_of(made) == ["east", "west"]
    assert contents.edges(made, "east") == {
        "cluster": "east",
        "oldest": at(0),
        "newest": at(WINDOWS - 1),
        "has_future": False,
    }
    assert contents.edges(made, None) == {"oldest": None, "newest": None, "has_future": False}


@pytest.mark.parametrize(("nth", "is_late"), [(WINDOWS - 1, False), (WINDOWS, True)])
def test_a_span_that_begins_with_the_newest_window_is_not_after_it(east, nth, is_late):
    assert bool(contents.too_late(replace(east, since=at(nth)))) is is_late


@pytest.mark.parametrize(
    ("name", "cluster", "nth", "like", "found"),
    [
        ("broker", "east", 0, None, [1, 2, 3]),
        ("topic", "east", 0, None, ["audit", "orders"]),
        ("topic", "east", 0, "ORD", ["orders"]),
        ("client", "west", 0, None, [HOSTILE]),
        ("client", "west", 0, "' OR 1=1", [HOSTILE]),
        ("client", "west", 0, "%", []),
        ("client", "west", 3, None, []),
    ],
)
def test_values_of_a_filter_are_those_since_an_instant_that_contain_a_text(  # noqa: PLR0913, PLR0917 (a case)
    made, name, cluster, nth, like, found
):
    rows = contents.values(made, name, cluster, at(nth), like)

    assert [row["value"] for row in rows] == found
    assert all(row["sources"] for row in rows)


def test_without_a_span_everything_is_selected(made):
    whole = GoldSelection(gold=made, cluster="east")

    assert len(culprits(whole)) == WINDOWS
