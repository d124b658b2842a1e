"""Gold about clients from silver: what arrives late, in parts and in another order gives the same gold."""

from datetime import timedelta

import pytest

from engine.delta import tables
from engine.gold.inputs import WarehouseTables
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.engine.gold.gold_lab import GoldLab, arrived_at
from tests.transforms.gold.leader_redirect.test_disconnect import END, FOUND, TAKEN, WORK, alive
from tests.transforms.gold.redirect_rows import AT, MOVE, began, lookup, request
from tests.transforms.gold.silver_rows import START, arrow, stream_of
from transforms.gold.leader_redirect import build as leader_redirect
from transforms.gold.metadata_lookup import table as metadata_lookup
from transforms.gold.partition_skew import table as partition_skew
from transforms.spans import Span, window_of
from transforms.sql import Rows

NOON = window_of(AT.timestamp())


BUILDS = (partition_skew.BUILD, leader_redirect.BUILD, metadata_lookup.BUILD)


def arrived(of, slot, *touches):
    return arrived_at(of, NOON + slot, *touches)


def windows(*seconds):
    return {NOON + second for second in seconds}


class KnownWarehouse:
    """Tables with a redirect in some windows, and a takeover in others."""

    def __init__(self, redirects, takeovers):
        """Remember the windows."""
        self._redirects, self._takeovers = set(redirects), set(takeovers)

    def windows(self, table, among):
        """Return those windows with a redirect."""
        assert table is LEADER_REDIRECT
        return self._redirects & among

    def rows(self, table, columns, among):
        """Return the takeovers in those windows."""
        changes = [
            began((window - NOON) * 1_000, 2, previous_leader_id=1) for window in self._takeovers & among
        ]
        return arrow(table, changes).select(columns).to_reader()


def touched(rows, *, newest=900, redirects=(), takeovers=()):
    """Return the windows of each table that new rows touch."""
    found = {build.name: build.touched(rows, NOON + newest) for build in BUILDS}
    known = KnownWarehouse(redirects, takeovers)
    of_redirects = leader_redirect.Redirects(known).windows(found["leader_redirect"], rows)
    found = {name: set().union(*of) for name, of in found.items()} | {"leader_redirect": of_redirects}
    return {name: of for name, of in found.items() if of}


def test_lines_touch_the_tables_of_their_kind_alone():
    assert touched([arrived(REQUESTS, 0), arrived(LEADERSHIP_CHANGES, 0)]) == {}
    assert touched([arrived(REQUESTS, 0, "metadata_lookup_0")]) == {"metadata_lookup": windows(0)}
    found = touched([arrived(REQUESTS, 0, "partition_skew_0")])
    assert found == {"partition_skew": windows(-10, 0, 10)}


def test_error_touches_a_minute_on_either_side():
    found = touched([arrived(REQUESTS, 0, "leader_redirect_0", "metadata_lookup_1")])

    assert found["leader_redirect"] == windows(*range(-60, 70, 10))
    assert found["metadata_lookup"] == windows(0, 10)


REQUEST, CHANGE, EVENT = (f"leader_redirect_{n}" for n in (4, 5, 6))
"""The touches of any line of the three logs."""


def test_any_line_near_a_redirect_can_be_its_end_or_its_cause_or_show_a_clock():
    events = windows(0, 300)

    for row in (
        arrived(REQUESTS, 60, REQUEST),
        arrived(LEADERSHIP_CHANGES, -60, CHANGE),
        arrived(CLIENT_EVENTS, -90, EVENT),
    ):
        assert touched([row], redirects=events) == {"leader_redirect": windows(0)}
    far = [
        arrived(REQUESTS, 70, REQUEST),
        arrived(REQUESTS, -70, REQUEST),
        arrived(CLIENT_EVENTS, -110, EVENT),
    ]
    assert touched(far, redirects=events) == {}


def test_takeover_touches_the_minute_before_it():
    found = touched([arrived(LEADERSHIP_CHANGES, 0, "leader_redirect_1")])

    assert found == {"leader_redirect": windows(*range(-60, 10, 10))}


