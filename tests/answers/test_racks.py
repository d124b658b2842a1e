"""The racks of brokers, and the round trips between racks."""

from datetime import UTC, datetime, timedelta

from answers.formats import NONE
from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.slow_links.racks import RACK_PAIRS, by_rack, rack_pairs, racks
from collectors.files import discover
from engine.ingest.raw_files import Origin, write_raw
from schemas.silver.brokers import BROKERS
from serving.report.run.gold_of_files import rows_of_files
from tests.answers.selected import selected
from tests.transforms.parse.records import REQUEST_LINES

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def seen(broker, rack, hours=0, cluster="lab"):
    return {"cluster": cluster, "broker_id": broker, "rack": rack, "logged_at": AT + timedelta(hours=hours)}


def pair(follower, leader, rtt_ms, n=100, method="paired"):
    return {"follower_id": follower, "leader_id": leader, "method": method, "rtt_ms": rtt_ms, "n": n}


def test_the_newest_rack_of_each_broker_of_the_cluster_counts():
    rows = [seen(1, "a"), seen(1, "b", 24), seen(1, "a", -24), seen(2, "a"), seen(3, "z", cluster="other")]

    assert racks(selected({BROKERS: rows})) == {1: "b", 2: "a"}


def test_a_broker_that_lost_its_rack_has_none():
    assert racks(selected({BROKERS: [seen(1, "a"), seen(1, None, 24), seen(2, None)]})) == {}


def test_a_warehouse_without_the_table_knows_no_rack(east):
    assert racks(east) == {}
    assert rack_pairs([pair(1, 2, 3.0)], {}) == []


def test_a_report_of_raw_files_knows_the_racks_in_their_metadata(tmp_path):
    folder = tmp_path / "logs"
    (folder / "broker-1").mkdir(parents=True)
    line = REQUEST_LINES["METADATA"].replace(b'"port":19192,"rack":null', b'"port":19192,"rack":"east-1a"')
    (folder / "broker-1" / "kafka-request.log").write_bytes(line + b"\n")
    origin = Origin(folder=folder, cluster="lab", time_zone="UTC")
    write_raw(discover(folder).understood, origin, tmp_path / "raw", on_file=lambda _file: None)

    gold = GoldReader.of_rows(rows_of_files(tmp_path / "raw", tmp_path / "scratch", {}))

    assert racks(GoldSelection(gold=gold, cluster="lab")) == {2: "east-1a"}


def test_brokers_are_ordered_by_rack_and_number():
    assert by_rack([10, 9, 3, 2, 1], {10: "a", 9: "a", 1: "b", 2: "b"}) == [9, 10, 1, 2, 3]


def test_each_pair_of_racks_has_the_median_and_the_maximum_of_its_broker_pairs():
    places = {1: "a", 2: "a", 3: "b", 4: "b"}
    rows = [
        pair(3, 1, 9.0, n=10),
        pair(3, 2, 1.0, n=20),
        pair(4, 1, 2.0, n=40),
        pair(4, 2, None, n=5),
        pair(1, 2, 0.5, method="passive"),
        pair(1, 3, None, n=5),
        pair(5, 1, 7.0),
    ]

    found = rack_pairs(rows, places)

    assert [list(row.values()) for row in found] == [
        ["paired", "a", "b", 1, 0, None, None, 0],
        ["paired", "b", "a", 4, 3, 2.0, 9.0, 70],
        ["paired", None, "a", 1, 1, 7.0, 7.0, 100],
        ["passive", "a", "a", 1, 1, 0.5, 0.5, 100],
    ]
    cells = [[column.cell(row) for column in RACK_PAIRS.columns] for row in found]
    assert cells[1] == ["b", "a", "paired", "2.00", "9.00", "4", "3", "70"]
    assert cells[2][0] == cells[0][3] == NONE


def test_of_two_rows_of_one_instant_the_later_line_counts():
    rows = [seen(1, rack) | {"position": f"broker-1/f/{nth}"} for nth, rack in enumerate("ab")]

    assert racks(selected({BROKERS: rows})) == racks(selected({BROKERS: rows[::-1]})) == {1: "b"}
