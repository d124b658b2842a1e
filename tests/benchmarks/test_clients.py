"""The judge of the client scenarios, on made tables whose verdict is known."""

from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.clients import judge, judge_skew, witness
from benchmarks.clients.page import (
    deaths_section,
    metadata_section,
    redirect_section,
)
from benchmarks.clients.page_skew import CALIBRATION, skew_section

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = "2026-12-01T10:00:00+00:00"
ARMS = {"default-partitioner": ("sticky", 4.0), "uniform-sticky": ("sticky", 3.5)}
ARMS |= {"uniform": ("uniform", 1.7), "adaptive": ("adaptive", 1.2), "keyed": (None, 1.0)}


def skewed(arms=ARMS, said=()):
    """Make truth and tables of one round: broker 2 is slow and gets `ratio` times the share of the others."""
    truth = {"slow_broker_id": 2, "runs": []}
    tables = {"partition_skew": [], "partition_skew_summary": [], "perf_summaries": []}
    for arm, (partitioner, ratio) in arms.items():
        run = None if partitioner is None else "r1"
        its = {"run": run, "arm": arm, "client_id": f"skew-{arm}"}
        truth["runs"].append(its | {"repeat": 0, "records_per_s": 2048.0, "partitioner": partitioner})
        tables["partition_skew"] += [
            its | {"leader_id": leader, "share": (ratio if leader == 2 else 1) / (2 + ratio)}
            for leader in (1, 2, 3)
        ]
        told = dict(said).get(arm, partitioner)
        tables["partition_skew_summary"].append(
            its | {"partitioner": told, "batches": 900, "repeat_ratio": 1.0} | {"slowest_stay_ratio": 1.0}
        )
    return truth, tables


def test_shares_of_the_slow_broker_are_read_from_its_partitions():
    runs = judge_skew.skews(*skewed())

    assert {run.arm: run.slow_ratio for run in runs} == pytest.approx(
        {arm: of[1] for arm, of in ARMS.items()}
    )
    assert judge_skew.in_order(runs) == {(0, 2048.0): (True, True)}
    assert judge_skew.named(runs) == (4, 0, 4)
    assert skew_section(runs, since=LATER)[1] == []


MISSED = {
    (
        "sticky sends the slow broker 3 times the others' share in 80% of the rounds at 2,048 records/s: "
        "0 of 1"
    ): ({"uniform-sticky": ("sticky", 2.9)}, {}),
    "sticky > uniform > adaptive in 80% of the rounds at 2,048 records/s: 0 of 1": (
        {"uniform": ("uniform", 3.6)},
        {},
    ),
    "70% of the runs named right: 2 of 4": ({}, {"uniform": None, "adaptive": None}),
    "none named wrongly: 1": ({}, {"uniform": "adaptive"}),
    "none named wrongly: 1 ": ({}, {"keyed": "adaptive"}),
}


@pytest.mark.parametrize(("aim", "changes"), MISSED.items())
def test_an_aim_that_is_missed_is_named(aim, changes):
    arms, said = changes

    assert skew_section(judge_skew.skews(*skewed(ARMS | arms, said)), since=LATER)[1] == [aim.strip()]


def test_a_recording_that_bands_were_set_on_has_no_aims_about_names():
    text, missed = skew_section(judge_skew.skews(*skewed(ARMS, {"uniform": "adaptive"})), since=CALIBRATION)

    assert missed == []
    assert text.endswith("so this result says nothing about other recordings.\n")


VERSIONS = {"3.6.0": (110.0, False), "3.6.2": (60.0, False), "3.9.1": (5.0, True), "4.3.1": (4.0, True)}


