"""`plumbline migrate`: shown first, done once, and nothing is left to do."""

import dataclasses

import pytest
from pyspark.sql.types import StructType
from typer.testing import CliRunner

from conf.settings import Settings
from conf.warehouse_format import MARK
from engine.delta import tables
from engine.ingest.positions import checkpoint_of
from engine.ingest.sources import FORMER_QUERIES, LINES
from engine.process.hadoop_files import ASIDE
from engine.process.lease import lease
from engine.streams.log import StreamLog
from engine.streams.writer_id import writer_id
from jobs.migrate import app, changes
from plumbline.cli import app as plumbline
from schemas.silver.requests import REQUESTS

FORMER = FORMER_QUERIES[0]
ADDED = "response_bytes"


class OutdatedWarehouse:
    """A warehouse of an earlier release: a checkpoint of a former query, and a table that lacks a column."""

    def __init__(self, folder):
        """Create the table without rows, and the checkpoint without a batch."""
        self.folder, self.conf = folder, folder / "my.toml"
        self.conf.write_text(
            f'[warehouse]\nroot = "{folder / "w"}"\ncheckpoints = "{folder / "c"}"\n'
            "[ingest]\nlease_timeout_s = 0.2\n"
        )
        self.settings = Settings.load(self.conf)
        self.root = self.settings.warehouse_root
        fields = [field for field in REQUESTS.schema if field.name != ADDED]
        tables.make(self.root, dataclasses.replace(REQUESTS, schema=StructType(fields)))
        self.former = checkpoint_of(self.settings, FORMER)
        writer_id(self.former)

    def migrate(self, *options):
        """Run the command; return its exit code and its progress lines."""
        done = CliRunner().invoke(app, ["--conf", str(self.conf), *options])
        return done.exit_code, done.stderr

    def files(self):
        """Return all files of the warehouse and the checkpoints."""
        return {file: file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}


@pytest.fixture
def former(tmp_path):
    return OutdatedWarehouse(tmp_path)


def test_without_yes_each_change_is_shown_and_no_file_changes(former):
    before = former.files()
    code, said = former.migrate()

    assert code == 0
    assert said.splitlines() == [
        f"to do: {former.root / MARK} is written: format 1",
        f"to do: {LINES.name} continues from {FORMER.name}, whose checkpoint is set aside",
        f"to do: silver.requests gets {ADDED}",
        "nothing was changed; `plumbline migrate --yes` does it",
    ]
    assert former.files() == before


@pytest.mark.usefixtures("spark")
def test_with_yes_each_change_is_done_and_the_next_run_has_nothing_to_do(former):
    code, said = former.migrate("--yes")

    assert (code, said.splitlines()[-1]) == (0, "done: 3 changes")
    assert changes(former.settings) == []
    assert tables.missing_columns(former.root, REQUESTS) == []
    assert not former.former.exists()
    assert [path.name for path in (former.former.parent / ASIDE).iterdir()] == [f"{former.former.name}.0"]
    assert StreamLog(checkpoint_of(former.settings, LINES)).offsets == []  # the former query had no batch
    after = former.files()
    assert former.migrate("--yes") == (0, f"nothing to do: {former.root} is of this release\n")
    assert former.files() == after


def test_nothing_is_changed_while_a_writer_runs(former):
    with lease(former.root, "silver", timeout_s=1):
        code, said = former.migrate("--yes")

    assert code == 4
    assert "holds the silver lease" in said
    assert former.former.exists()
    assert tables.missing_columns(former.root, REQUESTS) == [ADDED]


def test_without_a_warehouse_it_creates_none(tmp_path):
    conf = tmp_path / "my.toml"
    conf.write_text(f'[warehouse]\nroot = "{tmp_path / "w"}"\n')
    done = CliRunner().invoke(plumbline, ["migrate", "--conf", str(conf), "--yes"])

    assert done.exit_code == 2
    assert "no warehouse at" in done.stderr
    assert [*tmp_path.iterdir()] == [conf]
