"""
Handle Ctrl-C and SIGTERM in the same way in every job.

PySpark's own Ctrl-C handler calls the JVM from inside another call to the JVM, which breaks the connection.
PySpark installs it with the session, so call these functions once before and once after that.
"""

import atexit
import logging
import os
import threading

from pyspark.sql import SparkSession

from conf import signals

PY4J_MODULES = ("java_gateway", "clientserver")


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt in the main thread on a signal; for work whose writes are atomic."""
    _drop_interrupts_of_py4j()
    signals.interrupt_on_signals(_hush_py4j)


def stop_on_signals(stop: threading.Event) -> None:
    """Set `stop` on the first signal, so that a stream ends between batches; the second one kills the job."""
    _drop_interrupts_of_py4j()
    signals.stop_on_signals(stop)


def silence_spark() -> None:
    """Turn off Spark's log, which would report each refused batch as an error; the next start retries it."""
    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.sparkContext.setLogLevel("OFF")
    _hush_py4j()


def end_quietly() -> None:
    """
    Write nothing to standard error once the interpreter ends.

    The threads of Spark's callbacks live until the process is gone. DuckDB's bindings would print what these
    threads still hold, as "leaked".
    """
    atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))


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