def redirected(versions=VERSIONS, n=6):
    """Make truth and events of `n` moves, each met by every version."""
    truth = {"runs": [], "moves": [], "since": LATER}
    events = []
    for version, (ms, hinted) in versions.items():
        its = {"client_id": f"redirect-{version}", "client_version": version, "phase": "one"}
        truth["runs"].append(its | {"run": "topic", "arm": version, "api": "PRODUCE"})
        events += [
            {
                "topic": "topic", "run": "topic", "arm": version, "client_id": its["client_id"],
                "api": "PRODUCE", "kind": "redirect", "partition": nth,
                "errored_at": (AT + timedelta(seconds=nth, milliseconds=10)).isoformat(),
                "redirect_ms": ms + nth, "client_part_ms": ms, "broker_part_ms": float(nth), "hinted": hinted,
                "errors_at_old_leader": 1, "error_code": 6,
            }
            for nth in range(n)
        ]  # fmt: skip
    truth["moves"] = [
        {
            "phase": "one",
            "asked_at": (AT + timedelta(seconds=nth)).isoformat(),
            "topic": "topic",
            "partition": nth,
        }
        for nth in range(n)
    ]
    return truth, {"leader_redirect": events}


def test_versions_are_compared_move_by_move():
    truth, tables = redirected()

    rows = {row.version: row for row in judge.by_version(truth, tables)}

    assert {version: (row.n, row.hinted, row.errors) for version, row in rows.items()} == {
        version: (6, 6 * hinted, {6: 6}) for version, (_, hinted) in VERSIONS.items()
    }
    seen = judge.lost(truth, tables, "PRODUCE")
    assert judge.paired(truth, seen, "3.9.1", "3.6.0", phase="one") == [-105.0] * 6
    assert judge.paired(truth, seen, "3.9.1", "3.6.0", phase="ten") == []
    assert judge.lost(truth, tables, "FETCH") == []


def told_by(differences):
    return {("one", "4.3.1"): [judge.Witnessed(differences=differences, seen=len(differences))]}


UNMET = {
    "no answer to 3.6.2 carries the new leader: 6 do": ({"3.6.2": (60.0, True)}, 0.0),
    "each first answer to 4.3.1 carries the new leader: 0 of 6": ({"4.3.1": (4.0, False)}, 0.0),
    "medians of clients that get the hint are below that of 3.6.0: 122.5 against 112.5 ms": (
        {"3.9.1": (120.0, True)},
        0.0,
    ),
    (
        "with one partition at a time `redirect_ms` lies within 2 ms of 4.3.1's own log: 2.50 ms (median of "
        "the size)"
    ): ({}, 2.5),
}


@pytest.mark.parametrize(("aim", "changes"), UNMET.items())
def test_a_redirect_that_is_not_as_claimed_is_named(aim, changes):
    versions, off_ms = changes
    good, bad = (judge.by_version(*redirected(told)) for told in (VERSIONS, VERSIONS | versions))

    truth = redirected()[0]
    assert redirect_section(truth, 20.0, good, {}, told_by([0.1, -0.1, 0.0]))[1] == []
    assert redirect_section(truth, 20.0, bad, {}, told_by([off_ms, -off_ms, 0.0]))[1] == [aim]


def test_five_pairs_have_no_interval():
    truth, tables = redirected()
    pairs = {("one", "FETCH", "4.3.1 minus 3.6.0"): [[-9.0] * 5]}

    text, _ = redirect_section(truth, 20.0, judge.by_version(truth, tables), pairs, told_by([0.0]))

    assert "| one | FETCH | 4.3.1 minus 3.6.0 | 5 | -9.0 | too few | | |" in text
    assert "quicker with no number of partitions at once, slower with no number" in text


CONSUMERS = {
    "quicker": ([-9.0] * 9, "quicker with one at once, slower with no number"),
    "slower": ([9.0] * 9, "quicker with no number of partitions at once, slower with one at once."),
    "neither": ([-9.0, 9.0] * 9, "quicker with no number of partitions at once, slower with no number"),
}


@pytest.mark.parametrize(("differences", "said"), CONSUMERS.values(), ids=CONSUMERS)
def test_consumers_are_held_against_the_proposal_too(differences, said):
    truth, tables = redirected()
    pairs = {("one", "FETCH", "4.3.1 minus 3.6.0"): [differences]}

    text, _ = redirect_section(truth, 20.0, judge.by_version(truth, tables), pairs, told_by([0.0]))

    assert said in text
    assert "Partitions moved: 6 (one), 0 (ten), 0 (hundred)" in text


