"""Events of each kind, from made silver and gold, and their lane under a figure."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from answers.events.found import EVENTS, MOST, events
from answers.formats import NONE
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from tests.answers.selected import selected
from tests.transforms.gold import mean_rows, throttle_rows
from tests.transforms.gold.metric_rows import AT
from tests.transforms.gold.move_rows import case
from tests.transforms.gold.throttle_rows import MB, gold, idle, listing, rate, throttle
from tests.transforms.parse.records import DATA, record
from transforms.parse.leadership_changes import parse

TABLES = (LEADERSHIP_CHANGES, LEADER_LOCAL_MEAN, THROTTLE_COMPLIANCE, FETCH_LATENCY)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COLUMNS = ["at", "ended_at", "kind", "broker_id", "topic", "count", "what"]


def at(second):
    return AT + timedelta(seconds=second)


def change(  # noqa: PLR0913 (facts of a line)
    second, old, new, *, partition=0, broker=None, topic="orders", epoch=1, **more
):
    """Return a line of a broker's state-change log, by default that of the new leader."""
    broker = new if broker is None else broker
    row = {"cluster": "lab", "logged_at": at(second), "broker_id": broker, "topic_name": topic}
    row |= {"role": "leader" if broker == new else "follower", "leader_id": new, "leader_epoch": epoch}
    row |= {"previous_leader_id": old, "partition_index": partition, "first_offset": 5}
    return row | {"previous_leader_epoch": epoch - 1, "position": f"{broker}/{second}"} | more


def loaded(second, broker, *, partition=0, **more):
    """Return the line of a replica that a started broker loaded."""
    unknown = {"previous_leader_epoch": -1, "partition": partition}
    return change(second, None, 9, broker=broker, **unknown | more)


def found(rows, **filters):
    """Return the events of leadership changes."""
    return events(selected({LEADERSHIP_CHANGES: rows}, **filters))


def seconds(event, begin):
    """Return the two instants of an event in seconds after another one."""
    return [event[name] and (event[name] - begin).total_seconds() for name in ("at", "ended_at")]


def test_empty_tables_have_no_event():
    assert events(selected({})) == []


def test_rows_of_nulls_are_no_event():
    """The only known values are the cluster, and then the time too."""
    for row in ({"cluster": "lab"}, {"cluster": "lab", "window_start": at(0), "logged_at": at(0)}):
        rows = {table: [{name: row.get(name) for name in table.schema.names}] for table in TABLES}

        assert events(selected(rows)) == []


def test_rows_without_a_broker_are_no_event_next_to_others():
    limit = {"cluster": "lab", "window_start": at(0), "limited_from": at(1), "limit_bytes_per_s": MB}
    rates = [limit | {"broker_id": broker, "direction": "leader"} for broker in (None, 1)]
    nameless = [row | {"leader_id": row["leader_id"] or None} for row in fetches(*6 * [(1,)], (0, 1))]

    assert [row["broker_id"] for row in events(selected({THROTTLE_COMPLIANCE: rates}))] == [1]
    assert logs(nameless) == []


def test_many_moves_at_once_are_one_event_of_a_pair_of_brokers():
    moves = [change(3 + p / 10, 1, 2, partition=p) for p in range(12)]
    seen = [change(4 + p / 10, 1, 2, partition=p, broker=3) for p in range(12)]

    rows = found([*moves, *seen, change(5, 3, 2, partition=12)])

    assert rows == [
        dict(zip(COLUMNS, values, strict=True))
        for values in (
            (at(3), None, "leader_move", 1, "orders", 12,
             "12 partitions of orders moved their leader from broker 1 to broker 2"),
            (at(5), None, "leader_move", 3, "orders", 1,
             "1 partition of orders moved its leader from broker 3 to broker 2"),
        )
    ]  # fmt: skip


def test_moves_over_the_edge_of_a_window_are_one_event_and_later_ones_another():
    rows = found([change(second, 1, 2, partition=second) for second in (8, 12, 19, 22)])

    assert [(row["at"], row["count"]) for row in rows] == [(at(8), 3), (at(22), 1)]
    apart = found([change(second, 1, 2, partition=second) for second in (8, 18)])
    assert [row["at"] for row in apart] == [at(8), at(18)]


def test_moves_of_several_topics_name_no_topic():
    (row,) = found([change(1, 1, 2, topic=topic) for topic in ("audit", "orders")])

    assert (row["topic"], row["what"]) == (None, "2 partitions moved their leader from broker 1 to broker 2")