def test_any_line_near_a_takeover_touches_the_windows_before_it_that_it_is_near():
    events = windows(0, 500)

    for slot, near in ((-120, [-60]), (-10, range(-60, 10, 10)), (60, [0])):
        found = touched([arrived(REQUESTS, slot, REQUEST)], takeovers=events)
        assert found == {"leader_redirect": windows(*near)}
    far = [arrived(REQUESTS, slot, REQUEST) for slot in (-130, 70)]
    assert touched(far, takeovers=events) == {}


def test_run_touches_all_since_its_start_but_of_redirects_only_those_that_are_known():
    run = arrived(RUNS, 0, "partition_skew_1", "metadata_lookup_2", "leader_redirect_2")

    since = windows(0, 10, 20)
    assert touched([run], newest=20) == {"partition_skew": since, "metadata_lookup": since}
    assert touched([run], newest=20, redirects=windows(20, 40))["leader_redirect"] == windows(20)


def test_topic_name_touches_from_five_minutes_before_it_to_an_hour_after_it():
    found = touched([arrived(TOPICS, 0, "partition_skew_2", "leader_redirect_3")], newest=9_000)
    assert found == {"partition_skew": windows(*range(-310, 3_620, 10))}

    name = arrived(TOPICS, 0, "leader_redirect_3")
    near = windows(-360, 3_660)
    assert touched([name], newest=9_000, redirects=near | windows(-370, 3_670)) == {"leader_redirect": near}


@pytest.fixture(scope="module")
def empty_lab(spark, tmp_path_factory):
    return GoldLab.empty(spark, tmp_path_factory.mktemp("empty"), *BUILDS)


@pytest.fixture
def lab(empty_lab, tmp_path):
    return empty_lab.copied(tmp_path)


RUN = {"cluster": "lab", "run": "r1", "arm": "new", "client_id": "c", "position": "r/1"}
RUN |= {"started_at": AT - timedelta(seconds=5), "topic_name": "t"}
LINES = [*MOVE, lookup(12), request(30_000, 2), request(95_000, 2)]


def test_parts_in_any_order_give_what_is_built_at_once(lab):
    """First the success, then the error before it, then who ran it, then when the leader began."""
    for table, rows in (
        (REQUESTS, [line for line in LINES if line["broker_id"] == 2]),
        (REQUESTS, [line for line in LINES if line["broker_id"] == 1]),
        (RUNS, [RUN]),
        (LEADERSHIP_CHANGES, [began(14, 2)]),
        (RUNS, [RUN | {"ended_at": AT + timedelta(seconds=60), "position": "r/2"}]),
    ):
        lab.arrive(table, rows)
        lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    (event,) = gold["leader_redirect"]
    assert (event["redirect_ms"], event["not_ready_ms"], event["run"]) == (5.0, 0.0, "r1")
    assert [row["run"] for row in gold["partition_skew"]] == ["r1", "r1", "r1", None]
    assert [row["lookups_after_error"] for row in gold["metadata_lookup"]] == [1]


def test_run_that_is_told_last_names_its_redirects(lab):
    lab.arrive(REQUESTS, LINES)
    lab.run()
    lab.arrive(RUNS, [RUN | {"ended_at": AT + timedelta(seconds=60)}])
    lab.run()

    assert [row["run"] for row in lab.gold()["leader_redirect"]] == ["r1"]
    assert lab.gold() == lab.at_once()


def test_span_built_again_is_the_same_and_nothing_new_writes_nothing(lab):
    lab.arrive(REQUESTS, LINES)
    lab.run()
    before = lab.gold()

    lab.run()
    lab.builder().rebuild_span(Span(NOON - 60, NOON + 120))

    assert lab.gold() == before
    assert len(before["leader_redirect"]) == 1


