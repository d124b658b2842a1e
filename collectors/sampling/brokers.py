"""
The loggers of running brokers, by Kafka's own Java client.

librdkafka has no BROKER_LOGGER resource; `Loggers.java` asks each broker for itself.
"""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import conf.java
from collectors.sampling.errors import SampleError

PROGRAM = Path(__file__).with_name("Loggers.java")
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Dorg.apache.logging.log4j.level=OFF")
TIMEOUT_S = 120.0
UNKNOWN, AS_PARENT = "-", "-"


@dataclass(frozen=True, slots=True)
class Level:
    """One logger of one broker."""

    broker: int
    logger: str
    level: str
    parent: str  # of the nearest logger above it


@dataclass(frozen=True, slots=True)
class Change:
    """A logger to be changed, if it still has the level `before`."""

    broker: int
    logger: str
    before: str
    to: str  # AS_PARENT takes its own level away


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change: `level` is the level now."""

    broker: int
    logger: str
    is_done: bool
    level: str


Failures = dict[int, str]
"""Brokers that did not answer, and why."""


@dataclass(frozen=True, slots=True)
class Brokers:
    """
    The observed cluster; `properties` is a file for Kafka's Java client (TLS, SASL).

    `alive` is a file descriptor that each program started here holds until it has ended.
    """

    bootstrap_servers: str
    properties: str = ""
    alive: int | None = None

    def levels(self, brokers: str, loggers: Sequence[str]) -> tuple[list[Level], Failures]:
        """
        Read levels of `all` brokers or of those named, `1,3`.

        Raises:
            SampleError: the cluster does not answer, or the program cannot be run.

        """
        told = list(self._told("levels", brokers, *loggers))
        found = [Level(int(row[1]), *row[2:]) for row in told if row[0] == "level"]
        return found, _failures(told)

    def change(self, changes: Sequence[Change]) -> tuple[list[Outcome], Failures]:
        """
        Change what still has the level it is said to have.

        Raises:
            SampleError: the cluster does not answer, or the program cannot be run.

        """
        words = [word for each in changes for word in (str(each.broker), each.logger, each.before, each.to)]
        told = list(self._told("change", *words))
        outcomes = [Outcome(int(r[1]), r[2], r[0] == "done", r[3]) for r in told if r[0] in ("done", "other")]
        return outcomes, _failures(told)

    def _told(self, *words: str) -> Iterator[list[str]]:
        try:
            command = [conf.java.java(), *OPTIONS, "-cp", conf.java.class_path(), str(PROGRAM)]
            done = subprocess.run(
                [*command, self.bootstrap_servers, self.properties or "-", *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
                pass_fds=() if self.alive is None else (self.alive,),
                start_new_session=True,  # Ctrl-C is for us: what was begun is brought to its end
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise SampleError(str(error)) from error
        if done.returncode:
            message = f"{self.bootstrap_servers}: {_cause(done.stderr)}"
            raise SampleError(message)
        rows = (line.split("\t") for line in done.stdout.splitlines())
        return (row for row in rows if row[0] in ("level", "done", "other", "failed"))


def _failures(told: Sequence[Sequence[str]]) -> Failures:
    return {int(row[1]): row[2] for row in told if row[0] == "failed"}


def _cause(said: str) -> str:
    r"""
    Give the line of a Java trace that tells most.

    >>> _cause("Exception in thread x\n\tat y\nCaused by: a.TimeoutException: no node\n\tat z")
    'a.TimeoutException: no node'
    """
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("\tat")]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or ["Kafka's client told no reason"])[-1]
