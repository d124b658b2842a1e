"""`gold.produce_held`: lines that arrive late, twice and in parts give what is built at once."""

import pytest

from schemas.gold.produce_held import PRODUCE_HELD
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES
from schemas.silver.topics import TOPICS
from tests.engine.gold.gold_lab import GoldLab
from tests.transforms.gold.held_rows import at, fetch, part, produce, silver
from transforms.gold.produce_held.table import BUILD

N = 30
BY_NAME = [part(0, topic_id=None, topic_name="orders")]


@pytest.fixture
def lab(spark, tmp_path):
    return GoldLab.empty(spark, tmp_path, BUILD)


def lines():
    """Make a request a second, which follower 3 holds back, and the fetches of both followers."""
    made = []
    for k in range(N):
        second = 1_000.0 * k
        named = [BY_NAME[0] | {"offset": 10 + k}]
        made.append(produce(second, second + 11.5, parts=named))
        for follower, after_ms in ((2, 3.2), (3, 11.2)):
            made.append(fetch(second + after_ms, second + 1_001.2, 11 + k, follower, k + 1))
    return made


def arrive(lab, table, rows):
    frame = {name: [row.get(name) for row in rows] for name in table.schema.names}
    lab.arrive(table, [tuple(values) for values in zip(*frame.values(), strict=True)])
    lab.run()


def test_lines_in_any_order_and_a_late_name_give_what_is_built_at_once(lab):
    """The PRODUCE lines have names and the fetches ids, so without the name nothing fits."""
    made = lines()
    arrive(lab, REQUESTS, made[45:])
    assert {row["follower_id"] for row in lab.rows(PRODUCE_HELD)} == {None}
    arrive(lab, REQUESTS, made[:60])
    arrive(lab, TOPICS, silver([])[TOPICS])
    change = {
        "cluster": "lab",
        "logged_at": at(5_100.0),
        "leader_id": 1,
        "topic_name": "orders",
        "partition_index": 0,
    }
    arrive(lab, ISR_CHANGES, [change])
    event = {
        "cluster": "lab",
        "node_id": 3,
        "destination_id": 1,
        "client_id": "broker-3-fetcher-0",
        "api": "FETCH",
    }
    event |= {"follower_id": 3}
    seen = [
        event | {"correlation_id": 4, "direction": "received", "logged_at": at(4_003.0), "position": "a"},
        event | {"correlation_id": 5, "direction": "sent", "logged_at": at(4_009.0), "position": "b"},
    ]
    arrive(lab, CLIENT_EVENTS, seen)

    assert lab.gold() == lab.at_once()
    rows = lab.rows(PRODUCE_HELD)
    assert {(row["topic"], row["follower_id"]) for row in rows if row["n_released"]} == {("orders", 3)}
    assert sum(row["n_released"] for row in rows) == N
    assert [row["own_append_p50_ms"] for row in rows if row["own_append_p50_ms"]] == [
        pytest.approx(6.0, rel=0.011)
    ]
