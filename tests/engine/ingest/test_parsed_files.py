"""Raw files are parsed alike in one process and in several."""

from collections import Counter

import pyarrow as pa

from collectors.files import discover
from conf.settings import Settings
from engine.ingest import parsed_files
from engine.ingest.parsed_files import PARSERS, parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from engine.process.cores import SMALL_BYTES, mapper
from schemas.silver.metrics import METRIC_SERIES
from schemas.silver.requests import REQUESTS
from tests.engine import made_logs

PAGE = 'kafka_x{instance="b1:1"} 1\n'


def silver_of(folder, scratch, run_all):
    files = discover(folder).understood
    origin = Origin(folder=folder, cluster="east", time_zone="UTC")
    read = write_raw(files, origin, scratch / "raw", on_file=lambda _file: None, run_all=run_all)
    silver, tally = parse_files(raw_lines(scratch / "raw"), scratch / "silver", Settings(), run_all)
    return read, tally, {table: rows.to_table() for table, rows in silver.items()}


def comparable(rows: pa.Table):
    left_out = [name for name in rows.column_names if name.endswith("_date")]
    return Counter(str(row) for row in rows.drop_columns(left_out).to_pylist())


def test_several_processes_make_the_rows_of_one(tmp_path, monkeypatch):
    folder = tmp_path / "logs"
    made_logs.write_logs(folder, seconds=5, added_ms={}, onset_s=1)
    for node in ("broker-1", "broker-2"):
        (folder / node / "1795252768.prom").write_text(PAGE)
    with (folder / "broker-1" / "kafka-request.log").open("ab") as log:
        log.write(b"garbage\n")
    monkeypatch.setattr(parsed_files, "TASK_BYTES", 1_000)

    read, tally, silver = silver_of(folder, tmp_path / "one", map)
    with mapper(SMALL_BYTES, *PARSERS) as run_all:
        read_by_all, tally_of_all, silver_of_all = silver_of(folder, tmp_path / "many", run_all)

    assert read_by_all == read
    assert tally_of_all.outcomes == tally.outcomes
    assert {table: comparable(rows) for table, rows in silver_of_all.items()} == {
        table: comparable(rows) for table, rows in silver.items()
    }
    assert silver[REQUESTS].num_rows > 0
    assert silver[METRIC_SERIES].num_rows == 2  # one of each node, although the tasks share no memory
