"""Maintenance beside the streams: rows stay, days go, nobody fails, and whoever is killed is run again."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from deltalake import DeltaTable
from deltalake.transaction import Transaction
from typer.testing import CliRunner

from conf.settings import LIGHT, PROJECT
from jobs import light_commit, light_log, maintain_actions, tables
from jobs import maintain as job
from jobs.fail_points import VARIABLE
from jobs.gold_quality import rebuild_data_quality
from jobs.lease import MAINTENANCE, lease
from jobs.maintain_streams import Reader, needed, readers
from jobs.stream_log import StreamLog
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold import DATA_QUALITY
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED, TOPICS
from tests.faults import oracles

app = typer.Typer()
app.command()(job.maintain)

TODAY = datetime.now(UTC).date()
HOUR_S = 3_600
MIB = 1 << 20


def days_ago(days):
    return TODAY - timedelta(days=days)


class Tables:
    """Requests and request lines of some days, each day in two small files or more."""

    def __init__(self, spark, folder, made):
        """Copy tables: that is quicker than making them."""
        self.spark, self.conf = spark, folder / "my.toml"
        self.root, self.checkpoints = folder / "warehouse", folder / "checkpoints"
        self.tell()
        self.nth = 0
        shutil.copytree(made, self.root)

    def tell(self, **settings):
        """Write the settings."""
        told = {"lease_timeout_s": 0.1} | settings
        lines = "".join(f"{key} = {value}\n" for key, value in told.items())
        self.conf.write_text(
            f'[warehouse]\nroot = "{self.root}"\ncheckpoints = "{self.checkpoints}"\n[maintain]\n{lines}'
        )

    def append(self, table, *days, times=2, **more):
        """Append a row of each of these days, a file a day, so many times."""
        column, where = maintain_actions.day_column(table), self.where(table)
        kinds = pa.schema(DeltaTable(str(where)).schema().to_arrow())
        for _ in range(times):
            self.nth += 1
            told = {"offset": self.nth, "kind": "request-log", "position": f"p{self.nth}"} | more
            attempt = where / f"ingest-{self.nth}"
            log = light_log.opened(where)
            for day in days:
                file = attempt / f"{column}={day}" / "part-0.parquet"
                file.parent.mkdir(parents=True)
                names = [name for name in kinds.names if name != column]
                rows = {name: pa.array([told.get(name)], kinds.field(name).type) for name in names}
                pq.write_table(pa.table(rows), file)
            adds = list(light_log.added(where, attempt, table))
            light_commit.commit(log, where, adds, Transaction("ingest", self.nth))

    def where(self, table):
        """Give the table's folder."""
        return self.root / table.layer / table.name

    def days(self, table):
        """Count rows by day, as delta-rs reads them."""
        column = maintain_actions.day_column(table)
        return Counter(
            DeltaTable(str(self.where(table))).to_pyarrow_table(columns=[column])[column].to_pylist()
        )

    def files(self, table):
        """Count the files of each day."""
        return Counter(
            file.day for file in maintain_actions.files_of(DeltaTable(str(self.where(table))), table)
        )

    def noted(self, table):
        """Give the instant from which on the table is whole."""
        return DeltaTable(str(self.where(table))).metadata().configuration.get(tables.COMPLETE_FROM)

    def maintain(self, *options):
        """Run the job here."""
        return CliRunner().invoke(app, ["--conf", str(self.conf), *options])

    def maintain_elsewhere(self, fail_at=""):
        """Run the job as a process of its own."""
        command = [sys.executable, "-m", "plumbline", "maintain", "--conf", str(self.conf)]
        told = {VARIABLE: fail_at} if fail_at else {}
        return subprocess.run(
            command,
            cwd=PROJECT,
            env=os.environ | told,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    for table in (
        REQUEST_LOG,
        CLIENT_LOG,
        REQUESTS,
        CLIENT_EVENTS,
        QUARANTINE,
        SKIPPED,
        TOPICS,
        DATA_QUALITY,
    ):
        tables.ensure(spark, root, table)
    return root


@pytest.fixture
def warehouse(spark, tmp_path, made):
    return Tables(spark, tmp_path, made)


def test_a_stream_goes_on_over_merged_deleted_and_vacuumed_files(warehouse):
    """It neither fails nor reads a line again; what it has not read yet is kept for it."""
    seen = Counter()

    def read_on():
        stream = warehouse.spark.readStream.format("delta").option("skipChangeCommits", "true")
        query = (
            stream.option("maxFilesPerTrigger", 1)
            .load(str(warehouse.where(REQUESTS)))
            .writeStream.option("checkpointLocation", str(warehouse.checkpoints / "gold"))
            .foreachBatch(
                lambda batch, _: seen.update(r.position for r in batch.select("position").collect())
            )
        )
        query.trigger(availableNow=True).start().awaitTermination()

    warehouse.append(REQUESTS, days_ago(1), days_ago(40))
    read_on()
    warehouse.append(REQUESTS, days_ago(1), days_ago(40), times=3)
    result = warehouse.maintain()
    assert result.exit_code == 0, result.stderr
    stream = readers(warehouse.checkpoints, str(DeltaTable(str(warehouse.where(REQUESTS))).metadata().id))
    warehouse.append(REQUESTS, days_ago(0))
    read_on()
    maintain_actions.compact(
        DeltaTable(str(warehouse.where(REQUESTS))), REQUESTS, days_ago(0), target_bytes=MIB
    )
    maintain_actions.vacuum(DeltaTable(str(warehouse.where(REQUESTS))), 0)
    warehouse.append(REQUESTS, days_ago(0), times=1)
    read_on()

    assert [(reader.query, reader.version, reader.is_starting) for reader in stream] == [("gold", 3, False)]
    assert seen == {f"p{n}": 2 if n <= 5 else 1 for n in range(1, 9)}
    assert warehouse.files(REQUESTS)[days_ago(1)] == 1


def test_days_go_after_what_each_layer_keeps_and_the_table_says_so(warehouse):
    for table in (REQUEST_LOG, REQUESTS, QUARANTINE):
        warehouse.append(table, *map(days_ago, (40, 31, 30, 8, 7, 0)), times=1)

    result = warehouse.maintain()

    assert result.exit_code == 0, result.stderr
    assert sorted(warehouse.days(REQUEST_LOG)) == [days_ago(7), days_ago(0)]
    for table in (REQUESTS, QUARANTINE):
        assert sorted(warehouse.days(table)) == [*map(days_ago, (30, 8, 7, 0))]
    assert warehouse.noted(REQUESTS) == f"{days_ago(30)}T00:00:00Z"
    assert warehouse.noted(REQUEST_LOG) == f"{days_ago(7)}T00:00:00Z"
    assert f"deleted what is older than {days_ago(30)}: 2 files" in result.stderr
    assert "4 quarantined lines of before" in result.stderr


def test_what_was_read_adds_up_of_the_days_that_bronze_still_holds(warehouse):
    """Bronze is kept for a week, silver for a month: neither may look as if lines were lost or made up."""
    offset = 0
    for day in map(days_ago, (40, 20, 3)):
        for table in (REQUESTS, QUARANTINE, SKIPPED):
            offset += 1
            same = {"topic": "t", "partition": 0, "offset": offset, "position": f"p{offset}", "cluster": "c"}
            for one in (REQUEST_LOG, table):
                warehouse.append(one, day, times=1, lines=1, **same)
    assert warehouse.maintain().exit_code == 0

    rebuild_data_quality(warehouse.spark, warehouse.root, committer=LIGHT)

    [told] = tables.read(warehouse.spark, warehouse.root, DATA_QUALITY).collect()
    assert (told.lines_read, told.kept, told.quarantined, told.skipped, told.duplicates) == (3, 1, 1, 1, 0)
    assert told.is_balanced
    assert len(warehouse.days(REQUESTS)) == len(warehouse.days(SKIPPED)) == 2


def test_zero_days_keep_everything(warehouse):
    warehouse.tell(bronze_days=0, silver_days=0)
    warehouse.append(REQUESTS, days_ago(4_000), times=1)

    assert warehouse.maintain().exit_code == 0
    assert warehouse.days(REQUESTS) == {days_ago(4_000): 1}
    assert warehouse.noted(REQUESTS) is None


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(warehouse):
    warehouse.append(REQUESTS, days_ago(40), days_ago(1))
    before = sorted(warehouse.root.rglob("*"))

    result = warehouse.maintain("--dry-run", "--only", "silver.requests")

    assert f"silver.requests: would delete what is older than {days_ago(30)}: 2 files" in result.stderr
    assert f"silver.requests: would merge {days_ago(1)}: 2 files" in result.stderr
    assert f"merge {days_ago(40)}" not in result.stderr
    assert [p for p in sorted(warehouse.root.rglob("*")) if "_maintenance" not in p.name] == before


def test_the_running_day_waits_until_there_are_many_files(warehouse):
    warehouse.tell(compact_from_files=4)
    warehouse.append(REQUESTS, days_ago(0), times=3)
    assert warehouse.maintain().exit_code == 0
    assert warehouse.files(REQUESTS) == {days_ago(0): 3}

    warehouse.append(REQUESTS, days_ago(0), times=1)

    assert warehouse.maintain().exit_code == 0
    assert warehouse.files(REQUESTS) == {days_ago(0): 1}
    assert warehouse.days(REQUESTS) == {days_ago(0): 4}


def test_what_nobody_reads_goes_once_it_is_old_and_never_before(warehouse):
    """Files of an attempt that may still be in progress are young; those of one that was killed grow old."""
    warehouse.append(REQUESTS, days_ago(1))
    folder = warehouse.where(REQUESTS)
    for name, hours in (("killed", 200), ("running", 1)):
        for below in (
            f"logged_date={days_ago(1)}/part-0.parquet",
            "_temporary/0/_temporary/a/part-1.parquet",
        ):
            file = folder / f"{name}-1-abcd" / below
            file.parent.mkdir(parents=True)
            file.write_bytes(b"x" * 100)
            for one in (file, folder / f"{name}-1-abcd" / "_temporary"):
                if one.exists():
                    os.utime(one, (time.time() - hours * HOUR_S,) * 2)

    result = warehouse.maintain()

    assert "silver.requests: removed 2 files of 200 B that nobody reads since 168 h" in result.stderr
    assert not (folder / "killed-1-abcd").exists()
    assert len([*(folder / "running-1-abcd").rglob("*.parquet")]) == 2
    assert oracles.bad_log(warehouse.root, [REQUESTS]) == []


def test_files_are_kept_since_the_slowest_stream_stood_still(tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    now = datetime.now(UTC)
    for version, hours in enumerate((400, 300, 200, 1)):
        entry = log / f"{version:020}.json"
        entry.touch()
        os.utime(entry, (now.timestamp() - hours * HOUR_S,) * 2)

    def kept(version, **more):
        stream = Reader(query="build_gold", checkpoint=tmp_path, version=version, **more)
        return needed(log, [stream], hours=168, log_hours=168, now=now)

    assert (kept(3).hours, kept(4).hours) == (168, 168)
    assert kept(1).hours == 301
    assert kept(1).is_log_needed
    assert kept(1, is_starting=True).hours > 100 * 365 * 24
    assert kept(3, is_starting=True).hours == 168
    assert "build_gold" in kept(1).why
    (log / f"{1:020}.json").unlink()
    assert kept(1).hours == 168
    assert "cannot go on" in kept(1).why


@pytest.mark.parametrize("point", ["optimize-begun:1+5", "optimize-committed", "retention-noted"])
def test_killed_anywhere_it_loses_nothing_and_is_run_again(warehouse, point):
    warehouse.append(REQUESTS, days_ago(40), days_ago(1), days_ago(0))

    killed = warehouse.maintain_elsewhere(fail_at=point)

    assert killed.returncode == -9, killed.stderr
    assert oracles.bad_log(warehouse.root, [REQUESTS]) == []
    assert warehouse.days(REQUESTS).items() >= {days_ago(1): 2, days_ago(0): 2}.items()
    assert warehouse.noted(REQUESTS) == f"{days_ago(30)}T00:00:00Z"
    if point == "retention-noted":
        assert warehouse.days(REQUESTS)[days_ago(40)] == 2
    again = warehouse.maintain_elsewhere()
    assert again.returncode == 0, again.stderr
    assert oracles.bad_log(warehouse.root, [REQUESTS]) == []
    assert warehouse.days(REQUESTS) == {days_ago(1): 2, days_ago(0): 2}
    assert warehouse.files(REQUESTS) == {days_ago(1): 1, days_ago(0): 2}


def test_two_of_them_exclude_each_other(warehouse):
    with lease(warehouse.root, MAINTENANCE, timeout_s=1):
        result = warehouse.maintain()

    assert result.exit_code == 4
    assert "maintenance of" in result.stderr


def test_beside_delta_s_own_commits_it_leaves_the_tables_to_their_writer(warehouse):
    """Delta's rename on a local disk would write over an entry that came in between."""
    warehouse.append(REQUESTS, days_ago(1))
    text = warehouse.conf.read_text().replace("[maintain]", 'committer = "delta"\n[maintain]')
    warehouse.conf.write_text(text)

    with lease(warehouse.root, "silver", timeout_s=1):
        result = warehouse.maintain("--only", "silver.requests")
    assert result.exit_code == 3
    assert "silver left out: silver of" in result.stderr
    assert warehouse.files(REQUESTS) == {days_ago(1): 2}

    assert warehouse.maintain("--only", "silver.requests").exit_code == 0
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


@pytest.mark.parametrize(
    ("options", "settings", "told"),
    [
        (["--only", "silver.request"], {}, "there is no such table; there are bronze.request_log"),
        ([], {"vacuum_retention_hours": 0}, "vacuum_retention_hours = 0: it is 24 at least"),
        ([], {"silver_days": -1}, "silver_days = -1: it is 0 at least"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, options, settings, told):
    conf = tmp_path / "my.toml"
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
    conf.write_text(f'[warehouse]\nroot = "{tmp_path}"\n[maintain]\n{lines}')

    result = CliRunner().invoke(app, ["--conf", str(conf), *options])

    assert result.exit_code == 2
    assert told in result.stderr


def test_a_table_that_cannot_be_read_stops_no_other(warehouse):
    warehouse.append(REQUESTS, days_ago(1))
    broken = warehouse.where(REQUEST_LOG) / "_delta_log" / f"{0:020}.json"
    broken.write_text("{")

    result = warehouse.maintain()

    assert result.exit_code == 1
    assert "bronze.request_log failed: " in result.stderr
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


def emptied(entry):
    """Empty an entry, as a power cut does."""
    entry.write_text("")


def lost(entry):
    """Take an entry away, but not what Delta keeps of its version beside it."""
    entry.rename(entry.with_suffix(".crc"))


@pytest.mark.parametrize("damage", [emptied, lost])
@pytest.mark.parametrize(
    ("table", "mender"), [(REQUEST_LOG, "plumbline ingest"), (DATA_QUALITY, "plumbline build-gold")]
)
def test_a_table_whose_log_is_damaged_is_left_to_its_writer(warehouse, table, mender, damage):
    """delta-rs would commit behind the torn entry, and nobody could mend it then."""
    warehouse.tell(bronze_days=0)
    warehouse.append(REQUESTS, days_ago(1))
    log = warehouse.where(table) / "_delta_log"
    if table is REQUEST_LOG:
        warehouse.append(table, days_ago(1), times=3)
    else:
        (log / f"{1:020}.json").write_text('{"commitInfo":{}}')
    newest = max(log.glob("*.json"))
    damage(newest)
    before = sorted(log.iterdir())

    result = warehouse.maintain()

    assert result.exit_code == 1
    assert f"{table.layer}.{table.name} failed: reading the log: {newest.with_suffix('')}" in result.stderr
    assert f"run `{mender}`" in result.stderr
    assert sorted(log.iterdir()) == before
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


@pytest.mark.parametrize("torn", ["", "\0" * 300, 'v1\n{"batchWatermarkMs":0}\n{"sourceVersion":1,"reser'])
def test_a_stream_that_does_not_tell_what_it_has_read_wants_everything(warehouse, torn):
    log = StreamLog(warehouse.checkpoints / "build_gold_v1")
    for batch in range(2):
        log.write_ends(batch, {("t", 0): batch})
        log.write_commit(batch)
    log.offsets_file(1).write_text(torn)
    warehouse.append(REQUESTS, days_ago(1))
    orphan = warehouse.where(REQUESTS) / "killed-1-abcd" / "part-0.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(b"x" * 100)
    os.utime(orphan, (time.time() - 200 * HOUR_S,) * 2)

    result = warehouse.maintain("--only", "silver.requests")

    assert result.exit_code == 0, result.stderr
    assert orphan.exists()
    assert "silver.requests: the stream build_gold_v1 (if it was given up, remove" in result.stderr
    assert f"{log.offsets_file(1)} is torn: all is kept for it" in result.stderr


def test_a_batch_whose_commit_is_torn_is_given_again_and_wants_its_files(tmp_path):
    log = StreamLog(tmp_path / "build_gold_v1")
    for batch in range(3):
        told = f'{{"sourceVersion":1,"reservoirId":"an-id","reservoirVersion":{batch + 5},"index":-1}}'
        log.offsets_file(batch).parent.mkdir(parents=True, exist_ok=True)
        log.offsets_file(batch).write_text(f"v1\n{{}}\n{told}")
        log.write_commit(batch)
    assert [stream.version for stream in readers(tmp_path, "an-id")] == [7]

    log.commits_file(2).write_text("")

    assert [stream.version for stream in readers(tmp_path, "an-id")] == [6]


def test_a_full_disk_is_one_line(warehouse):
    holder = warehouse.root / "_maintenance.holder.json"
    holder.symlink_to("/dev/full")

    result = warehouse.maintain()

    assert not holder.is_symlink()
    assert (result.exit_code, result.stderr.count("\n")) == (6, 1)
    assert "maintain stopped: the disk is full: /" in result.stderr


def test_a_warehouse_that_is_a_file_is_one_line(tmp_path):
    root, conf = tmp_path / "warehouse", tmp_path / "my.toml"
    root.touch()
    conf.write_text(f'[warehouse]\nroot = "{root}"\n')

    result = CliRunner().invoke(app, ["--conf", str(conf)])

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"File exists: '{root}'" in result.stderr