def test_the_leader_knows_the_previous_leader_better_than_a_follower_that_missed_a_change():
    leader, late = change(2, 2, 3), change(1, 1, 3, broker=4)

    assert [row["broker_id"] for row in found([late, leader])] == [2]
    assert [row["broker_id"] for row in found([late])] == [1]


def test_a_new_leader_without_a_memory_moved_from_the_leader_that_its_followers_know():
    assert [row["broker_id"] for row in found([change(1, None, 3), change(1, 2, 3, broker=4)])] == [2]


def test_a_leader_that_is_elected_again_did_not_move_even_if_a_follower_missed_it():
    assert found([change(1, 3, 3), change(2, 1, 3, broker=4)]) == []
    assert found([change(1, None, 3)]) == []


def test_partitions_without_any_leader_are_offline():
    (row,) = found([change(1, 2, -1, partition=p, broker=3) for p in range(2)])

    assert (row["kind"], row["broker_id"], row["count"]) == ("partitions_offline", 2, 2)
    assert row["what"] == "2 partitions of orders lost their leader, broker 2, and became offline"


def test_a_broker_is_on_either_side_of_a_move_and_a_topic_selects_its_moves():
    rows = [change(1, 1, 2), change(1, 2, 3, partition=1), change(1, 3, 1, topic="audit")]

    assert [row["count"] for row in found(rows, broker=2)] == [1, 1]
    assert [row["broker_id"] for row in found(rows, topic="audit")] == [3]
    assert found(rows, topic="' OR 1=1 --") == found(rows, cluster="other") == []


def test_an_event_belongs_to_the_span_in_which_it_begins():
    """Lines of its followers are after the begin of the span."""
    rows = [change(9, 1, 2), change(11, 1, 2, broker=3), change(10, 2, 1, topic="a"), change(20, 1, 3)]

    assert [row["at"] for row in found(rows, since=at(10), until=at(20))] == [at(10)]
    assert [row["at"] for row in found(rows, since=at(9), until=at(10))] == [at(9)]


def test_a_broker_that_loads_replicas_with_records_started():
    rows = found([loaded(30 * nth, 2, partition=nth) for nth in range(4)] + [loaded(400, 2)])

    assert [(row["at"], row["kind"], row["broker_id"], row["what"]) for row in rows] == [
        (at(0), "broker_restart", 2, "Broker 2 started"),
        (at(400), "broker_restart", 2, "Broker 2 started"),
    ]


@pytest.mark.parametrize(("pause_s", "starts"), [(60, 1), (61, 2)])
def test_replicas_that_are_loaded_within_a_minute_belong_to_one_start(pause_s, starts):
    assert len(found([loaded(0, 2), loaded(pause_s, 2, partition=1)])) == starts


def test_a_crash_of_a_real_broker_is_two_moves_and_a_start():
    """Lines of Kafka 4.3.1, in the logs of brokers 1 and 2."""
    parsed = [
        parse(record(line, node=f"broker-{re.search('id=([0-9]+)', line)[1]}")).rows["leadership_changes"][0]
        for line in DATA.joinpath("state-change-crash.txt").read_text().splitlines()
    ]
    rows = [
        row._asdict() | {"logged_at": EPOCH + timedelta(microseconds=row.logged_at), "logged_date": None}
        for row in parsed
    ]

    assert [(f"{row['at']:%T}", row["kind"], row["what"]) for row in found(rows)] == [
        ("18:36:04", "leader_move",
         "1 partition of lab-load moved its leader from broker 2 to broker 1"),
        ("18:36:04", "leader_move",
         "1 partition of lab-load moved its leader from broker 2 to broker 3"),
        ("18:36:11", "broker_restart", "Broker 2 started"),
    ]  # fmt: skip


def test_new_replicas_and_further_changes_are_no_start():
    assert found([loaded(0, 2, first_offset=0), loaded(1, 2, partition=1, previous_leader_epoch=0)]) == []


def restarted():
    """Return gold of a broker whose process starts at 9 s; the next scrape is at 13 s."""
    broker = mean_rows.aged()
    broker.restart(9.0)
    broker.serve(20, total_ms=5)
    broker.scrape(13)
    return mean_rows.gold_of(mean_rows.silver(broker))


def test_a_restart_has_the_start_of_the_process_and_its_loaded_replicas_are_the_same_restart():
    tables = {LEADER_LOCAL_MEAN: restarted(), LEADERSHIP_CHANGES: [loaded(60, 1), loaded(60, 3)]}

    assert [(row["at"], row["broker_id"]) for row in events(selected(tables))] == [(at(9), 1), (at(60), 3)]
    assert [row["broker_id"] for row in events(selected(tables, broker=3))] == [3]
    assert events(selected(tables, since=at(10), until=at(60))) == []


