"""Delta tables by path."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from deltalake.table import TableAlterer
from pyspark.errors import AnalysisException
from pyspark.sql.types import LongType, StringType, StructType, TimestampType

from conf.exit_codes import HeldError
from engine.delta import commits, log_entries, small_files, tables
from engine.delta.log_state import REWRITING, entry_file
from engine.process.lease import MAINTENANCE, lease
from schemas.arrow import arrow_schema
from schemas.bronze import BRONZE
from schemas.fields import Table, column
from schemas.gold import GOLD
from schemas.silver import SILVER
from schemas.silver.requests import REQUESTS
from transforms.frames import frame_of
from transforms.spans import Span
from transforms.sql import connect
from transforms.windows import Reach

LAG = Table(
    layer="silver",
    name="lag",
    about="Lag of a group.",
    key=("group",),
    schema=StructType(
        [
            column("group", StringType(), "consumer group"),
            column("lag", LongType(), "records"),
            column("at", TimestampType(), "instant"),
        ]
    ),
)


def first_entry(file):
    """Return the actions of a log entry by name."""
    return {
        name: action for line in file.read_text().splitlines() for name, action in json.loads(line).items()
    }


def test_a_missing_table_reads_as_an_empty_frame_with_its_schema(spark, tmp_path):
    frame = tables.read(spark, tmp_path, LAG)

    assert frame.schema == LAG.schema
    assert frame.count() == 0


@pytest.mark.parametrize("table", [*BRONZE, *SILVER, *GOLD], ids=lambda table: f"{table.layer}.{table.name}")
def test_every_table_is_created_for_any_reader_with_its_comments_and_partitions(spark, tmp_path, table):
    tables.ensure(spark, tmp_path, table)
    tables.ensure(spark, tmp_path, table)

    [entry] = (Path(tables.path(tmp_path, table)) / "_delta_log").glob("*.json")
    actions = first_entry(entry)
    metadata = actions["metaData"]
    assert actions["protocol"] == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert metadata["description"] == table.about
    assert tuple(metadata["partitionColumns"]) == table.partition_by
    assert json.loads(metadata["schemaString"]) == table.schema.jsonValue()
    assert metadata["configuration"].items() >= tables.PROPERTIES.items()
    assert tables.read(spark, tmp_path, table).schema == table.schema


def test_spark_reads_the_declared_schema(spark, tmp_path):
    tables.make(tmp_path, REQUESTS)

    detail = spark.sql(f"DESCRIBE DETAIL delta.`{tables.path(tmp_path, REQUESTS)}`").first()
    assert (detail.minReaderVersion, detail.minWriterVersion) == (1, 2)
    assert (detail.description, detail.partitionColumns) == (REQUESTS.about, ["logged_date"])
    assert detail.properties["delta.dataSkippingStatsColumns"] == "logged_at,started_at"


def test_an_append_with_the_same_application_and_version_writes_once(spark, tmp_path):
    tables.ensure(spark, tmp_path, LAG)
    frame = frame_of(spark, [("g", 1, None)], LAG.schema)

    written = [
        tables.append(frame, tmp_path, LAG, txn_app_id=app, txn_version=0) for app in ("app", "app", "other")
    ]

    assert written == [True, False, True]
    assert tables.read(spark, tmp_path, LAG).count() == 2


def test_a_table_gains_the_columns_its_schema_has_gained(spark, tmp_path):
    tables.ensure(spark, tmp_path, LAG)
    grown = dataclasses.replace(LAG, schema=StructType([*LAG.schema, column("seen", LongType(), "more")]))

    tables.ensure(spark, tmp_path, grown)

    assert tables.read(spark, tmp_path, grown).columns == ["group", "lag", "at", "seen"]


def test_statistics_are_kept_for_instants_only(spark, tmp_path):
    tables.ensure(spark, tmp_path, LAG)

    [entry] = (tmp_path / "silver" / "lag" / "_delta_log").glob("*.json")
    assert first_entry(entry)["metaData"]["configuration"]["delta.dataSkippingStatsColumns"] == "at"


def test_jobs_that_start_at_the_same_time_create_a_table_once(spark, tmp_path):
    """Ingest and gold create the same tables at start; threads in one process have the same race."""
    start = Barrier(4)

    def make(_):
        start.wait()
        tables.ensure(spark, tmp_path, LAG)

    with ThreadPoolExecutor(4) as jobs:
        list(jobs.map(make, range(4)))

    assert DeltaTable(tables.path(tmp_path, LAG)).version() == 0


@pytest.mark.parametrize("name", [".00000000000000000000.json.1f0c.tmp", "00000000000000000000.json#1"])
def test_leftovers_of_a_killed_job_are_no_obstacle(spark, tmp_path, name):
    """Spark and delta-rs name the draft of the first entry differently."""
    log = Path(tables.path(tmp_path, LAG)) / "_delta_log"
    log.mkdir(parents=True)
    (log / name).write_text("{")

    tables.ensure(spark, tmp_path, LAG)

    assert tables.read(spark, tmp_path, LAG).count() == 0
    assert [file.name for file in log.iterdir()] == ["00000000000000000000.json"]


def test_a_table_whose_first_entries_were_cleaned_up_exists(spark, tmp_path):
    tables.make(tmp_path, LAG)
    where = Path(tables.path(tmp_path, LAG))
    log_entries.opened(where).create_checkpoint()
    commits.note_batch(where, txn_app_id="app", txn_version=0)
    entry_file(where / "_delta_log", 0).unlink()

    tables.ensure(spark, tmp_path, LAG)

    assert not entry_file(where / "_delta_log", 0).exists()
    assert DeltaTable(str(where)).version() == 1


def test_files_without_a_table_are_left_alone(spark, tmp_path):
    """A user's files are in the folder of a table: the job stops and changes nothing."""
    strange = Path(tables.path(tmp_path, LAG)) / "notes.parquet"
    strange.parent.mkdir(parents=True)
    strange.write_text("mine")

    with pytest.raises(FileExistsError, match=r"notes\.parquet is in the folder of .* silver\.lag"):
        tables.ensure(spark, tmp_path, LAG)

    assert [*strange.parent.iterdir()] == [strange]
    assert strange.read_text() == "mine"


