"""The lines about clients that are published under kills make rows of every table about clients."""

from collections import Counter

from conf.settings import Settings
from jobs.sources import SOURCES
from schemas.clients import CLIENT_TABLES
from schemas.perf_test import PERF_TEST
from schemas.silver import CLIENT_EVENTS, LEADERSHIP_CHANGES, REQUESTS, TOPICS
from tests.faults.client_lines import CLIENTS, MOVES_EVERY_S, PARTITIONS, of_clients
from tests.transforms.parse.raw_rows import raw
from transforms.frames import frame_of
from transforms.gold import pairing
from transforms.gold.assemble import of_clients as gold_of_clients
from transforms.parse.outcome import KEPT

SECONDS = 130


def test_every_table_about_clients_has_rows_of_them(spark):
    lines = [line for _, line in of_clients(SECONDS)]
    silver, outcomes = {}, Counter()
    for source in SOURCES:
        rows = [
            {"value": line.value, "node": line.node, "position": line.position}
            | {"headers": [{"key": name, "value": text.encode()} for name, text in line.headers] or None}
            for line in lines
            if line.kind == source.kind.value
        ]
        if source.parse and rows:
            parsed = source.parse(raw(spark, rows, kind=source.kind.value), Settings()).cache()
            outcomes.update(row.outcome for row in parsed.select("outcome").collect())
            silver |= {part.table: part.rows(parsed) for part in source.silver}
    nobodys = frame_of(spark, [], CLIENT_EVENTS.schema)
    fetches = pairing.fetches(silver[REQUESTS].filter("kind = 'follower'"), nobodys)
    gold = gold_of_clients(silver, fetches)

    assert outcomes == {KEPT: len(lines)}
    wanted = (TOPICS, LEADERSHIP_CHANGES, *PERF_TEST, *CLIENT_TABLES)
    assert [table.name for table in wanted if (silver | gold)[table].isEmpty()] == []


def test_a_move_is_met_by_both_clients():
    lines = [line.value for _, line in of_clients(3 * MOVES_EVERY_S)]

    assert sum(b'"errorCode":6' in line for line in lines) == 2 * len(CLIENTS)
    assert sum(b" starts at leader epoch " in line for line in lines) == 2 * len(PARTITIONS)