@pytest.mark.parametrize(("second", "starts"), [(8, 2), (9, 1), (608, 1), (609, 2)])
def test_replicas_loaded_before_a_process_starts_or_ten_minutes_later_are_another_start(second, starts):
    row = {"cluster": "lab", "window_start": at(10), "broker_id": 1, "from_at": at(9)}
    tables = {LEADER_LOCAL_MEAN: [row | {"is_reset": True, "n": 4}], LEADERSHIP_CHANGES: [loaded(second, 1)]}

    assert len(events(selected(tables))) == starts


def test_scrapes_without_a_restart_and_another_process_of_the_same_name_are_no_event():
    row = {"cluster": "lab", "window_start": at(10), "broker_id": 1, "from_at": at(3)}

    for more in ({"is_reset": False, "n": 4}, {"is_reset": True, "n": None}):
        assert events(selected({LEADER_LOCAL_MEAN: [row | more]})) == []


def throttles(*changes, requests=range(0, 60, 5)):
    """Return the events of throttles, from gold that is built from the changes."""
    built = gold(requests=[idle(second + 0.5) for second in requests], changes=changes)
    rows = events(selected({THROTTLE_COMPLIANCE: built[THROTTLE_COMPLIANCE]}))
    return [(*seconds(row, throttle_rows.AT), row["kind"], row["what"]) for row in rows]


def test_a_throttle_of_several_brokers_is_set_once_and_removed_once():
    removed = [change | {"operation": "delete"} for change in throttle(33, None)]

    assert throttles(*throttle(12, 5 * MB), *removed) == [
        (12, 33, "throttle_set",
         "Throttle of 5.00 MB/s (leader and follower) set on brokers 1 and 2"),
        (33, None, "throttle_removed",
         "Throttle of 5.00 MB/s (leader and follower) removed from brokers 1 and 2"),
    ]  # fmt: skip


def test_a_throttle_whose_list_stays_is_removed_with_its_rate():
    changes = rate(12, MB), rate(33, None), listing(11, "0:1")

    assert [row[:3] for row in throttles(*changes)] == [
        (12, 33, "throttle_set"),
        (33, None, "throttle_removed"),
    ]


def test_a_rate_that_another_one_replaces_is_not_removed():
    rows = throttles(rate(12, 5 * MB), rate(33, 8 * MB))

    assert [row[:3] for row in rows] == [(12, 33, "throttle_set"), (33, None, "throttle_set")]
    assert rows[1][3] == "Throttle of 8.00 MB/s (leader) set on broker 1"


def test_a_throttle_that_was_set_long_before_is_no_event_until_it_is_removed():
    row = {"cluster": "lab", "broker_id": 1, "direction": "leader", "limit_bytes_per_s": MB}
    row |= {"limited_from": at(-90_000)}
    windows = [row | {"window_start": at(0), "on_until": at(10)}]

    assert events(selected({THROTTLE_COMPLIANCE: windows}, since=at(0), until=at(60))) == []
    windows.append(row | {"window_start": at(10), "on_until": at(14)})
    (end,) = events(selected({THROTTLE_COMPLIANCE: windows}, since=at(0), until=at(60)))
    assert (end["at"], end["kind"], end["broker_id"]) == (at(14), "throttle_removed", 1)


def test_a_reassignment_lasts_until_its_last_copy_is_in_sync():
    begin = throttle_rows.AT
    built = selected({REASSIGNMENT_PROGRESS: gold(**case())[REASSIGNMENT_PROGRESS]})

    (row,) = events(built)
    assert (row["at"], row["ended_at"]) == (begin + timedelta(seconds=0.9), begin + timedelta(seconds=121.6))
    assert (row["kind"], row["count"], row["broker_id"]) == ("reassignment", 1, None)
    assert row["what"] == "Reassignment of 1 partition: done"

    later = replace(built, since=begin + timedelta(seconds=60), until=begin + timedelta(seconds=90))
    assert [row["what"] for row in events(later)] == ["Reassignment of 1 partition: under way"]
    before = replace(built, since=begin - timedelta(seconds=60), until=begin + timedelta(seconds=0.9))
    after = replace(built, since=begin + timedelta(seconds=130), until=begin + timedelta(seconds=190))
    assert events(before) == events(after) == []


def fetches(*windows, nodes=None, settled=True):
    """Return windows; each has the brokers that served followers, from the first one on."""
    return [
        {"cluster": "lab", "window_start": at(10 * nth), "leader_id": broker, "kind": "follower"}
        | {"follower_id": 99, "nodes_reporting": nodes or len(brokers), "is_settled": settled}
        for nth, brokers in enumerate(windows)
        for broker in brokers
    ]


