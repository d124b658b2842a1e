"""A real Spark standalone cluster on loopback: a master, workers of one core, and jobs submitted to it."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from conf.settings import PROJECT
from lab.ports import free_ports

START_S, JOB_S = 60.0, 600.0
MEMORY = "1g"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """A cluster that runs; `folder` holds its settings and logs."""

    folder: Path
    master: str

    def submit(
        self, job: str, *options: str, executors: int = 2, fails: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        """
        Run a job to its end, with the driver here and the tasks on the cluster.

        Raises:
            RuntimeError: it ended with another code than 0, and `fails` did not say that it would.

        """
        command = [_program("spark-submit"), "--master", self.master, "--executor-memory", MEMORY]
        command += ["--total-executor-cores", str(executors)]
        done = subprocess.run(
            [*command, str(PROJECT / "jobs" / f"{job}.py"), *options],
            cwd=PROJECT,
            env=_environment(self.folder),
            capture_output=True,
            text=True,
            check=False,
            timeout=JOB_S,
        )
        # What a Python driver says on stderr, spark-submit writes to its stdout.
        (self.folder / f"{job}.log").write_text(done.stderr + done.stdout)
        if done.returncode and not fails:
            message = f"{job} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
            raise RuntimeError(message)
        return done


@contextmanager
def standalone(folder: Path, *, workers: int = 2) -> Iterator[Standalone]:
    """
    Start a master and workers, and end them with the block.

    Raises:
        RuntimeError: a worker did not register within a minute.

    """
    (folder / "conf").mkdir(parents=True)
    defaults = folder / "conf" / "spark-defaults.conf"
    defaults.touch(mode=0o600)
    defaults.write_text(_defaults())
    ports = free_ports()
    port, page, *of_workers = (str(next(ports)) for _ in range(2 + workers))
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with ExitStack() as running:
        command = [_program("spark-class"), f"{deploy}.master.Master", "--host", "127.0.0.1"]
        running.enter_context(_started([*command, "--port", port, "--webui-port", page], folder, "master"))
        for nth, its_page in enumerate(of_workers):
            worker = [_program("spark-class"), f"{deploy}.worker.Worker", "--host", "127.0.0.1"]
            worker += ["--cores", "1", "--memory", MEMORY, "--work-dir", str(folder / f"work-{nth}")]
            worker += ["--webui-port", its_page, master]
            running.enter_context(_started(worker, folder, f"worker-{nth}"))
        _wait_for(folder / "master.log", workers)
        yield Standalone(folder=folder, master=master)


def _defaults() -> str:
    jars = PROJECT / ".jars" / "spark" / "*"
    options = {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        # Pages of metrics are unpacked in Python there; a zip by --py-files would hide conf/ from the driver.
        "spark.executorEnv.PYTHONPATH": PROJECT,
        "spark.driver.host": "127.0.0.1",
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(32),
        "spark.network.crypto.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
    }
    return "".join(f"{key} {value}\n" for key, value in options.items())


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(PROJECT),
    }


@contextmanager
def _started(command: Sequence[str], folder: Path, name: str) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=_environment(folder), stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(START_S)


def _wait_for(log: Path, workers: int) -> None:
    give_up_at = time.monotonic() + START_S
    while log.read_text(errors="replace").count("Registering worker") < workers:
        if time.monotonic() > give_up_at:
            message = f"not all workers have come:\n{log.read_text(errors='replace')[-3000:]}"
            raise RuntimeError(message)
        time.sleep(0.2)


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))