def died(told):
    """Make a round in which broker 3 dies, who led partitions 2 and 5, and what is told of it."""
    runs = [
        {"run": "t", "phase": "dead", "api": "PRODUCE"}
        | {"client_id": f"c-{version}", "client_version": version}
        for version in ("3.6.0", "4.3.1")
    ]
    moves = [
        {"phase": "dead", "topic": "t", "partition": nth, "old_leader_id": 3, "new_leader_id": 1}
        for nth in (2, 5)
    ]
    rows = [
        {"kind": "disconnect", "topic": "t", "partition": partition, "client_id": client, "old_leader_id": 3}
        | {"new_leader_id": 1, "redirect_ms": 9_000.0 + partition}
        for client, partition in told
    ]
    return {"runs": runs, "moves": moves}, {"leader_redirect": rows}


ALL_LOST = [(f"c-{version}", nth) for version in ("3.6.0", "4.3.1") for nth in (2, 5)]


def test_partitions_lost_to_a_dead_leader_are_counted_by_client():
    rows, wrong = judge.deaths(*died(ALL_LOST))

    assert [(row.version, row.lost, row.reported, row.p50_ms) for row in rows] == [
        ("3.6.0", 2, 2, 9_003.5),
        ("4.3.1", 2, 2, 9_003.5),
    ]
    assert deaths_section(rows, wrong)[1] == []


@pytest.mark.parametrize(
    ("told", "aim"),
    [
        (ALL_LOST[:3], "90% of what clients lost to dead leaders is reported: 3 of 4"),
        ([*ALL_LOST, ("c-4.3.1", 1)], "no death of a leader is reported that did not happen: 1"),
    ],
)
def test_a_dead_leader_that_is_missed_or_made_up_is_named(told, aim):
    assert deaths_section(*judge.deaths(*died(told)))[1] == [aim]


def test_a_clients_own_log_tells_error_and_success(tmp_path):
    start = "2026-11-21T12:00:0{at}Z 1 DEBUG [Producer clientId=c] "
    got = start + "Received PRODUCE response from node {node} for request with header RequestHeader(...): "
    got += "partitionResponses=[PartitionProduceResponse(index=3, errorCode={error}, baseOffset=1)]"
    lines = [
        got.format(at=at, node=node, error=error)
        for at, node, error in (("0.010000", 1, 6), ("0.020000", 2, 6), ("0.055000", 2, 0))
    ]

    log = tmp_path / "client.log"
    log.write_text("\n".join(["noise", *lines]))

    (redirect,) = witness.redirects(log)

    assert (redirect.partition, redirect.errored_at) == (3, AT + timedelta(milliseconds=10))
    assert redirect.redirect_ms == pytest.approx(45.0)


@pytest.mark.parametrize(
    ("old", "new", "missed"),
    [
        (1.95, 1.0, []),
        (1.5, 1.0, ["growth of 2.4.1 within 1.8 and 2.05: 1.50"]),
        (1.95, 1.3, ["growth of 3.9.1 within 0.95 and 1.05: 1.30"]),
        (None, 1.0, ["growth of 2.4.1 within 1.8 and 2.05: not measured"]),
    ],
)
def test_growth_that_is_not_as_claimed_is_named(old, new, missed):
    truth = {"topics": 1000, "runs": []}
    rows = []
    for version, growth in {"2.4.1": old, "3.9.1": new}.items():
        truth["runs"].append({"client_id": version, "client_version": version, "idle_ms": None})
        rows.append({"client_id": version, "growth_exponent": growth, "lookups": 1000, "topics_asked": 9})
        rows[-1] |= {"response_bytes": 9, "new_topics": 1000, "evicted_topics": 0}

    assert metadata_section(truth, rows)[1] == missed
