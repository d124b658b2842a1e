"""Run Kafka's own reassignment tool, which moves, throttles and verifies the replicas."""

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
class OutputLine:
    """A line that the tool printed, and when it was read (epoch ns)."""

    at_ns: int
    text: str


def first_at(lines: Sequence[OutputLine], prefix: str) -> int | None:
    """Return when the tool first printed a line with this prefix, or None."""
    return next((line.at_ns for line in lines if line.text.startswith(prefix)), None)


def reassignment_document(topic: str, replicas: Sequence[Sequence[int]]) -> dict[str, object]:
    """Return the JSON document of the tool: the replicas of each partition, the preferred leader first."""
    partitions = [
        {"topic": topic, "partition": nth, "replicas": list(ids)} for nth, ids in enumerate(replicas)
    ]
    return {"version": 1, "partitions": partitions}


@dataclass(frozen=True, slots=True)
class ReassignmentCommand:
    """One move, as a file for the tool."""

    lab: Lab
    file: Path

    @classmethod
    def create(cls, lab: Lab, topic: str, replicas: Sequence[Sequence[int]]) -> "ReassignmentCommand":
        """Write the file of a move."""
        file = lab.state / "throttle" / f"{topic}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(reassignment_document(topic, replicas)))
        return cls(lab, file)

    def execute(self, limit_bytes_per_s: int | None) -> list[OutputLine]:
        """
        Start the move, with a throttle unless the limit is None. Return the tool's output.

        Raises:
            LabError: the tool failed, or did not confirm that the move began.

        """
        throttle = () if limit_bytes_per_s is None else ("--throttle", str(limit_bytes_per_s))
        output = self._run("--execute", *throttle)
        if first_at(output, IS_BEGUN) is None or (throttle and first_at(output, LIMIT_IS_SET) is None):
            message = f"the move of {self.file} did not begin:\n{_text(output)}"
            raise LabError(message)
        return output

    def verify(self) -> list[OutputLine]:
        """
        Verify that the move is done. The tool then removes every throttle.

        Raises:
            LabError: the tool failed, or the move is not done.

        """
        output = self._run("--verify")
        if first_at(output, IS_CLEARED) is None:
            message = f"the tool did not remove the throttles of {self.file}:\n{_text(output)}"
            raise LabError(message)
        return output

    def cancel(self) -> list[OutputLine]:
        """
        Cancel the move. The tool removes its throttles.

        Raises:
            LabError: the tool failed.

        """
        return self._run("--cancel")

    def _run(self, *arguments: str) -> list[OutputLine]:
        to = ("--bootstrap-server", self.lab.bootstrap_servers, "--reassignment-json-file", str(self.file))
        return timestamped_lines(jvm.tool(TOOL, *to, *arguments))


def timestamped_lines(command: Sequence[str]) -> list[OutputLine]:
    """
    Run a tool to its end and return its output lines, each with the instant at which it was read.

    Raises:
        LabError: the tool failed; the message quotes its output.

    """
    with _started(command) as process:
        assert process.stdout is not None  # noqa: S101 (Popen has stdout=PIPE)
        lines = [OutputLine(time.time_ns(), text.rstrip("\n")) for text in process.stdout]
        code = process.wait(jvm.TOOL_TIMEOUT_S)
    if code:
        message = f"{TOOL.rpartition('.')[2]} failed with exit code {code}:\n{_text(lines)}"
        raise LabError(message)
    return lines


@contextmanager
def _started(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """Yield a running process. Kill it when the block ends, so that Ctrl-C leaves no tool running."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=END_S)


def _text(lines: Sequence[OutputLine]) -> str:
    return "\n".join(line.text for line in lines)[-2000:]