def logs(rows, **filters):
    return [
        (*seconds(row, AT), row["kind"], row["broker_id"])
        for row in events(selected({FETCH_LATENCY: rows}, **filters))
    ]


def test_a_request_log_that_begins_after_those_of_other_brokers_is_switched_on():
    rows = fetches(*6 * [(1,)], *3 * [(1, 2)])

    assert logs(rows) == [(60, None, "log_on", 2)]
    assert logs(fetches(*5 * [(1,)], *3 * [(1, 2)])) == []
    assert logs(rows, broker=1) == logs(rows, since=at(61), until=at(90)) == []
    assert logs(rows, since=at(60), until=at(90)) == [(60, None, "log_on", 2)]


def test_a_request_log_that_ends_before_those_of_other_brokers_is_switched_off():
    rows = fetches(*3 * [(1, 2)], *6 * [(1,)])

    assert logs(rows) == logs(rows, since=at(30), until=at(31)) == [(30, None, "log_off", 2)]
    assert logs(fetches(*3 * [(1, 2)], *5 * [(1,)])) == []


def test_a_pause_of_all_request_logs_is_one_end_and_one_begin():
    rows = fetches(*3 * [(1, 2)], *6 * [()], (1, 2))

    assert logs(rows) == [(30, 90, "log_off", None), (90, None, "log_on", None)]
    assert [event["what"] for event in events(selected({FETCH_LATENCY: rows}))] == [
        "The request log of brokers 1 and 2 ends: switched off, or not running",
        "The request log of brokers 1 and 2 begins",
    ]
    assert logs(fetches(*3 * [(1, 2)], *5 * [()], (1, 2))) == []


def test_a_broker_that_serves_no_fetch_may_log_others():
    """Two brokers logged in the windows in which only one served fetches."""
    idle_in_between = fetches(*3 * [(1, 2)], *9 * [(1,)], (1, 2), nodes=2)

    assert logs(idle_in_between) == []
    unknown = [row | {"nodes_reporting": None} for row in fetches(*3 * [(1, 2)], *9 * [(1,)])]
    assert logs(unknown) == []


def test_windows_whose_logs_are_not_all_read_show_no_end():
    late = [row | {"is_settled": row["window_start"] < at(30)} for row in fetches(*3 * [(1, 2)], *9 * [(1,)])]

    assert logs(late) == []


def test_a_consumer_that_stops_is_no_end_of_a_log():
    rows = fetches(*3 * [(1,)], *9 * [()], (1,))

    assert logs([row | {"kind": "consumer", "follower_id": None} for row in rows]) == []


def test_many_brokers_are_counted():
    (row,) = events(selected({FETCH_LATENCY: fetches(*6 * [(1,)], range(1, 9))}))

    assert (row["what"], row["count"]) == ("The request log of 7 brokers begins", 7)
    (row,) = events(selected({FETCH_LATENCY: fetches(*6 * [(1,)], range(1, 8))}))
    assert row["what"] == "The request log of brokers 2, 3, 4, 5, 6 and 7 begins"


def test_more_events_than_the_maximum_are_counted_and_rare_and_large_ones_are_kept():
    moves = [change(20 * nth, 1, 2, epoch=nth + 1) for nth in range(MOST + 50)]
    large = [change(60_000, 1, 2, partition=p) for p in (1, 2)]

    rows = found([*moves, *large, loaded(65_000, 3)])

    *kept, more = rows
    assert len(kept) == MOST
    assert [row["at"] for row in kept] == sorted(row["at"] for row in kept)
    assert [(row["kind"], row["count"]) for row in kept[-2:]] == [("leader_move", 2), ("broker_restart", 1)]
    assert (more["kind"], more["count"]) == ("more", 52)
    assert more["what"] == "and 52 more events: leader move (52)"
    left_out = sorted({row["logged_at"] for row in moves} - {row["at"] for row in kept})
    assert (more["at"], more["ended_at"]) == (left_out[0], left_out[-1])


def test_exactly_the_maximum_is_listed():
    rows = found([change(20 * nth, 1, 2, epoch=nth + 1) for nth in range(MOST)])

    assert [row["kind"] for row in rows] == MOST * ["leader_move"]


def test_events_are_a_listing_for_people():
    (row,) = EVENTS.listed(found([change(1, 1, 2)])).rows

    assert [column.cell(row) for column in EVENTS.columns] == [
        "2026-11-21 11:20:01",
        NONE,
        "1 partition of orders moved its leader from broker 1 to broker 2",
        "broker 1",
    ]
