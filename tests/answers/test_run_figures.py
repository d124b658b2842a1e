"""What gold says of a run's time: each number by hand, runs of one block kept apart."""

from datetime import timedelta

import pytest

from answers.runs.figures import run_figures
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.produce_held import PRODUCE_HELD
from tests.answers.selected import selected
from tests.transforms.gold.silver_rows import at
from verdicts.metrics import OF_GOLD

KEY = {"cluster": "lab", "run": "x-001"}
SENT = {"batches": 1, "records": 1, "batches_counted": 1, "retried": 0, "followed": 0, "repeats": 0}
ONE_MS, TEN_MS = 691, 806
"""Buckets of 1 ms and about 10 ms: `schemas.histogram`."""


TABLES = {
    "skew": PARTITION_SKEW,
    "redirects": LEADER_REDIRECT,
    "lookups": METADATA_LOOKUP,
    "fetches": FETCH_LATENCY,
    "held": PRODUCE_HELD,
}


def figures(runs=(), **rows):
    timed = [
        run | {"since": run["started_at"] + timedelta(seconds=run.get("warm_up_s", 0.0))} for run in runs
    ]
    gold = selected({table: rows[name] for name, table in TABLES.items() if name in rows})
    return {(row["arm"], row["run"], row["metric"]): row["value"] for row in run_figures(gold, timed)}


def sent(arm, partition, size, **more):
    known = {**KEY, "arm": arm, "window_start": at(0), "topic": "t", "partition": partition, "leader_id": 1}
    return known | {"client_id": "perf", "bytes": size} | SENT | more


def test_runs_of_a_block_are_apart_though_they_share_their_name_and_client():
    rows = [sent("old", 0, 300), sent("old", 1, 100), sent("new", 0, 200), sent("new", 1, 200)]
    rows.append(sent(None, 0, 9000, run=None))  # of no run

    found = figures(skew=rows)
    assert found["old", "x-001", "partition_skew.max_over_mean"] == pytest.approx(1.5)
    assert found["new", "x-001", "partition_skew.max_over_mean"] == pytest.approx(1.0)
    assert found["old", "x-001", "partition_skew.coefficient_of_variation"] == pytest.approx(0.5)
    assert len(found) == 4


def test_redirects_have_a_median_and_a_longest_and_dead_leaders_are_none():
    base = {**KEY, "arm": "old", "kind": "redirect"}
    rows = [base | {"redirect_ms": ms} for ms in (5.0, 7.0, 100.0, None)]
    rows.append(base | {"kind": "disconnect", "redirect_ms": 30000.0})

    found = figures(redirects=rows)
    assert found == {
        ("old", "x-001", "leader_redirect.redirect_p50_ms"): 7.0,
        ("old", "x-001", "leader_redirect.redirect_max_ms"): 100.0,
    }


def test_lookups_are_added_up():
    rows = [{**KEY, "arm": "old", "lookups": 2, "topics_asked": 10, "response_bytes": 100}] * 3

    found = figures(lookups=rows)
    assert {metric: value for (_, _, metric), value in found.items()} == {
        "metadata_lookup.lookups": 6.0,
        "metadata_lookup.topics_asked": 30.0,
        "metadata_lookup.response_bytes": 300.0,
    }


def test_fetches_count_in_windows_that_lie_in_the_run_whole_and_behind_its_warm_up():
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

    found = figures(fetches=rows, runs=[run])
    assert {key: round(value, 1) for key, value in found.items()} == {
        ("old", "x-001", "fetch_latency.leader_local_p50_ms"): 1.0,
        ("old", "x-001", "fetch_latency.leader_local_p99_ms"): 1.0,
    }


def test_every_number_has_a_metric_with_its_direction():
    latency = {"leader_local_hist": {ONE_MS: 9}, "true_hist": {ONE_MS: 9}}
    found = figures(
        skew=[sent("old", 0, 300)],
        redirects=[{**KEY, "arm": "old", "kind": "redirect", "redirect_ms": 5.0}],
        lookups=[{**KEY, "arm": "old", "lookups": 2, "topics_asked": 10, "response_bytes": 100}],
        fetches=[{"cluster": "lab", "kind": "follower", "window_start": at(10), **latency}],
        held=[{"cluster": "lab", "follower_id": 2, "window_start": at(10), "held_hist": {ONE_MS: 9}}],
        runs=[{**KEY, "arm": "old", "started_at": at(0), "ended_at": at(39)}],
    )

    assert found["old", "x-001", "produce_held_p99_ms"] == pytest.approx(1.0, rel=0.01)
    assert {metric for _, _, metric in found} == {metric.name for metric in OF_GOLD}


def test_nothing_in_nothing_out():
    assert figures() == {}
