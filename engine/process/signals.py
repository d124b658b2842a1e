"""
Ctrl-C and SIGTERM mean the same to every job.

PySpark's own handler of Ctrl-C calls the JVM from inside a call to the JVM, which breaks the connection. It
is put in place with the session, so call these functions once before and once after the session is made.
"""

import logging
import signal
import threading
from types import FrameType

from pyspark.sql import SparkSession

SIGNALS = (signal.SIGINT, signal.SIGTERM)


PY4J_MODULES = ("java_gateway", "clientserver")


def interrupt_on_signals() -> None:
    """Let a signal raise KeyboardInterrupt wherever the main thread is: for work whose writes are atomic."""
    _drop_interrupts_of_py4j()
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def ask_on_signals(stop: threading.Event) -> None:
    """Let the first signal set `stop`, so that a stream ends between batches; the second ends at once."""

    def asked(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    _drop_interrupts_of_py4j()
    for number in SIGNALS:
        signal.signal(number, asked)


def hush() -> None:
    """Keep Spark from telling of the batches that are not let begin any more: they are given again."""
    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.sparkContext.setLogLevel("OFF")
    _hush_py4j()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    _hush_py4j()
    raise KeyboardInterrupt


def _hush_py4j() -> None:
    """Drop what py4j logs about the connection that the signal cuts."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)


def _drop_interrupts_of_py4j() -> None:
    """Drop the traceback that py4j logs for Ctrl-C, because the job reports the stop in one line."""
    logging.getLogger().addFilter(_is_no_interrupt_of_py4j)


# py4j logs failed commands through the root logger, so the level of its own logger does not apply.
def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module not in PY4J_MODULES


def _is_no_interrupt_of_py4j(record: logging.LogRecord) -> bool:
    if _is_not_of_py4j(record) or record.exc_info is None:
        return True
    error = record.exc_info[1]
    # PySpark's handler reads from a socket that is being read: "RuntimeError: reentrant call".
    return not any(
        isinstance(one, KeyboardInterrupt | RuntimeError)
        for one in (error, getattr(error, "__context__", None))
    )
