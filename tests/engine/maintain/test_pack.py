"""Packed samples of a past day are sorted, and every reader finds the same ones bit for bit."""

import json
import random
import struct
from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import Transaction

from benchmarks.faults import oracles
from engine.delta import appends, log_entries, tables
from engine.maintain import actions, packing
from schemas.silver.metrics import METRIC_SAMPLES
from tests.engine.maintain.made_tables import days_ago

DAY = days_ago(1)
MIDNIGHT = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
MIB = 1 << 20
SPECIAL = (float("inf"), float("-inf"), -0.0, 0.0, 5e-324, None)
NANS = [struct.unpack("<d", struct.pack("<Q", word))[0] for word in (0x7FF8000000000001, 0x7FF0000000000002)]


def made(number, *, seed=0, series=7):
    """Return unsorted samples: any doubles, the least and greatest ids, NULL ids and values."""
    dice = random.Random(seed)
    ids = [None, -(1 << 63), (1 << 63) - 1, *(dice.getrandbits(64) - (1 << 63) for _ in range(series))]
    values = [*SPECIAL, *NANS, *(struct.unpack("<d", dice.randbytes(8))[0] for _ in range(number))]
    return [
        ("lab", dice.choice(ids), MIDNIGHT + timedelta(microseconds=dice.randrange(86_400_000_000)), value)
        for value in values[:number]
    ]


class SampleTable:
    """The table of samples and its readers."""

    def __init__(self, warehouse):
        """Use the table of a warehouse."""
        self.warehouse, self.where, self.nth = warehouse, warehouse.where(METRIC_SAMPLES), 0

    @property
    def log(self):
        """Open the log without a cache."""
        return DeltaTable(str(self.where))

    def append(self, rows, day=DAY):
        """Append rows in one file."""
        self.nth += 1
        attempt = self.where / f"ingest-{self.nth}"
        file = attempt / f"sampled_date={day}" / "part-0.parquet"
        file.parent.mkdir(parents=True)
        schema = packing._schema(self.log, METRIC_SAMPLES)
        columns = zip(*rows, strict=True)
        pq.write_table(
            pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema), file
        )
        adds = list(log_entries.added(self.where, attempt, METRIC_SAMPLES))
        appends.append(self.where, adds, Transaction("ingest", self.nth))

    def pack(self, **options):
        """Pack the day."""
        packing.pack(self.log, METRIC_SAMPLES, DAY, **({"target_bytes": MIB} | options))

    def files(self):
        """Return the files of the day, sorted by name."""
        return sorted(
            self.where / file.path for file in actions.files_of(self.log, METRIC_SAMPLES) if file.day == DAY
        )

    def held(self):
        """Return the rows as delta-rs reads them, sorted."""
        return bits(self.log.to_pyarrow_table(columns=METRIC_SAMPLES.schema.names[:-1]))


def bits(rows):
    """Return sorted comparable rows: values as bits, instants as microseconds."""
    rows = rows.cast(rows.schema.set(2, pa.field("at", pa.timestamp("us", "UTC"))))
    kinds = (pa.string(), pa.int64(), pa.int64(), pa.int64())
    columns = [
        column.combine_chunks().view(kind).to_pylist() if kind == pa.int64() else column.to_pylist()
        for column, kind in zip(rows.columns, kinds, strict=True)
    ]
    return sorted(zip(*columns, strict=True), key=str)


def order_of(files):
    """Return series and instants in file order."""
    pairs = [pair for file in files for pair in pq.read_table(file, columns=["series_id", "at"]).to_pylist()]
    return [(row["series_id"] is None, row["series_id"] or 0, row["at"]) for row in pairs]


@pytest.fixture
def samples(warehouse):
    return SampleTable(warehouse)


def test_a_packed_day_has_the_same_samples_in_order_for_every_reader(samples, spark):
    """The bits of NaNs are the same too; the statistics of instants have microseconds."""
    parts = [made(50, seed=seed) for seed in range(4)]
    for rows in parts:
        samples.append(rows)
    before = samples.held()
    samples.pack()
    [file] = samples.files()

    assert samples.held() == before
    assert order_of([file]) == sorted(order_of([file]))
    assert len(order_of([file])) == 200
    by_duckdb = duckdb.sql(f'SELECT cluster, series_id, "at", value FROM {str(file)!r}').to_arrow_table()  # noqa: S608
    by_spark = tables.read(spark, samples.warehouse.root, METRIC_SAMPLES).drop("sampled_date").toArrow()
    assert bits(by_duckdb) == bits(by_spark) == before
    log = samples.log
    assert (log.protocol().min_reader_version, log.protocol().min_writer_version) == (1, 2)
    entry = (samples.where / "_delta_log" / f"{log.version():020}.json").read_text().splitlines()
    changes = [next(iter(json.loads(line).items())) for line in entry if "commitInfo" not in line]
    assert [word for word, _ in changes] == ["add", *["remove"] * 4]
    assert {change["dataChange"] for _, change in changes} == {False}
    instants = [row[2] for rows in parts for row in rows]
    stats = json.loads(dict(changes)["add"]["stats"])
    assert datetime.fromisoformat(stats["minValues"]["at"]) == min(instants)
    assert stats["numRecords"] == 200


