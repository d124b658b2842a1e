"""The failures that end the ingest, each with a message of one line and an exit code."""

import re

from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from conf.exit_codes import ExitCode
from conf.progress import first_line
from conf.settings import Settings
from engine.ingest.checkpoints import DeletedRange, NoTopicError, TopicRecreatedError
from engine.process.disk import full_disk_message
from engine.process.lease import LeaseHeldError
from engine.process.session import JvmGoneError
from engine.streams.audit.findings import StateError


class LostError(Exception):
    """The topic deleted lines before they were read."""

    def __init__(self, gone: list[DeletedRange]) -> None:
        """Build the message, with every lost range."""
        super().__init__(
            "lines are lost, the topic's retention passed the checkpoint: "
            + "; ".join(str(one) for one in gone)
            + "; nothing was written. --accept-gap records them in silver.gaps and continues"
        )


RAISED = re.compile(r"^[\w.]+(?:Error|Exception|Interrupt): (.+)$", re.MULTILINE)

FAILURES = (
    LeaseHeldError,
    LostError,
    TopicRecreatedError,
    StateError,
    NoTopicError,
    PySparkException,
    Py4JError,
    JvmGoneError,
    OSError,
    ValueError,
    DeltaError,
)


def cause(message: str) -> str:
    """Return the line with the cause; for a failed batch, Spark's message contains the whole traceback."""
    _, is_traceback, after = message.partition("Traceback (most recent call last):")
    raised = RAISED.search(after) if is_traceback else None
    return raised[1] if raised else first_line(message)


def failure(error: Exception, settings: Settings, job: str = "ingest") -> tuple[str, int]:
    """Return a message of one line for an error, and the exit code of the job."""
    if isinstance(error, LeaseHeldError):
        return str(error), ExitCode.HELD
    if isinstance(error, (LostError, TopicRecreatedError)):
        return str(error), ExitCode.GONE
    if isinstance(error, StateError):
        return str(error), ExitCode.STATE
    full = full_disk_message(settings, error)
    if full is not None:
        return f"{job} stopped: {full}", ExitCode.FULL
    return f"{job} stopped: {cause(str(error))}", ExitCode.FAILED
