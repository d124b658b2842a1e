"""A task parses its records and writes files that the driver can commit; these tests run it without Spark."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from engine.delta import file_writer
from engine.delta.data_files import DataFile
from engine.ingest.batches import differing
from engine.ingest.task import task_plan as task
from engine.ingest.task.parsers import ParserOptions
from engine.ingest.task.written import tally_of
from tests.engine.ingest.task.kafka_batches import AT_MS, HEADERS, TOPIC, kafka_batch, run_task, task_plan
from tests.transforms.parse.records import COMPLETED, REQUEST_LINES

SKIPPED_LINE = b"[2026-11-21 09:19:28,987] INFO started (kafka.server.KafkaServer)"
DAY_MS = 86_400_000
PAGE = b'# TYPE up gauge\nup 1\nbytes{topic="a"} 2.5\n'


def run(batches, plan):
    """Return the files of a task by table, and its tally."""
    [report] = run_task(batches, plan)
    rows = report.to_pylist()
    files = [DataFile(*list(row.values())[:6]) for row in rows if row["table"] is not None]
    return {file.table: file for file in files}, tally_of(row["tally"] for row in rows if row["tally"])


def read(warehouse, file):
    return pq.read_table(warehouse / file.table.replace(".", "/") / file.path, partitioning=None).to_pylist()


def test_each_record_is_in_bronze_and_is_kept_quarantined_or_skipped_once(tmp_path):
    files, tally = run([kafka_batch([COMPLETED, b"no stamp", SKIPPED_LINE])], task_plan(tmp_path))

    assert {table: file.rows for table, file in files.items()} == {
        "bronze.request_log": 3,
        "silver.requests": 1,
        "silver.quarantine": 1,
    }
    assert sum(tally.skipped.values()) == 1
    assert {(key.outcome, n) for key, n in tally.outcomes.items()} == {
        ("kept", 1),
        ("quarantined", 1),
        ("skipped", 1),
    }
    assert tally.offsets == {(TOPIC, 0): (0, 2, 3)}


def test_bronze_has_the_raw_bytes_and_a_column_for_each_usual_header(tmp_path):
    files, _ = run([kafka_batch([COMPLETED])], task_plan(tmp_path))

    [row] = read(tmp_path, files["bronze.request_log"])

    assert (row["value"], row["headers"], row["key"]) == (COMPLETED, None, b"broker-1")
    assert [row[name] for name in ("cluster", "node", "kind", "position")] == [
        "lab",
        "broker-1",
        "request-log",
        "broker-1/aa/0",
    ]
    assert files["bronze.request_log"].day == "2026-11-21"


def test_unusual_headers_are_kept_and_a_missing_position_is_made_of_the_offset(tmp_path):
    more = HEADERS | {"run": b"r1"}
    batches = [kafka_batch([COMPLETED], headers=more), kafka_batch([COMPLETED], first=1, headers=None)]

    files, _ = run(batches, task_plan(tmp_path))

    with_more, without = read(tmp_path, files["bronze.request_log"])
    assert {header["key"] for header in with_more["headers"]} == set(more)
    assert (without["headers"], without["position"], without["cluster"]) == (None, f"kafka/{TOPIC}/0/1", None)


def test_rows_of_two_days_are_two_files(tmp_path):
    next_day = COMPLETED.replace(b"2026-11-21T", b"2026-11-22T", 1)

    batches = [kafka_batch([COMPLETED]), kafka_batch([next_day], first=1, millis=AT_MS + DAY_MS)]

    [report] = run_task(batches, task_plan(tmp_path))

    days = [row["day"] for row in report.to_pylist() if row["table"] == "silver.requests"]
    assert sorted(days) == ["2026-11-21", "2026-11-22"]


def test_statistics_have_the_minimum_and_maximum_of_instants(tmp_path):
    files, _ = run([kafka_batch(list(REQUEST_LINES.values()))], task_plan(tmp_path))

    assert '"minValues": {"logged_at": "2026-11-21T' in files["silver.requests"].stats


def test_a_task_that_fails_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(task, "_count_offsets", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run_task([kafka_batch([COMPLETED])], task_plan(tmp_path))

    assert list(tmp_path.rglob("*.parquet")) == []


def test_series_are_reported_to_the_driver_again_after_a_task_failed(tmp_path, monkeypatch):
    """The rows of a failed task are lost, so its parser must not remember their series."""
    plan = task_plan(tmp_path)
    page = kafka_batch(
        [gzip.compress(PAGE)],
        topic="telemetry.metrics",
        headers=HEADERS | {"position": b"broker-1/scrape/1795252768987716710", "content-encoding": b"gzip"},
    )
    with monkeypatch.context() as broken:
        broken.setattr(task, "_count_offsets", lambda *_: None)
        broken.setattr(task.FileWriter, "closed", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_task([page], plan)

    _, tally = run([page], plan)
    _, again = run([page], plan)

    assert [row[2] for row in tally.new_rows["metric_series"]] == ["up", "bytes"]
    assert again.new_rows.get("metric_series", []) == []


def test_a_task_reports_each_broker_once_a_day(tmp_path):
    metadata = REQUEST_LINES["METADATA"]
    moved = metadata.replace(b'"port":19191,"rack":null', b'"port":19191,"rack":"a"')
    next_day = metadata.replace(b"2026-11-21T", b"2026-11-22T", 1)

    later = kafka_batch([next_day], first=3, millis=AT_MS + DAY_MS)

    _, tally = run([kafka_batch([metadata, metadata, moved]), later], task_plan(tmp_path))

    days = [(row[1], row[2], row[5] - 20_778) for row in tally.new_rows["brokers"]]
    assert days == [*((n, None, 0) for n in (1, 2, 3)), (1, "a", 0), *((n, None, 1) for n in (1, 2, 3))]


def test_names_are_hashed_with_the_key_in_the_key_file(tmp_path):
    key = tmp_path / "key"
    key.write_text("k" * 32)
    plan = task_plan(tmp_path, options=task.ParserOptions(pseudonym_key_file=str(key)))

    files, _ = run([kafka_batch([REQUEST_LINES["PRODUCE"]])], plan)

    [row] = read(tmp_path, files["silver.requests"])
    assert row["client_id"].startswith("client-")
    assert "k" * 32 not in repr(plan)


FROM_2099 = COMPLETED.replace(b"2026-", b"2099-", 1)


def test_a_line_from_the_future_is_in_quarantine_with_its_bytes_and_place(tmp_path):
    files, tally = run([kafka_batch([COMPLETED, FROM_2099, COMPLETED])], task_plan(tmp_path))

    [row] = read(tmp_path, files["silver.quarantine"])
    assert (row["reason"], row["value"]) == ("from_the_future", FROM_2099)
    assert (row["topic"], row["partition"], row["offset"]) == (TOPIC, 0, 1)
    assert (row["node"], row["source"], row["position"]) == ("broker-1", "kafka-request.log", "broker-1/aa/0")
    assert files["silver.requests"].rows == 2
    assert files["bronze.request_log"].rows == 3
    assert sum(tally.outcomes.values()) == 3


def test_the_clock_of_the_ingest_host_changes_no_row_of_silver(tmp_path):
    """Instants are compared with the timestamp of the record, and days are those of that timestamp."""
    rows = []
    for year in (1971, 2026, 2099):
        at = int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
        plan = task_plan(tmp_path, attempt=f"attempt-{year}", ingested_at=at)
        files, _ = run([kafka_batch([COMPLETED, FROM_2099, b"no stamp"])], plan)
        silver = {name: read(tmp_path, file) for name, file in files.items() if name.startswith("silver.")}
        bronze = {file.day for name, file in files.items() if name.startswith("bronze.")}
        rows.append((silver, bronze))

    assert rows[0] == rows[1] == rows[2]


def test_a_batch_without_records_writes_nothing(tmp_path):
    files, tally = run([], task_plan(tmp_path))

    assert (files, tally.offsets) == ({}, {})


def test_the_counts_of_the_tasks_show_partitions_whose_records_are_not_the_planned_offsets(tmp_path):
    """A record that no task read, or that was read twice, is detected before any commit."""
    _, tally = run([kafka_batch([COMPLETED, COMPLETED])], task_plan(tmp_path))

    assert differing(tally, {(TOPIC, 0): (0, 2), (TOPIC, 1): (5, 5)}) == set()
    assert differing(tally, {(TOPIC, 0): (0, 2), (TOPIC, 1): (0, 1)}) == {(TOPIC, 1)}
    for wrong in ({(TOPIC, 0): (0, 3)}, {(TOPIC, 0): (0, 1)}, {}):
        assert differing(tally, wrong) == {(TOPIC, 0)}


def test_series_are_reported_to_the_driver_again_when_spark_retries_a_task(tmp_path, monkeypatch):
    """A task whose result was lost succeeded in this process; only the attempt number shows the retry."""
    plan = task_plan(tmp_path)
    page = kafka_batch(
        [PAGE],
        topic="telemetry.metrics",
        headers=HEADERS | {"position": b"broker-1/scrape/1795252768987716710"},
    )
    first = run([page], plan)[1]
    monkeypatch.setattr(task.TaskContext, "get", lambda: Mock(attemptNumber=lambda: 1))

    again = run([page], plan)[1]

    assert len(first.new_rows["metric_series"]) == len(again.new_rows["metric_series"]) == 2


@pytest.mark.parametrize(
    "line",
    [COMPLETED.replace(b"2026-11-21T09:19:28.987716710Z", b"0001-01-01T00:00:00.001Z", 1)],
)
def test_a_request_that_began_before_the_calendar_is_quarantined(tmp_path, line):
    files, _ = run([kafka_batch([line])], task_plan(tmp_path))

    [row] = read(tmp_path, files["silver.quarantine"])
    assert row["reason"] == "impossible_timestamp"


@pytest.mark.parametrize("millis", [10**15, 253_402_300_800_000, -62_135_596_800_001, 2**63 - 1, -5])
def test_a_record_whose_kafka_timestamp_is_no_instant_is_kept_under_todays_date(tmp_path, millis):
    """Producers set the timestamp: microseconds instead of milliseconds must not stop the ingest."""
    files, _ = run([kafka_batch([COMPLETED, b"no stamp"], millis=millis)], task_plan(tmp_path))

    rows = read(tmp_path, files["bronze.request_log"])
    is_instant = millis == -5
    assert [row["timestamp"] is not None for row in rows] == [is_instant] * 2
    assert files["bronze.request_log"].day == ("1969-12-31" if is_instant else "2026-11-21")
    assert files["silver.requests"].rows == 1


@pytest.mark.parametrize("stated", [b"0001-01-01T00:00:00+10:00", b"9999-12-31T23:59:59-10:00"])
def test_a_page_scraped_outside_the_calendar_is_quarantined(tmp_path, stated):
    page = b"# scraped_at %b\nup 1\n" % stated
    files, _ = run(
        [kafka_batch([page], topic="telemetry.metrics", headers=HEADERS | {"kind": b"metrics"})],
        task_plan(tmp_path),
    )

    assert read(tmp_path, files["silver.quarantine"])[0]["reason"] == "no_instant"


def test_samples_of_thousands_of_days_are_written_with_few_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr(file_writer, "MOST_OPEN", 3)
    page = "".join(f"up 1 {day * 86_400_000}\n" for day in (*range(20_000, 20_008), 20_000, 20_007)).encode()
    headers = HEADERS | {"kind": b"metrics", "position": b"broker-1/backfill/0-700000000/0-ab"}
    batches = [kafka_batch([page], topic="telemetry.metrics", headers=headers)]

    [report] = run_task(batches, task_plan(tmp_path))

    files = [row for row in report.to_pylist() if row["table"] == "silver.metric_samples"]
    assert sum(row["rows"] for row in files) == 10
    assert len({row["path"] for row in files}) == len(files) >= 8


def test_with_a_key_a_quarantined_line_has_its_reason_and_place_and_bronze_alone_its_text(tmp_path):
    (tmp_path / "key").write_text("k" * 32)
    options = ParserOptions(pseudonym_key_file=str(tmp_path / "key"))
    bad = b"no stamp of payroll"

    files, _ = run([kafka_batch([bad])], replace(task_plan(tmp_path), options=options))

    [row], [raw] = (read(tmp_path, files[name]) for name in ("silver.quarantine", "bronze.request_log"))
    assert (row["reason"], row["position"], row["offset"]) == ("no_timestamp", "broker-1/aa/0", 0)
    assert (row["detail"], row["value"], raw["value"]) == (None, None, bad)