def test_a_day_beyond_memory_is_merged_from_sorted_runs(samples, monkeypatch):
    """Runs are split into equal ranges of ids that fit into memory; no scratch file is left."""
    monkeypatch.setattr(packing, "ROWS_AT_ONCE", 100)
    for seed in range(7):
        samples.append(made(150, seed=seed, series=200))
    before = samples.held()
    samples.pack()

    assert samples.held() == before
    assert order_of(samples.files()) == sorted(order_of(samples.files()))
    assert len(before) == 7 * 150
    assert not list(samples.where.glob("_packing-*"))


def test_a_file_that_has_its_target_size_is_followed_by_another(samples, monkeypatch):
    monkeypatch.setattr(packing, "ROWS_AT_ONCE", 300)
    for seed in range(4):
        samples.append(made(300, seed=seed, series=50))
    samples.pack(target_bytes=1)

    assert len(samples.files()) == 4
    assert order_of(samples.files()) == sorted(order_of(samples.files()))


def test_rows_appended_in_the_meantime_stay(samples, monkeypatch):
    samples.append(made(10))
    late = made(3, seed=1)
    write = packing._write

    def slowly(*arguments):
        write(*arguments)
        samples.append(late)

    monkeypatch.setattr(packing, "_write", slowly)
    samples.pack()

    assert [len(order_of([file])) for file in samples.files()] == [3, 10]


def test_files_removed_in_the_meantime_do_not_come_back(samples, monkeypatch):
    samples.append(made(10))
    write = packing._write

    def slowly(*arguments):
        write(*arguments)
        samples.log.delete()

    monkeypatch.setattr(packing, "_write", slowly)
    with pytest.raises(CommitFailedError, match="1 of the packed files were removed"):
        samples.pack()

    assert samples.held() == []


def test_the_commit_is_retried_after_an_append_that_came_first(samples, monkeypatch):
    samples.append(made(10))
    commit, late = log_entries.commit, made(3, seed=1)

    def late_once(*arguments):
        monkeypatch.setattr(log_entries, "commit", commit)
        samples.append(late)
        commit(*arguments)

    monkeypatch.setattr(log_entries, "commit", late_once)
    samples.pack()

    assert [len(order_of([file])) for file in samples.files()] == [3, 10]


def test_past_days_are_packed_once_and_again_for_late_samples(samples):
    """Today is only merged, and only when it has many files: its newest samples stay together."""
    today = days_ago(0)
    for _ in range(2):
        samples.append(made(5))
        samples.append(made(5), today)
    first = samples.warehouse.maintain("--only", "silver.metric_samples")
    packed = samples.files()
    second = samples.warehouse.maintain("--only", "silver.metric_samples")
    samples.append(made(1))
    samples.warehouse.maintain("--only", "silver.metric_samples")

    assert f"silver.metric_samples: sorted {DAY}: 2 files of" in first.stderr
    assert "the day has 1 files of" in first.stderr
    assert "sorted" not in second.stderr
    assert [file.parent.parent.name.split("-")[0] for file in packed] == ["packed"]
    assert samples.warehouse.files(METRIC_SAMPLES) == {DAY: 1, today: 2}
    assert len(samples.held()) == 21


def test_a_dry_run_prints_what_it_would_sort(samples):
    samples.append(made(5))
    result = samples.warehouse.maintain("--only", "silver.metric_samples", "--dry-run")

    assert f"would sort {DAY}: 1 files of" in result.stderr
    assert samples.files()[0].parent.parent.name == "ingest-1"


@pytest.mark.parametrize("point", ["optimize-begun", "optimize-committed"])
def test_killed_anywhere_it_loses_nothing_and_can_be_repeated(samples, point):
    for _ in range(2):
        samples.append(made(5))
    before = samples.held()
    killed = samples.warehouse.maintain_elsewhere(fail_at=point)
    held = samples.held()
    again = samples.warehouse.maintain_elsewhere()

    assert killed.returncode == -9, killed.stderr
    assert again.returncode == 0, again.stderr
    assert held == samples.held() == before
    assert samples.warehouse.files(METRIC_SAMPLES) == {DAY: 1}
    assert oracles.bad_log(samples.warehouse.root, [METRIC_SAMPLES]) == []
    assert not list(samples.where.glob("_packing-*"))
