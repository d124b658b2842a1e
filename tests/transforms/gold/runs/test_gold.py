"""What gold says of a run's time: each number by hand, runs of one block kept apart."""

import pytest

from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import PERF_SUMMARIES, RUNS
from tests.transforms.gold.silver_rows import at
from transforms.frames import frame_of
from transforms.gold.runs.figures import run_facts
from transforms.gold.runs.gold import run_gold
from verdicts.metrics import OF_GOLD

KEY = {"cluster": "lab", "run": "x-001"}
SENT = {"batches": 1, "records": 1, "batches_counted": 1, "retried": 0, "followed": 0, "repeats": 0}
ONE_MS, TEN_MS = 691, 806
"""Buckets of 1 ms and about 10 ms: `transforms.histogram`."""


TABLES = {
    "runs": RUNS,
    "skew": PARTITION_SKEW,
    "redirects": LEADER_REDIRECT,
    "lookups": METADATA_LOOKUP,
    "fetches": FETCH_LATENCY,
}


def told(spark, **rows):
    runs_frame, *frames = (
        frame_of(spark, rows.get(name, []), table.schema) for name, table in TABLES.items()
    )
    facts = run_facts(runs_frame, frame_of(spark, [], PERF_SUMMARIES.schema))
    return {
        (row["arm"], row["run"], row["metric"]): row["value"] for row in run_gold(facts, *frames).collect()
    }


def sent(arm, partition, size, **more):
    known = {**KEY, "arm": arm, "window_start": at(0), "topic": "t", "partition": partition, "leader_id": 1}
    return known | {"client_id": "perf", "bytes": size} | SENT | more


def test_runs_of_a_block_are_apart_though_they_share_their_name_and_client(spark):
    rows = [sent("old", 0, 300), sent("old", 1, 100), sent("new", 0, 200), sent("new", 1, 200)]
    rows.append(sent(None, 0, 9000, run=None))  # of no run

    found = told(spark, skew=rows)
    assert found["old", "x-001", "partition_skew.max_over_mean"] == pytest.approx(1.5)
    assert found["new", "x-001", "partition_skew.max_over_mean"] == pytest.approx(1.0)
    assert found["old", "x-001", "partition_skew.coefficient_of_variation"] == pytest.approx(0.5)
    assert len(found) == 4


def test_redirects_have_a_median_and_a_longest_and_dead_leaders_are_none(spark):
    base = {**KEY, "arm": "old", "kind": "redirect"}
    rows = [base | {"redirect_ms": ms} for ms in (5.0, 7.0, 100.0, None)]
    rows.append(base | {"kind": "disconnect", "redirect_ms": 30000.0})

    found = told(spark, redirects=rows)
    assert found == {
        ("old", "x-001", "leader_redirect.redirect_p50_ms"): 7.0,
        ("old", "x-001", "leader_redirect.redirect_max_ms"): 100.0,
    }


def test_lookups_are_added_up(spark):
    rows = [{**KEY, "arm": "old", "lookups": 2, "topics_asked": 10, "response_bytes": 100}] * 3

    found = told(spark, lookups=rows)
    assert {metric: value for (_, _, metric), value in found.items()} == {
        "metadata_lookup.lookups": 6.0,
        "metadata_lookup.topics_asked": 30.0,
        "metadata_lookup.response_bytes": 300.0,
    }


def test_fetches_count_in_windows_that_lie_in_the_run_whole_and_behind_its_warm_up(spark):
    base = {"cluster": "lab", "leader_id": 1, "kind": "follower", "follower_id": 2}
    fast, slow = {"leader_local_hist": {ONE_MS: 9}}, {"leader_local_hist": {TEN_MS: 1000}}
    rows = [
        base | slow | {"window_start": at(0)},  # in the warm-up
        base | fast | {"window_start": at(10)},
        base | fast | {"window_start": at(20)},
        base | slow | {"window_start": at(30)},  # the run ends within it
        base | slow | {"window_start": at(10), "kind": "consumer"},
        base | slow | {"window_start": at(10), "cluster": "other"},
    ]
    run = {**KEY, "arm": "old", "started_at": at(0), "ended_at": at(39), "warm_up_s": 10.0}
    endless = {**KEY, "run": "x-002", "arm": "old", "started_at": at(0)}

    found = told(spark, fetches=rows, runs=[run, endless])
    assert {key: round(value, 1) for key, value in found.items()} == {
        ("old", "x-001", "fetch_latency.leader_local_p50_ms"): 1.0,
        ("old", "x-001", "fetch_latency.leader_local_p99_ms"): 1.0,
    }


def test_every_number_has_a_metric_with_its_direction(spark):
    latency = {"leader_local_hist": {ONE_MS: 9}, "true_hist": {ONE_MS: 9}}
    found = told(
        spark,
        skew=[sent("old", 0, 300)],
        redirects=[{**KEY, "arm": "old", "kind": "redirect", "redirect_ms": 5.0}],
        lookups=[{**KEY, "arm": "old", "lookups": 2, "topics_asked": 10, "response_bytes": 100}],
        fetches=[{"cluster": "lab", "kind": "follower", "window_start": at(10), **latency}],
        runs=[{**KEY, "arm": "old", "started_at": at(0), "ended_at": at(39)}],
    )

    assert {metric for _, _, metric in found} == {metric.name for metric in OF_GOLD}


def test_nothing_in_nothing_out(spark):
    assert told(spark) == {}
