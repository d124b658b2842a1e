"""Kafka's own tool for reassignments: replicas are moved, throttled and verified by it and nothing else."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import jvm
from lab.errors import LabError
from lab.layout import Lab

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
LIMIT_IS_SET = "The inter-broker throttle limit was set"
IS_BEGUN = "Successfully started"
IS_CLEARED = "Clearing broker-level throttles"
END_S = 5.0


@dataclass(frozen=True, slots=True)
class Line:
    """What the tool printed, and when it was read (epoch ns)."""

    at_ns: int
    text: str


def first_at(lines: Sequence[Line], begins: str) -> int | None:
    """Return when the tool first printed a line that begins so; None when it never did."""
    return next((line.at_ns for line in lines if line.text.startswith(begins)), None)


def wanted(topic: str, replicas: Sequence[Sequence[int]]) -> dict[str, object]:
    """Return the tool's own document: each partition's replicas, the preferred leader first."""
    of = [{"topic": topic, "partition": nth, "replicas": list(ids)} for nth, ids in enumerate(replicas)]
    return {"version": 1, "partitions": of}


@dataclass(frozen=True, slots=True)
class Reassignment:
    """One move as a file that the tool reads."""

    lab: Lab
    file: Path

    @classmethod
    def of(cls, lab: Lab, topic: str, replicas: Sequence[Sequence[int]]) -> "Reassignment":
        """Write the file."""
        file = lab.state / "throttle" / f"{topic}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(wanted(topic, replicas)))
        return cls(lab, file)

    def execute(self, limit_bytes_per_s: int | None) -> list[Line]:
        """
        Begin the move, with a throttle unless the limit is None; return what the tool said.

        Raises:
            LabError: the tool failed, or did not say that the move has begun.

        """
        throttle = () if limit_bytes_per_s is None else ("--throttle", str(limit_bytes_per_s))
        said = self._run("--execute", *throttle)
        if first_at(said, IS_BEGUN) is None or (throttle and first_at(said, LIMIT_IS_SET) is None):
            message = f"the move of {self.file} has not begun:\n{_text(said)}"
            raise LabError(message)
        return said

    def verify(self) -> list[Line]:
        """
        Let the tool look whether the move is done; when it is, the tool takes every throttle away.

        Raises:
            LabError: the tool failed, or the move is not done.

        """
        said = self._run("--verify")
        if first_at(said, IS_CLEARED) is None:
            message = f"the tool has not taken the throttles of {self.file} away:\n{_text(said)}"
            raise LabError(message)
        return said

    def cancel(self) -> list[Line]:
        """
        Break the move off; the tool takes its throttles away.

        Raises:
            LabError: the tool failed.

        """
        return self._run("--cancel")

    def _run(self, *arguments: str) -> list[Line]:
        to = ("--bootstrap-server", self.lab.bootstrap_servers, "--reassignment-json-file", str(self.file))
        return told(jvm.tool(TOOL, *to, *arguments))


def told(command: Sequence[str]) -> list[Line]:
    """
    Run a tool to its end and return its lines, each with the instant at which it was printed.

    Raises:
        LabError: it failed; what it said is quoted.

    """
    with _started(command) as process:
        assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
        lines = [Line(time.time_ns(), text.rstrip("\n")) for text in process.stdout]
        code = process.wait(jvm.TOOL_TIMEOUT_S)
    if code:
        message = f"{TOOL.rpartition('.')[2]} failed with exit code {code}:\n{_text(lines)}"
        raise LabError(message)
    return lines


@contextmanager
def _started(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """Give a running program that is ended with the block: Ctrl-C leaves no tool behind."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=END_S)


def _text(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines)[-2000:]
