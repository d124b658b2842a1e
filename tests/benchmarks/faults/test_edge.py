"""The oracles of a log's way catch what is planted; one whole fault, the others are in the campaign."""

import random
from hashlib import sha256

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from benchmarks.faults import oracles
from benchmarks.faults.edge.faults import FAULTS
from benchmarks.faults.edge.site import LedgerLines, acked, wrong_lines, wrong_totals
from schemas.bronze import BRONZE, REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY

LINES = {"broker-1/m/0": b"one", "broker-1/m/4": b"two", "broker-1/n/0": b"three"}
WRITTEN = LedgerLines(sha256={position: sha256(line).hexdigest() for position, line in LINES.items()})


def rows(lines):
    return [
        {"position": position, "value": value, "partition": 0, "offset": offset}
        for offset, (position, value) in enumerate(lines)
    ]


def test_lines_that_arrived_and_some_of_them_again_are_well():
    sent = list(LINES.items())

    assert wrong_lines(rows([*sent, sent[1]]), WRITTEN) == []


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"broker-1/m/4": None}, "of 3 lines 1 are lost, as broker-1/m/4"),
        ({"broker-1/m/4": b"tw"}, "of 3 lines 1 are with other bytes, as broker-1/m/4"),
        ({"broker-1/m/0": b"one\ntwo"}, "of 3 lines 1 are with other bytes, as broker-1/m/0"),
        ({"broker-1/m/6": b"o"}, "of 3 lines 1 are made up, as broker-1/m/6"),
    ],
    ids=["lost", "torn", "merged", "made up"],
)
def test_a_line_that_is_not_as_it_was_written_is_found(sent, told):
    arrived = {position: value for position, value in (LINES | sent).items() if value is not None}

    assert told in wrong_lines(rows(arrived.items()), WRITTEN)


def test_a_line_sent_again_with_other_bytes_is_found():
    again = [*LINES.items(), ("broker-1/m/0", b"eno")]

    assert wrong_lines(rows(again), WRITTEN) == ["of 3 lines 1 are with other bytes, as broker-1/m/0"]


def test_a_file_that_arrives_out_of_its_order_is_found():
    assert wrong_lines(rows(reversed(LINES.items())), WRITTEN) == [
        "of 3 lines 1 are out of order, as broker-1/m/0"
    ]


def test_a_line_that_no_file_holds_may_be_missing():
    gone = LedgerLines(sha256=WRITTEN.sha256, gone={"broker-1/m/4"})

    assert wrong_lines(rows([line for line in LINES.items() if line[0] not in gone.gone]), gone) == []


@pytest.mark.parametrize(
    ("booked", "told"),
    [
        ({}, []),
        ({"kept": 3, "duplicates": 0}, ["gold has 3 kept, there are 2", "gold has 0 duplicates"]),
        ({"is_balanced": False}, ["x.log is not balanced"]),
    ],
    ids=["well", "counted twice", "not balanced"],
)
def test_gold_s_books_are_held_against_bronze(tmp_path, booked, told):
    """Three rows, two positions: one line was sent again."""
    books = {"kind": "request-log", "source": "x.log", "lines_read": 3, "kept": 2, "duplicates": 1}
    for table, told_rows in (
        (REQUEST_LOG, [{"position": position} for position in ("p/0", "p/1", "p/1")]),
        (DATA_QUALITY, [books | {"is_balanced": True} | booked]),
    ):
        path = oracles.where(tmp_path, table)
        path.mkdir(parents=True)
        write_deltalake(path, pa.Table.from_pylist(told_rows))

    found = wrong_totals(tmp_path)

    assert len(found) == len(told)
    assert all(line.startswith(start) for line, start in zip(found, told, strict=True))


def test_bronze_is_held_against_the_topic_where_a_collector_has_published(tmp_path):
    """Lines that a collector sent again are records of their own, and none of them is made up."""
    topic = "t.request-log"
    in_topic = rows([*LINES.items(), ("broker-1/m/0", b"one")])
    for table in BRONZE:
        path = oracles.where(tmp_path, table)
        path.mkdir(parents=True)
        held = pa.Table.from_pylist([row | {"topic": topic} for row in in_topic])
        write_deltalake(path, held if table == REQUEST_LOG else held.schema.empty_table())

    assert oracles.lost_or_doubled(tmp_path, [acked(topic, row) for row in in_topic]) == []
    assert oracles.lost_or_doubled(tmp_path, [acked(topic, row) for row in in_topic[:3]]) == [
        "request_log: 1 made up, first ('t.request-log', 0, 3)"
    ]


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.timeout(600)
def test_a_collector_killed_again_and_again_loses_tears_and_doubles_nothing(lab, tmp_path):
    fault = FAULTS["collector-killed-while-writing"]

    assert fault(lab.telemetry_bootstrap_servers, tmp_path, random.Random(7)) == []
