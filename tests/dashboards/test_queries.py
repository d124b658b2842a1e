"""What DuckDB makes of gold is what Spark's own summaries make of the same rows."""

from dataclasses import replace
from datetime import timedelta

import pytest

from dashboards.asked import DashboardRequest
from dashboards.filters import Filters
from dashboards.pages import comparison
from dashboards.pages.links import page
from dashboards.queries import clients, histogram, links, skew, throttles
from dashboards.queries.requests import slowest
from reports.findings import findings
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import PERF_SUMMARIES, RUNS
from tests.dashboards import made_gold
from tests.dashboards.made_gold import SLOW, SLOW_FROM, WINDOWS, at
from transforms import histogram as of_spark
from transforms.frames import frame_of
from transforms.gold.broker_rtt.table import broker_rtt_summary
from transforms.gold.fetch_latency.summary import fetch_latency_summary
from transforms.gold.leader_redirect.summary import leader_redirect_summary
from transforms.gold.metadata_lookup.summary import metadata_lookup_summary
from transforms.gold.partition_skew import slowest as thresholds
from transforms.gold.partition_skew.span import partition_skew_span
from transforms.gold.partition_skew.summary import partition_skew_summary
from transforms.gold.runs.perf_runs import payloads


@pytest.fixture
def asked(warehouse):
    return DashboardRequest(warehouse, Filters(cluster="east"))


def of_table(spark, made, table):
    frame = spark.read.format("delta").load(str(made / table.layer / table.name))
    return frame.filter("cluster = 'east'")


def same(ours, theirs, key):
    """Compare every column that both sides have, floats to nine figures; give how many rows and columns."""
    found = {tuple(row[name] for name in key): row for row in ours}
    wanted = {tuple(row[name] for name in key): row.asDict() for row in theirs.collect()}
    assert found.keys() == wanted.keys()
    shared = set(next(iter(found.values()))) & set(theirs.columns) - {"since", "until", "window_start"}
    for of, row in wanted.items():
        for name in shared:
            wanted_cell = pytest.approx(row[name], rel=1e-9) if isinstance(row[name], float) else row[name]
            assert found[of][name] == wanted_cell, (of, name)
    return len(found), len(shared)


def test_constants_are_those_of_the_transforms():
    assert (histogram.GAMMA, histogram.OFFSET) == (of_spark.GAMMA, of_spark.OFFSET)
    assert (histogram.Z_95, histogram.RANK_SLACK) == (of_spark.Z_95, of_spark.RANK_SLACK)
    assert (skew.SLOW_LATENCY, skew.SLOW_BATCH) == (thresholds.SLOW_LATENCY, thresholds.SLOW_BATCH)
    assert (skew.MIN_BATCHES, skew.REPEATS, skew.FULL) == (
        thresholds.MIN_BATCHES,
        thresholds.REPEATS,
        thresholds.FULL,
    )
    bands = {"adaptive": ("0.7", "1.32"), "uniform": ("1.25", "2.3"), "sticky": ("2.0", "inf")}
    assert {name: tuple(map(float, ends)) for name, ends in bands.items()} == thresholds.SHARES


def test_round_trips_are_those_of_the_report(spark, made, asked):
    theirs = broker_rtt_summary(of_table(spark, made, BROKER_RTT))

    told = same(links.round_trips(asked), theirs, ("follower_id", "leader_id", "method"))

    assert told == (12, 16)


def test_fetches_are_those_of_the_report(spark, made, asked):
    theirs = fetch_latency_summary(of_table(spark, made, FETCH_LATENCY))

    told = same(links.fetches(asked), theirs, ("leader_id", "kind", "follower_id", "client_id"))

    assert told == (7, 23)


def test_producers_are_those_of_the_report(spark, made, asked):
    windows = of_table(spark, made, PARTITION_SKEW)
    nothing = payloads(frame_of(spark, [], PERF_SUMMARIES.schema), frame_of(spark, [], RUNS.schema))
    theirs = partition_skew_summary(partition_skew_span(windows), windows, nothing)

    told = same(skew.producers(asked), theirs, ("topic", "client_id", "run"))

    assert told == (1, 22)
    assert skew.producers(asked)[0]["slowest_leader_id"] == 1


def test_redirects_are_those_of_the_report(spark, made, asked):
    theirs = leader_redirect_summary(of_table(spark, made, LEADER_REDIRECT))

    told = same(clients.redirects_by_version(asked), theirs, ("api", "software_version"))

    assert told == (2, 15)


