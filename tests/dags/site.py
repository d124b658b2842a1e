"""Airflow in its own environment, as `conf/airflow.sh` sets it up, over a copy of a warehouse."""

import os
import shutil
import subprocess
from pathlib import Path

from conf.settings import PROJECT
from tests.jvm_options import C1

RUN_S = 1_500
"""The time limit of one command. Gold's DAG takes 170 s alone on slow cores, with others over 400 s."""


class Airflow:
    """A warehouse, and the AIRFLOW_HOME of its DAGs."""

    def __init__(self, folder: Path, filled: Path | None = None, home: Path | None = None) -> None:
        """Copy the warehouse, because a run changes it; `home` can be shared, since it has no table data."""
        self.home = home or folder / "airflow"
        self.folder, self.conf, self.reports = folder, folder / "my.toml", folder / "reports"
        self.warehouse = folder / "warehouse"
        for name in ("warehouse", "checkpoints"):
            if filled and (filled / name).is_dir():
                shutil.copytree(filled / name, folder / name)
        self.conf.write_text(
            f'[warehouse]\nroot = "{self.warehouse}"\ncheckpoints = "{folder / "checkpoints"}"\n'
        )

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command in Airflow's environment; return its exit code and output."""
        variables = {"AIRFLOW_HOME": str(self.home), "PLUMBLINE_CONF": str(self.conf), "JDK_JAVA_OPTIONS": C1}
        variables |= {"PLUMBLINE_REPORTS": str(self.reports)}
        # The variables of the tests' environment for Spark and Python must not reach Airflow.
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYSPARK", "SPARK", "PYTHON"))
        }
        command = ["bash", "-c", '. "$0/conf/airflow.sh" && exec "$@"', str(PROJECT), *words]
        done = subprocess.run(
            command,
            env=inherited | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def test(self, dag: str, *options: str) -> tuple[int, str]:
        """Run a DAG with `airflow dags test`; create the database if it is missing."""
        if not (self.home / "airflow.db").exists():
            code, output = self.run("airflow", "db", "migrate")
            assert code == 0, output
        return self.run("airflow", "dags", "test", dag, *options)
