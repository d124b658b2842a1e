"""How a job of Spark starts and ends: its session, and one line and an exit code for each failure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from conf.exit_codes import CommandError, ExitCode, exit_code_of
from conf.progress import Progress, first_line
from conf.settings import Settings
from engine.process.disk import full_disk_message
from engine.process.session import jvm_watched, spark_session
from engine.process.shared_storage import check_shared
from engine.process.signals import interrupt_on_signals

FAILURES = (CommandError, PySparkException, Py4JError, DeltaError, OSError, ValueError)
_OF_JVM = r"An error occurred while calling \S+\n: [\w.$]+: "
"""What py4j writes before the message of an error of the JVM."""

RAISED = re.compile(rf"^[\w.]+(?:Error|Exception|Interrupt): (?:{_OF_JVM})?(.+)$", re.MULTILINE)


@contextmanager
def job(  # noqa: PLR0913 (who reports, and what a stop means)
    name: str,
    settings: Settings,
    progress: Progress,
    *,
    stopped: str = "stopped",
    stopped_code: int = ExitCode.INTERRUPTED,
    again: str = "",
) -> Iterator[None]:
    """
    Print a failure of the block in one line and end with its exit code; Ctrl-C prints `stopped`.

    `again` is added if the job can simply be run again.
    """
    try:
        with jvm_watched():
            yield
    except FAILURES as error:
        message, code = failure(error, settings, name)
        is_repeatable = again and code in (ExitCode.FAILED, ExitCode.FULL)
        progress.say(f"{message}; {again}" if is_repeatable else message)
        raise typer.Exit(code) from error
    except KeyboardInterrupt as error:
        progress.say(stopped)
        raise typer.Exit(stopped_code) from error


@contextmanager
def wrong_use(progress: Progress) -> Iterator[None]:
    """End with exit code 2 if the options or settings that the block reads are wrong."""
    try:
        yield
    except ValueError as error:
        progress.say(str(error))
        raise typer.Exit(ExitCode.WRONG) from error


def started_session(settings: Settings, name: str) -> SparkSession:
    """
    Return a session that shares the warehouse with its executors; Ctrl-C raises KeyboardInterrupt.

    Raises:
        NotSharedError: driver and executors do not see the same folder.

    """
    spark = spark_session(settings, name)
    interrupt_on_signals()
    check_shared(spark, settings.warehouse_root)
    return spark


def failure(error: Exception, settings: Settings, name: str) -> tuple[str, int]:
    """Return a message of one line for an error, and the exit code of the job."""
    code = exit_code_of(error)
    if code != ExitCode.FAILED:
        return str(error), code
    full = full_disk_message(settings, error)
    if full is not None:
        return f"{name} stopped: {full}", ExitCode.FULL
    return f"{name} stopped: {cause(str(error) or type(error).__name__)}", ExitCode.FAILED


def cause(message: str) -> str:
    """Return the line with the cause; for a failed batch, Spark's message contains the whole traceback."""
    _, is_traceback, after = message.partition("Traceback (most recent call last):")
    raised = RAISED.search(after) if is_traceback else None
    return raised[1] if raised else first_line(re.sub(f"^{_OF_JVM}", "", message))