def test_leader_that_died_is_known_by_its_silence_until_lines_tell_that_it_lived(lab):
    lab.arrive(REQUESTS, [*WORK, END])
    lab.arrive(LEADERSHIP_CHANGES, [*TAKEN, began(12_000, 3, partition_index=7)])
    lab.run()
    assert lab.gold()["leader_redirect"] == []

    lab.arrive(REQUESTS, [FOUND])
    lab.run()
    (event,) = lab.gold()["leader_redirect"]
    assert (event["kind"], event["redirect_ms"]) == ("disconnect", 9_101.0)
    assert lab.gold() == lab.at_once()

    lab.arrive(REQUESTS, [alive(11_500)])
    lab.run()
    assert lab.gold()["leader_redirect"] == lab.at_once()["leader_redirect"] == []


ID = "AAAAAAAAAAAAAAAAAAAAAg"
NAMED = {"cluster": "lab", "topic_id": ID, "topic_name": "t", "seen_at": AT + timedelta(seconds=290)}


def by_id(line):
    """Return a line in which partitions of `t` have the id of their topic."""
    parts = line["partitions"] or []
    by_id = [
        part | {"topic_name": None, "topic_id": ID} if part["topic_name"] == "t" else part for part in parts
    ]
    return line | {"partitions": by_id}


def test_a_topic_that_is_named_last_has_its_name_in_the_windows_before(lab):
    lab.arrive(REQUESTS, [by_id(line) for line in LINES])
    lab.run()
    before = lab.gold()
    lab.arrive(TOPICS, [NAMED])
    lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    for table in ("partition_skew", "leader_redirect"):
        assert {row["topic"] for row in before[table]} == {ID}
        assert {row["topic"] for row in gold[table]} == {"t"}


def test_a_dead_leader_is_found_when_its_topic_is_named(lab):
    """The state-change log has the name of the topic, the requests have its id."""
    lab.arrive(REQUESTS, [by_id(line) for line in (*WORK, END, FOUND)])
    lab.arrive(LEADERSHIP_CHANGES, TAKEN)
    lab.run()
    assert lab.gold()["leader_redirect"] == []

    lab.arrive(TOPICS, [NAMED])
    lab.run()
    assert [row["kind"] for row in lab.gold()["leader_redirect"]] == ["disconnect"]
    assert lab.gold() == lab.at_once()


def test_a_client_log_that_arrives_last_corrects_the_clocks(lab):
    """Fetches between the leaders show their clocks, if the lines of both ends are known."""
    fetches, events = stream_of(20, first=(AT - START).total_seconds() - 5, leader=2, follower=1)
    lab.arrive(REQUESTS, LINES)
    lab.arrive(REQUESTS, fetches)
    lab.run()
    (before,) = lab.gold()["leader_redirect"]
    lab.arrive(CLIENT_EVENTS, events)
    lab.run()

    (event,) = lab.gold()["leader_redirect"]
    assert before["clock_bound_ms"] is None
    assert event["clock_bound_ms"] is not None
    assert lab.gold() == lab.at_once()


def test_a_line_looks_up_the_redirects_and_takeovers_near_it_alone(tmp_path, monkeypatch):
    """Twenty days have a redirect and a takeover at noon; a line arrives a minute after those of one day."""
    for day in range(20):
        noon = timedelta(days=day)
        redirect = {"cluster": "lab", "window_start": AT + noon, "errored_at": AT + noon}
        takeover = began(0, 2, previous_leader_id=1) | {"logged_at": AT + noon}
        for table, row in ((LEADER_REDIRECT, redirect), (LEADERSHIP_CHANGES, takeover)):
            tables.append_rows(arrow(table, [row]), tmp_path, table, txn_app_id=str(day))
    read, query = [], Rows.query

    def counted(self, rows):
        read.append(self.source.num_rows)
        return query(self, rows)

    monkeypatch.setattr(Rows, "query", counted)
    day_s = 5 * 24 * 3_600
    lines = [arrived(REQUESTS, day_s + 60, REQUEST)]
    near = leader_redirect.BUILD.touched(lines, NOON + 20 * day_s)
    found = leader_redirect.Redirects(WarehouseTables(tmp_path)).windows(near, lines)

    assert found == windows(day_s)
    assert sum(read) == 2