def test_a_column_that_changed_its_type_is_an_error_and_changes_nothing(spark, tmp_path):
    tables.make(tmp_path, LAG)
    changed = dataclasses.replace(LAG, schema=StructType([*LAG.schema[:2], column("at", LongType(), "ns")]))

    with pytest.raises(AnalysisException, match="at"):
        tables.ensure(spark, tmp_path, changed)

    assert DeltaTable(tables.path(tmp_path, LAG)).version() == 0


def test_a_table_with_additional_columns_of_a_user_is_left_alone(spark, tmp_path):
    grown = dataclasses.replace(LAG, schema=StructType([*LAG.schema, column("seen", LongType(), "more")]))
    tables.ensure(spark, tmp_path, grown)

    tables.ensure(spark, tmp_path, LAG)

    assert log_entries.opened(Path(tables.path(tmp_path, LAG))).version() == 0


def test_columns_are_added_only_by_the_writer_and_not_during_maintenance(spark, tmp_path, monkeypatch):
    """Delta Spark's commit can overwrite a concurrent one of another process, which holds another lock."""
    tables.make(tmp_path, LAG)
    grown = dataclasses.replace(LAG, schema=StructType([*LAG.schema, column("seen", LongType(), "more")]))
    tables.make(tmp_path, grown)
    monkeypatch.setattr(tables, "MAINTENANCE_S", 0.1)

    with lease(tmp_path, MAINTENANCE, timeout_s=1), pytest.raises(HeldError, match=MAINTENANCE):
        tables.ensure(spark, tmp_path, grown)

    assert log_entries.opened(Path(tables.path(tmp_path, LAG))).version() == 0


def test_a_partition_column_is_a_column_of_arrow_rows_too(spark, tmp_path):
    """Its values are only in the paths of the files."""
    tables.make(tmp_path, REQUESTS)
    days = [date(2026, 11, day) for day in (20, 21)]
    rows = [{"cluster": "lab", "position": f"p{day}", "logged_date": day} for day in days]
    tables.append(frame_of(spark, rows, REQUESTS.schema), tmp_path, REQUESTS, txn_app_id="a", txn_version=1)

    snapshot = tables.snapshot(tmp_path, REQUESTS)
    read = snapshot.all_rows
    with connect({"rows": snapshot.near(["position"], None, where=f"logged_date >= DATE '{days[1]}'")}) as db:
        assert db.sql("FROM rows").fetchall() == [(f"p{days[1]}",)]
    late = read(["position"], pc.field("logged_date") >= days[1]).read_all()

    assert sorted(read(["logged_date"]).read_all()["logged_date"].to_pylist()) == days
    assert late["position"].to_pylist() == [f"p{days[1]}"]