def test_lookups_are_those_of_the_report(spark, made, asked):
    theirs = metadata_lookup_summary(of_table(spark, made, METADATA_LOOKUP))

    told = same(clients.lookups(asked), theirs, ("client_id", "software_version", "run"))

    assert told == (1, 15)


def test_quantile_of_a_span_is_of_its_fetches_and_not_of_its_windows(asked):
    """18 of 30 windows are slow by 20 ms: the p10 is that of the quick ones, an average would lie between."""
    slow = next(
        row
        for row in links.round_trips(asked)
        if (row["follower_id"], row["leader_id"], row["method"]) == (*SLOW, "paired")
    )

    assert slow["n"] == WINDOWS * 40
    assert slow["rtt_p10_ms"] == pytest.approx(1.1, rel=0.02)
    assert slow["rtt_p50_ms"] > 20


def test_longer_steps_are_added_up(asked, warehouse):
    minutes = DashboardRequest(warehouse, asked.filters)
    minutes.__dict__["step"] = timedelta(minutes=1)

    rows = [row for row in links.round_trips_over_time(minutes) if row["method"] == "paired"]

    assert len(rows) == 6 * WINDOWS / 6
    assert {row["n"] for row in rows} == {6 * 40}
    assert sum(row["rtt_ms"] > 20 for row in rows) == 3
    assert {row["window_start"] for row in rows} == {at(6 * nth) for nth in range(5)}


def test_a_broker_is_on_either_side_and_another_cluster_is_not_there(asked, warehouse):
    of_two = DashboardRequest(warehouse, replace(asked.filters, broker=2))
    west = DashboardRequest(warehouse, Filters(cluster="west"))

    pairs = {(row["follower_id"], row["leader_id"]) for row in links.round_trips(of_two)}

    assert pairs == {(1, 2), (2, 1), (2, 3), (3, 2)}
    assert {(row["follower_id"], row["leader_id"]) for row in links.round_trips(west)} == {(2, 1)}


def test_clients_and_topics_are_parameters_and_never_sql(warehouse):
    hostile = DashboardRequest(warehouse, Filters(cluster="west", client=made_gold.HOSTILE))
    nobody = DashboardRequest(
        warehouse, Filters(cluster="east", client="' OR 1=1 --", topic="'; DROP TABLE gold.broker_rtt")
    )

    assert [row["client_id"] for row in links.fetches(hostile)] == [made_gold.HOSTILE]
    assert links.fetches(nobody) == clients.redirects(nobody) == skew.producers(nobody) == []


def test_who_is_accused_does_not_hang_on_who_is_looked_at(asked, warehouse):
    of_two = DashboardRequest(warehouse, replace(asked.filters, broker=2))

    sentence = "Broker 3's link to broker 1 is slow by 20.1 ms since 11:02:00 UTC."
    assert sentence in made_gold.text_of(page(asked))
    assert sentence in made_gold.text_of(page(of_two))


def test_quiet_windows_are_those_outside_every_finding(asked):
    found = findings(links.culprits(asked))

    quiet = links.round_trips(asked, but=links.outside(found), pair=SLOW)

    assert {row["windows"] for row in quiet} == {SLOW_FROM}


def test_requests_of_a_cell_have_the_followers_own_time_and_the_slowest_come_first(asked):
    """Elapsed is 520.5 ms; the wait is 499 ms less the number of the request."""
    rows = slowest(asked, SLOW, asked.span)

    assert [row["correlation_id"] for row in rows] == list(reversed(range(20)))
    assert [row["true_ms"] for row in rows] == [pytest.approx(21.5 + nth) for nth in reversed(range(20))]
    assert {row["cluster"] for row in rows} == {"east"}


def test_most_of_any_eleven_seconds_is_told_beside_the_limit(asked):
    """Ten seconds of 2 MB and one of 0.9 are 20.9 MB: 1.9 MB/s over 11 s."""
    limit = throttles.limits(asked)[0]

    assert limit["best_window_bytes_per_s"] == pytest.approx(20_900_000 / 11)
    assert limit["of_limit"] == pytest.approx(1.9)


def test_a_move_is_told_as_far_as_it_is(asked):
    told = throttles.moves(asked)[0]

    assert (told["state"], told["partitions_done"], told["bytes_to_go"]) == ("under_way", 6, 10_000_000.0)


def test_of_comparisons_of_two_arms_the_newest_is_shown(asked):
    shown = made_gold.text_of(
        comparison.page(replace(asked, filters=Filters(cluster="east", run="new against old")))
    )

    assert "all of its interval lies below" in shown
    assert "of the night before" not in shown
