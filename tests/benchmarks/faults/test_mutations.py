"""A million spoiled lines through Kafka, bronze and silver: nothing lost, changed or stalled."""

import random

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from benchmarks.faults.lines.mutations import (
    Sent,
    digest,
    million_mutated_lines,
    spoiled,
    stalled,
    unaccounted,
)
from benchmarks.faults.oracles import where
from schemas.bronze import REQUEST_LOG
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS

SEED = 4
LINES = [b"kept", b"bad", b"of another logger", b"kept too"]


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.timeout(7_200)
def test_a_million_spoiled_lines_pass_and_each_is_accounted_for(lab, tmp_path):
    wrong = million_mutated_lines(lab.telemetry_bootstrap_servers, tmp_path, random.Random(SEED))

    print((tmp_path / "mutations.json").read_text())
    assert wrong == []


def test_the_same_dice_give_the_same_lines():
    first, second = (list(spoiled(random.Random(SEED), 500)) for _ in range(2))

    assert first == second
    assert len({value for _, value in first}) > 350


def test_a_batch_that_takes_much_longer_than_the_others_is_told():
    assert stalled([5.0, 4.0, 9.0], {}) == []
    assert stalled([5.0, 4.0, 90.0], {}) == ["a batch of 50000 lines took 90 s; the median batch took 5 s"]


def rows(*offsets, **more):
    return [{"partition": 0, "offset": n} | {key: of(n) for key, of in more.items()} for n in offsets]


AS_IT_SHOULD = {
    "bronze": range(4), "kept": (0, 3), "bad": (1,), "skipped": 1, "reason": "bad_json",
    "value": LINES.__getitem__,
}  # fmt: skip


def told(root, changes):
    """Write a warehouse of four lines and hold it against their ledger."""
    made = AS_IT_SHOULD | changes
    why = {"kind": lambda _: "request-log", "reason": lambda _: made["reason"]}
    tables = {
        REQUEST_LOG: rows(*made["bronze"], value=made["value"]),
        REQUESTS: rows(*made["kept"]),
        QUARANTINE: rows(*made["bad"], value=made["value"], **why),
        SKIPPED: [{"kind": "request-log", "lines": made["skipped"]}],
    }
    for table, of_table in tables.items():
        path = where(root, table)
        path.mkdir(parents=True)
        write_deltalake(path, pa.Table.from_pylist(of_table))
    sent = Sent([digest(line) for line in LINES], [True, True, False, True])
    ledger = {("request-log", 0): sent, ("request-log", 1): Sent()}
    return unaccounted(root, "request-log", ledger, {})


FAULTS = {
    "nothing": ({}, []),
    "a lost line": ({"bronze": (0, 1, 3)}, ["bronze request-log: 1 lost, 0 doubled"]),
    "a doubled line": ({"bronze": (0, 1, 2, 3, 3)}, ["bronze request-log: 0 lost, 1 doubled"]),
    "other bytes": (
        {"value": lambda n: LINES[n] + b"!" * (n == 1)},
        ["bronze request-log: 1 rows with other bytes", "quarantine of request-log: 1 rows with other bytes"],
    ),
    "kept and quarantined": ({"kept": (0, 1, 3)}, ["request-log: 1 lines twice in silver"]),
    "a line without outcome": ({"skipped": 0}, ["request-log: 1 lines without outcome, 0 skipped"]),
    "a request skipped": (
        {"kept": (0,), "skipped": 2}, ["request-log: 1 lines with the mark were skipped"]
    ),
    "an unknown reason": ({"reason": "why"}, ["request-log: reasons missing in docs/quarantine.md: {'why'}"]),
}  # fmt: skip


@pytest.mark.parametrize("planted", FAULTS)
def test_each_fault_that_is_planted_is_found(tmp_path, planted):
    changes, wrong = FAULTS[planted]

    assert told(tmp_path, changes) == wrong
