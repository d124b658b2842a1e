"""Tables with small files of several days, and maintenance to run on them."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from deltalake import DeltaTable
from deltalake.transaction import Transaction
from typer.testing import CliRunner

from conf.settings import PROJECT
from engine.delta import appends, log_entries, tables
from engine.maintain import actions
from engine.process.fail_points import VARIABLE
from jobs import maintain as job

app = typer.Typer()
app.command()(job.maintain)

TODAY = datetime.now(UTC).date()
HOUR_S = 3_600
MIB = 1 << 20


def days_ago(days):
    return TODAY - timedelta(days=days)


class Tables:
    """Requests and request lines of several days, each day in two small files or more."""

    def __init__(self, spark, folder, made):
        """Copy existing tables, which is faster than creating them."""
        self.spark, self.conf = spark, folder / "my.toml"
        self.root, self.checkpoints = folder / "warehouse", folder / "checkpoints"
        self.configure()
        self.nth = 0
        shutil.copytree(made, self.root)

    def configure(self, **settings):
        """Write the settings file."""
        settings = {"lease_timeout_s": 0.1} | settings
        lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
        self.conf.write_text(
            f'[warehouse]\nroot = "{self.root}"\ncheckpoints = "{self.checkpoints}"\n[maintain]\n{lines}'
        )

    def append(self, table, *days, times=2, txn=None, **more):
        """Append one row per day, each in its own file, `times` times; `txn` is (writer, batch id)."""
        column, where = actions.day_column(table), self.where(table)
        kinds = pa.schema(DeltaTable(str(where)).schema().to_arrow())
        for _ in range(times):
            self.nth += 1
            values = {"offset": self.nth, "kind": "request-log", "position": f"p{self.nth}"} | more
            attempt = where / f"ingest-{self.nth}"
            for day in days:
                file = attempt / f"{column}={day}" / "part-0.parquet"
                file.parent.mkdir(parents=True)
                names = [name for name in kinds.names if name != column]
                rows = {name: pa.array([values.get(name)], kinds.field(name).type) for name in names}
                pq.write_table(pa.table(rows), file)
            adds = list(log_entries.added(where, attempt, table))
            appends.append(where, adds, Transaction(*(txn or ("ingest", self.nth))))

    def where(self, table):
        """Return the table's folder."""
        return self.root / table.layer / table.name

    def days(self, table):
        """Return the number of rows by day, as delta-rs reads them."""
        column = actions.day_column(table)
        return Counter(
            DeltaTable(str(self.where(table))).to_pyarrow_table(columns=[column])[column].to_pylist()
        )

    def files(self, table):
        """Return the number of files by day."""
        return Counter(file.day for file in actions.files_of(DeltaTable(str(self.where(table))), table))

    def noted(self, table):
        """Return the instant from which on the table is complete."""
        return DeltaTable(str(self.where(table))).metadata().configuration.get(tables.COMPLETE_FROM)

    def maintain(self, *options):
        """Run the job in this process."""
        return CliRunner().invoke(app, ["--conf", str(self.conf), *options])

    def maintain_elsewhere(self, fail_at=""):
        """Run the job in a separate process."""
        command = [sys.executable, "-m", "plumbline", "maintain", "--conf", str(self.conf)]
        variables = {VARIABLE: fail_at} if fail_at else {}
        return subprocess.run(
            command,
            cwd=PROJECT,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