def test_a_table_is_marked_while_columns_are_added(tmp_path, monkeypatch):
    """A power cut may tear this commit, and no batch would write it again."""
    older, marked = dataclasses.replace(LAG, schema=StructType(LAG.schema.fields[:-1])), []
    add = TableAlterer.add_columns

    def added(self, *arguments, **options):
        marked.append((tmp_path / "silver" / LAG.name / REWRITING).exists())
        add(self, *arguments, **options)

    monkeypatch.setattr(TableAlterer, "add_columns", added)
    for table in (older, LAG):
        rows = arrow_schema(table).empty_table()
        tables.append_rows(rows, tmp_path, table, txn_app_id=str(len(table.schema)))

    assert marked == [True]
    assert not (tmp_path / "silver" / LAG.name / REWRITING).exists()


def test_rows_are_appended_without_spark_once_per_application_and_missing_columns_are_added(tmp_path):
    older = dataclasses.replace(LAG, schema=StructType(LAG.schema.fields[:2]))
    first = pa.table({"group": ["a"], "lag": [1]}, schema=arrow_schema(older))
    second = pa.table({"group": ["b"], "lag": [2], "at": [datetime.now(UTC)]}, schema=arrow_schema(LAG))

    written = [
        tables.append_rows(first, tmp_path, older, txn_app_id="one"),
        tables.append_rows(second, tmp_path, LAG, txn_app_id="two"),
        tables.append_rows(second, tmp_path, LAG, txn_app_id="two"),
    ]

    rows = tables.snapshot(tmp_path, LAG).all_rows(LAG.schema.names).read_all().sort_by("group").to_pylist()
    assert written == [True, True, False]
    assert [(row["group"], row["lag"], row["at"] is None) for row in rows] == [
        ("a", 1, True),
        ("b", 2, False),
    ]


def lag_of(group):
    return pa.table(
        {"group": [group], "lag": [1], "at": [datetime(2026, 11, 21, tzinfo=UTC)]}, schema=arrow_schema(LAG)
    )


def test_rows_of_merged_files_are_new_only_if_one_of_the_files_is(spark, tmp_path):
    def added_since(version):
        rows = tables.snapshot(tmp_path, LAG).added_since(spark, version)
        return sorted(row["group"] for row in rows.collect())

    def merge():
        DeltaTable(where).optimize.compact()

    where = tables.path(tmp_path, LAG)
    for group in ("a", "b"):
        tables.append_rows(lag_of(group), tmp_path, LAG, txn_app_id=group)
    checked = tables.snapshot(tmp_path, LAG).version
    merge()
    assert added_since(checked) == []
    tables.append_rows(lag_of("c"), tmp_path, LAG, txn_app_id="c")
    assert added_since(checked) == ["c"]
    merge()
    assert added_since(checked) == ["a", "b", "c"]
    assert added_since(None) == ["a", "b", "c"]
    DeltaTable(where).create_checkpoint()
    entry_file(tmp_path / "silver" / LAG.name / "_delta_log", checked + 1).unlink()
    assert added_since(checked) == ["a", "b", "c"]


@pytest.mark.parametrize("max_read", [0, small_files.MAX_READ], ids=["files", "memory"])
def test_a_query_reads_the_rows_near_that_meet_a_condition_also_of_a_file_without_a_newer_column(
    tmp_path, monkeypatch, max_read
):
    monkeypatch.setattr(small_files, "MAX_READ", max_read)
    topic = column("topic", StringType(), "a newer column")
    grown = dataclasses.replace(LAG, schema=StructType([*LAG.schema, topic]))
    at = datetime(2026, 11, 21, tzinfo=UTC)
    old = [{"group": "a", "lag": 1, "at": at}, {"group": None, "lag": 2, "at": at}]
    new = [{"group": group, "lag": 3, "at": at, "topic": "t"} for group in ("a", "b")]
    far = [{"group": "c", "lag": 4, "at": at + timedelta(hours=1), "topic": "t"}]
    root = tmp_path / "it's [a] ware*house"
    for nth, (table, rows) in enumerate([(LAG, old), (grown, new), (grown, far)]):
        arrow = pa.Table.from_pylist(rows, schema=arrow_schema(table))
        tables.append_rows(arrow, root, table, txn_app_id=str(nth))
    start_s = int(at.timestamp())

    def read(where="true", spans=((start_s, start_s + 10),)):
        spans = spans and [Span(*span) for span in spans]
        rows = tables.snapshot(root, grown).near(("group", "lag", "topic"), spans, Reach(), where)
        with connect({"rows": rows}) as db:
            return set(db.sql("FROM rows").fetchall())

    assert read() == {("a", 1, None), (None, 2, None), ("a", 3, "t"), ("b", 3, "t")}
    assert read("topic IS NULL OR lag = 4") == {("a", 1, None), (None, 2, None)}
    assert read(spans=None) == {*read(), ("c", 4, "t")}
    assert read(spans=[(second, second + 10) for second in range(start_s, start_s + 400, 20)]) == read()
    assert read(spans=()) == set()
