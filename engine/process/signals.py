"""
Handle Ctrl-C and SIGTERM in the same way in every job.

PySpark's own Ctrl-C handler calls the JVM from inside another call to the JVM, which breaks the connection.
PySpark installs it with the session, so call these functions once before and once after that.
"""

import logging
import signal
import threading
from types import FrameType

from pyspark.sql import SparkSession

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt in the main thread on a signal; for work whose writes are atomic."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def stop_on_signals(stop: threading.Event) -> None:
    """Set `stop` on the first signal, so that a stream ends between batches; the second one kills the job."""

    def set_stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    for number in SIGNALS:
        signal.signal(number, set_stop)


def silence_spark() -> None:
    """Turn off Spark's log, which would report each refused batch as an error; the next start retries it."""
    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it would log the broken connection
    raise KeyboardInterrupt
