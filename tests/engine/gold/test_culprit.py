"""Culprits in a warehouse: in any order of windows, the verdicts equal those of one build."""

from datetime import datetime, timedelta
from itertools import permutations

import pytest

from engine.delta import tables
from engine.gold.culprit import culprit_tables, culprits_of
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import GoldLab
from tests.transforms.gold.silver_rows import as_rows, at, joined, stream_of
from transforms.frames import frame_of
from transforms.gold.fetch_latency.build import BUILD
from transforms.spans import spans_of

BEFORE_NOON = datetime(2026, 11, 21, 11, 50)
NOON = 60
SLOW = range(46, 84)


def window_rows(nth, *, pairs=((2, 1), (3, 1), (1, 2), (3, 2), (1, 3), (2, 3)), settled=True):
    """Yield the paired rows of a window (10 s each, from 11:50 on); 2 -> 1 is slow for a while."""
    for follower, leader in pairs:
        is_slow = (follower, leader) == (2, 1) and nth in SLOW
        rtt = 1.0 + 0.1 * ((nth * 7 + follower * 3 + leader) % 5) + 10.0 * is_slow
        values = {
            "cluster": "lab",
            "window_start": BEFORE_NOON + timedelta(seconds=10 * nth),
            "follower_id": follower,
            "leader_id": leader,
            "method": "paired",
            "n": 20,
            "rtt_p10_ms": rtt - 0.2,
            "rtt_p50_ms": rtt,
            "clock_resolution_ms": 1e-6,
            "nodes_expected": 3,
            "nodes_reporting": 3,
            "is_settled": settled,
        }
        yield tuple(values.get(name) for name in BROKER_RTT.schema.names)


class CulpritWarehouse:
    """A warehouse whose windows arrive in the order of the test."""

    def __init__(self, spark, root):
        """Create `broker_rtt`."""
        self.spark, self.root = spark, root
        for table in (BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT):
            tables.ensure(spark, root, table)
        self.writer = culprits_of(root)

    def arrive(self, numbers, **more):
        """Replace these windows and rebuild the verdicts that depend on them."""
        rows = [row for nth in numbers for row in window_rows(nth, **more)]
        starts = sorted({row[1] for row in rows})
        spans = spans_of(int((at - datetime(1970, 1, 1)).total_seconds()) for at in starts)
        frame = frame_of(self.spark, rows, BROKER_RTT.schema)
        tables.replace(frame, self.root, BROKER_RTT, column="window_start", spans=spans)
        self.writer.rebuild(spans)

    def read(self, table):
        """Return a table as comparable rows."""
        return as_rows(tables.read(self.spark, self.root, table))


@pytest.fixture(scope="module")
def filled(spark, tmp_path_factory):
    """Return a site with 16 minutes around noon: six windows first unsettled, one late, one restart."""
    there = CulpritWarehouse(spark, tmp_path_factory.mktemp("warehouse"))
    there.arrive(range(40), pairs=((2, 1), (3, 1), (1, 2), (3, 2), (1, 3)))
    there.arrive(range(40, 58))
    there.arrive(range(58, 64), settled=False)
    there.arrive([*range(58, 64), *range(64, 76)])
    there.writer = culprits_of(there.root)
    there.arrive(range(76, 96))
    there.arrive(range(30, 33))
    return there


def test_verdicts_equal_those_of_all_windows_judged_at_once(filled):
    """So do the baselines of the hour, though part of its history arrived after its first windows."""
    whole = culprit_tables(tables.read(filled.spark, filled.root, BROKER_RTT).toArrow())

    for table in (BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT):
        at_once = filled.spark.createDataFrame(whole[table], schema=table.schema)
        assert filled.read(table) == as_rows(at_once)


def test_the_slow_link_is_named_since_its_onset_and_no_longer_than_it_lasts(filled):
    rows = {
        (row["window_start"] - BEFORE_NOON).total_seconds() // 10: row
        for row in filled.read(BROKER_RTT_CULPRIT)
    }
    named = {nth: row for nth, row in rows.items() if row["culprit"] == "link"}

    assert min(named) <= SLOW.start + 1
    assert max(named) <= SLOW.stop + 1
    assert {(row["follower_id"], row["leader_id"], row["since"]) for row in named.values()} == {
        (2, 1, BEFORE_NOON + timedelta(seconds=10 * SLOW.start))
    }
    assert all(row["culprit"] == "none" for nth, row in rows.items() if nth < SLOW.start)


def test_hour_is_judged_against_the_quiet_windows_before_it(filled):
    """The fault lasts past noon; accused windows are no history, or the culprit would be acquitted."""
    levels = {(row["follower_id"], row["leader_id"]): row for row in filled.read(BROKER_RTT_BASELINE)}
    accused = {
        nth
        for row in filled.read(BROKER_RTT_CULPRIT)
        if row["culprit"] == "link"
        and (nth := (row["window_start"] - BEFORE_NOON).total_seconds() // 10) < NOON
    }

    quiet = NOON - len(accused)
    assert len(accused) >= NOON - SLOW.start - 2
    assert {pair: row["windows"] for pair, row in levels.items()} == dict.fromkeys(levels, quiet) | {
        (2, 3): quiet - 40 + 3  # which was seen late
    }
    assert levels[2, 1]["p50_ms"] == pytest.approx(1.2)


MINUTES_TO_NOON = 40  # from `START`


def seven_minutes(follower, leader):
    """Return silver of the fetches of a pair, from 11:57 to 12:04; 2 -> 1 is slow by 10 ms from 12:01 on."""
    slow_by = 10.0 * ((follower, leader) == (2, 1))
    begin, change = ((MINUTES_TO_NOON + minute) * 60 + 0.6 for minute in (-3, 1))
    names = {"follower": follower, "leader": leader}
    return joined(
        stream_of(478, first=begin, **names),
        stream_of(350, first=change, rtt_ms=1.0 + slow_by, start_id=478, **names),
    )


def test_lines_that_arrive_in_parts_and_late_accuse_the_link_that_all_lines_at_once_accuse(spark, tmp_path):
    """Baselines and culprits follow the builder: they change with late round trips of the hour before."""
    lab = GoldLab.empty(spark, tmp_path, BUILD)
    silver = joined(*(seven_minutes(*pair) for pair in permutations((1, 2, 3), 2)))
    is_part = {
        "begin": lambda second: second < 138 or 151 <= second < 230,
        "slow": lambda second: second >= 230,
        "late": lambda second: 138 <= second < 151,
    }
    culprits = {}
    for part, is_in in is_part.items():
        for table, rows in zip((REQUESTS, CLIENT_EVENTS), silver, strict=True):
            since = at((MINUTES_TO_NOON - 3) * 60)
            lab.arrive(table, [row for row in rows if is_in((row[2] - since).total_seconds())])
        lab.run()
        culprits[part] = lab.rows(BROKER_RTT_CULPRIT)

    assert lab.gold() == lab.at_once()
    assert all(lab.gold().values())
    assert culprits["slow"] != culprits["late"]
    assert {(row["culprit"], row["follower_id"], row["leader_id"]) for row in culprits["late"]} == {
        ("none", None, None),
        ("link", 2, 1),
    }
