"""Airflow in its own environment, as `conf/airflow.sh` sets it up, over a copy of a warehouse."""

import os
import shutil
import subprocess
from pathlib import Path

from conf.settings import PROJECT

RUN_S = 540

C1 = "-XX:TieredStopAtLevel=1"
"""A JVM that lives for 15 s does not get back what it spends on its second compiler: a quarter of its CPU."""


class Airflow:
    """A warehouse, and the AIRFLOW_HOME in which its DAGs run."""

    def __init__(self, folder: Path, filled: Path | None = None, home: Path | None = None) -> None:
        """Copy what is filled: a run changes it. `home` may be shared: Airflow keeps no rows of ours."""
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
        """Run a command of Airflow's environment; give its exit code and what it said."""
        told = {"AIRFLOW_HOME": str(self.home), "PLUMBLINE_CONF": str(self.conf), "JDK_JAVA_OPTIONS": C1}
        told |= {"PLUMBLINE_REPORTS": str(self.reports)}
        # What the tests' own environment says of Spark and Python is not Airflow's.
        kept = {
            name: of for name, of in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "PYTHON"))
        }
        command = ["bash", "-c", '. "$0/conf/airflow.sh" && exec "$@"', str(PROJECT), *words]
        done = subprocess.run(
            command,
            env=kept | told,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def test(self, dag: str, *options: str) -> tuple[int, str]:
        """Run a DAG as `airflow dags test` does; its database is made when it is not there."""
        if not (self.home / "airflow.db").exists():
            code, said = self.run("airflow", "db", "migrate")
            assert code == 0, said
        return self.run("airflow", "dags", "test", dag, *options)
