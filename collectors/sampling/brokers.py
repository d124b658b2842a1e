"""
Read and change the log levels of running brokers, through Kafka's Java client.

librdkafka has no resource type BROKER_LOGGER. `Loggers.java` sends a separate request to each broker, and
asks all brokers at the same time.
"""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import conf.java
from collectors.sampling.errors import SampleError
from conf.exit_codes import WrongUseError
from conf.kafka_security import PLAINTEXT, KafkaSecurity, java_file

PROGRAM = Path(__file__).with_name("Loggers.java")
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Dorg.apache.logging.log4j.level=OFF")
TIMEOUT_S = 120.0
UNKNOWN, AS_PARENT = "-", "-"


@dataclass(frozen=True, slots=True)
class Level:
    """One logger of one broker."""

    broker: int
    logger: str
    level: str
    parent: str  # level of the nearest logger above it


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A level change, to apply only if the logger still has the level `before`."""

    broker: int
    logger: str
    before: str
    to: str  # AS_PARENT: remove the logger's own level


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a level change; `level` is the current level."""

    broker: int
    logger: str
    is_done: bool
    level: str


Failures = dict[int, str]
"""Broker id to the reason why the broker did not answer."""


@dataclass(frozen=True, slots=True)
class Brokers:
    """
    The observed cluster; `properties` is a config file for Kafka's Java client, instead of `security`.

    `alive` is a file descriptor that each started Java program inherits and holds open until it ends.
    """

    bootstrap_servers: str
    properties: str = ""
    security: KafkaSecurity = PLAINTEXT
    alive: int | None = None

    def levels(self, brokers: str, loggers: Sequence[str]) -> tuple[list[Level], Failures]:
        """
        Return the levels of loggers on `all` brokers, or on listed ones such as `1,3`, and the failures.

        Raises:
            SampleError: the cluster does not answer, or the Java program cannot be run.

        """
        rows = list(self._run("levels", brokers, *loggers))
        found = [Level(int(row[1]), *row[2:]) for row in rows if row[0] == "level"]
        return found, _failures(rows)

    def change(self, changes: Sequence[LevelChange]) -> tuple[list[ChangeResult], Failures]:
        """
        Change the loggers that still have the level `before`; return the results and the failures.

        Raises:
            SampleError: the cluster does not answer, or the Java program cannot be run.

        """
        words = [word for each in changes for word in (str(each.broker), each.logger, each.before, each.to)]
        rows = list(self._run("change", *words))
        results = [
            ChangeResult(int(r[1]), r[2], r[0] == "done", r[3]) for r in rows if r[0] in ("done", "other")
        ]
        return results, _failures(rows)

    def _run(self, *words: str) -> Iterator[list[str]]:
        if self.properties:
            return self._run_with(Path(self.properties), *words)
        try:
            with java_file(self.security) as file:
                return self._run_with(file, *words)
        except WrongUseError as error:  # the files were there when the command began
            raise SampleError(str(error)) from error

    def _run_with(self, properties: Path, *words: str) -> Iterator[list[str]]:
        try:
            options = (*OPTIONS, *self.security.java_options)
            command = [conf.java.java(), *options, "-cp", conf.java.class_path(), str(PROGRAM)]
            done = subprocess.run(
                [*command, self.bootstrap_servers, str(properties), *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
                pass_fds=() if self.alive is None else (self.alive,),
                start_new_session=True,  # Ctrl-C must not interrupt a change in progress
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise SampleError(str(error)) from error
        if done.returncode:
            message = f"{self.bootstrap_servers}: {_cause(done.stderr)}"
            raise SampleError(message)
        rows = (line.split("\t") for line in done.stdout.splitlines())
        return (row for row in rows if row[0] in ("level", "done", "other", "failed"))


def _failures(rows: Sequence[Sequence[str]]) -> Failures:
    return {int(row[1]): row[2] for row in rows if row[0] == "failed"}


def _cause(stderr: str) -> str:
    r"""
    Return the root cause in a Java stack trace, or else its last line.

    >>> _cause("Exception in thread x\n\tat y\nCaused by: a.TimeoutException: no node\n\tat z")
    'a.TimeoutException: no node'
    """
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith("\tat")]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or ["Kafka's client gave no reason"])[-1]
