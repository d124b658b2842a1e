"""Replay of the quarantine: each line that can be read now is restored, once."""

import shutil
from collections import Counter
from datetime import UTC, datetime

import pytest
import typer
from deltalake.exceptions import DeltaError
from typer.testing import CliRunner

from conf.settings import Settings, WarehouseSettings
from engine.delta import tables
from engine.ingest.parsed_frames import parse_into
from engine.ingest.positions import checkpoint_of
from engine.ingest.sources import LINES, SOURCES
from engine.ingest.task.task_plan import KEPT, QUARANTINED
from engine.process.lease import lease
from engine.streams.log import StreamLog
from engine.streams.writer_id import writer_id
from jobs import replay as job
from schemas.bronze import REQUEST_LOG
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import append
from tests.transforms.parse.raw_rows import raw
from tests.transforms.parse.records import COMPLETED

app = typer.Typer()
app.command()(job.replay)

SOURCE = SOURCES[0]
TRUNCATED = COMPLETED[:200]
ARRIVED = datetime(2026, 11, 21, 12, tzinfo=UTC)


class UnreadWarehouse:
    """A warehouse in which an older parser could not read any request line."""

    def __init__(self, spark, root, values):
        """Write the raw lines to bronze, and to quarantine as that parser did."""
        self.spark, self.root = spark, root
        self.settings = Settings(warehouse=WarehouseSettings(root=str(root)))
        for table in SOURCE.tables:
            tables.ensure(spark, root, table)
        rows = [
            {"value": value, "topic": "t", "partition": offset % 2, "offset": offset}
            for offset, value in enumerate(values)
        ]
        columns = {"kind": "request-log", "timestamp": ARRIVED, "ingest_date": ARRIVED.date()}
        self.append(raw(spark, rows, **columns), REQUEST_LOG)
        unread = [row | {"value": row["value"][:100]} for row in rows]
        silver, _ = parse_into(raw(spark, unread, **columns), root.parent / "unread", self.settings)
        self.append(silver[QUARANTINE], QUARANTINE)

    def append(self, frame, table):
        """Append rows to a table."""
        append(frame.select(*table.schema.names), self.root, table)

    def offsets(self, table):
        """Return the offsets of a table's rows."""
        return sorted(row.offset for row in tables.read(self.spark, self.root, table).collect())

    def restore(self, **more):
        """Replay the quarantine of the source."""
        return job.restore(self.spark, self.settings, SOURCE, **more)


@pytest.fixture
def site(spark, tmp_path):
    return UnreadWarehouse(spark, tmp_path / "warehouse", [COMPLETED, TRUNCATED, COMPLETED, COMPLETED])


def test_each_line_that_can_be_read_is_restored_once(site):
    assert site.offsets(QUARANTINE) == [0, 1, 2, 3]

    first, second = site.restore(), site.restore()

    assert first == Counter({KEPT: 3, QUARANTINED: 1})
    assert second == Counter({QUARANTINED: 1})
    assert site.offsets(REQUESTS) == [0, 2, 3]
    assert site.offsets(QUARANTINE) == [1]


def test_a_run_that_stopped_after_silver_can_be_repeated(site, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(job.DeltaTable, "forPath", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            site.restore()
    assert (site.offsets(REQUESTS), site.offsets(QUARANTINE)) == ([0, 2, 3], [0, 1, 2, 3])

    site.restore()

    assert (site.offsets(REQUESTS), site.offsets(QUARANTINE)) == ([0, 2, 3], [1])


def test_a_dry_run_reports_what_it_would_do_and_writes_nothing(site):
    counts = site.restore(dry_run=True)

    line = job.outcome_line(SOURCE, counts, dry_run=True)
    assert "request-log: 3 would be restored, 1 stay in quarantine" in line
    assert (site.offsets(REQUESTS), site.offsets(QUARANTINE)) == ([], [0, 1, 2, 3])


def test_a_dry_run_makes_no_table(spark, tmp_path):
    settings = Settings(warehouse=WarehouseSettings(root=str(tmp_path)))

    assert job.restore(spark, settings, SOURCE, dry_run=True) == Counter()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_warehouse_is_wrong_use_and_stays_as_it_is(tmp_path):
    conf = tmp_path / "my.toml"
    conf.write_text(f'[warehouse]\nroot = "{tmp_path}/lake"\n')

    result = CliRunner().invoke(app, ["--conf", str(conf), "--dry-run"])

    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [conf])
    assert f"no warehouse at {tmp_path}/lake" in result.stderr


def test_it_is_refused_while_the_ingest_writes(tmp_path):
    conf = tmp_path / "my.toml"
    conf.write_text(f'[warehouse]\nroot = "{tmp_path}"\n[ingest]\nlease_timeout_s = 0.1\n')

    with lease(tmp_path, "silver", timeout_s=1):
        result = CliRunner().invoke(app, ["--conf", str(conf)])

    assert result.exit_code == 4
    assert "holds the silver lease of" in result.stderr


class Ingested:
    """A warehouse with an unfinished batch of the ingest, and a replay that only records its steps."""

    def __init__(self, root, monkeypatch):
        """Begin a batch but write none of its lines."""
        self.conf, self.restored = root / "my.toml", []
        (root / "warehouse").mkdir()
        warehouse = f'[warehouse]\nroot = "{root}/warehouse"\ncheckpoints = "{root}/checkpoints"\n'
        self.conf.write_text(f"{warehouse}[ingest]\nlease_timeout_s = 0.1\n")
        self.log = StreamLog(checkpoint_of(Settings.load(self.conf), LINES))
        writer_id(self.log.folder)
        (self.log.folder / "metadata").write_text('{"id":"d4110d41-a810-4184-8eb7-6ddf0261c033"}')
        self.log.write_ends(0, {("telemetry.request-log", 0): 10})
        monkeypatch.setattr(job, "started_session", lambda *_: None)
        monkeypatch.setattr(job, "interrupt_on_signals", lambda: None)
        monkeypatch.setattr(job, "restore", self.restore)

    def restore(self, _spark, _settings, source, **_more):
        """Record that this source would have been restored."""
        self.restored.append(source)
        return Counter()

    def replay(self):
        """Run the job in this process."""
        return CliRunner().invoke(app, ["--conf", str(self.conf)])


@pytest.fixture
def ingested(tmp_path, monkeypatch):
    return Ingested(tmp_path, monkeypatch)


def test_it_is_refused_while_a_batch_of_the_ingest_is_in_flight(ingested):
    """The retry of the batch would drop a torn newest log entry, even if the replay wrote it."""
    result = ingested.replay()
    restored_in_flight = [*ingested.restored]
    ingested.log.write_commit(0)

    assert (result.exit_code, restored_in_flight) == (5, [])
    assert f"{ingested.log.offsets_file(0)} belongs to an unfinished batch" in result.stderr
    assert "run `plumbline ingest --once` first" in result.stderr


def test_it_is_refused_while_a_file_needs_a_repair(ingested):
    ingested.log.offsets_file(0).write_text("")

    result = ingested.replay()

    assert (result.exit_code, ingested.restored) == (5, [])
    assert f"needs a repair ({ingested.log.offsets_file(0)} is torn" in result.stderr
    assert ingested.log.offsets_file(0).exists()


def test_a_warehouse_without_a_checkpoint_is_replayed(ingested):
    shutil.rmtree(ingested.log.folder.parent)

    result = ingested.replay()

    assert result.exit_code == 0, result.stderr
    assert ingested.restored == [source for source in SOURCES if source.silver]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DeltaError("Invalid JSON"), 1, "replay stopped: Invalid JSON; run it again"),
        (OSError(28, "No space left on device"), 6, "replay stopped: the disk is full: "),
        (ConnectionRefusedError(111, "Connection refused"), 1, "Spark's JVM has died"),
    ],
)
def test_every_failure_is_reported_in_one_line(ingested, monkeypatch, error, code, message):
    def fail(*_args, **_more):
        raise error

    shutil.rmtree(ingested.log.folder.parent)
    monkeypatch.setattr(job, "restore", fail)

    result = ingested.replay()

    assert (result.exit_code, result.stderr.count("\n")) == (code, 2)  # step and failure
    assert message in result.stderr


def test_a_disk_that_is_full_at_the_start_is_reported_in_one_line(ingested):
    holder = ingested.log.folder.parent.parent / "warehouse" / "_maintenance.holder.json"
    holder.symlink_to("/dev/full")

    result = ingested.replay()

    assert (result.exit_code, ingested.restored) == (6, [])
    assert "replay stopped: the disk is full: /" in result.stderr
