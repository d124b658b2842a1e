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


def interrupt_on_signals() -> None:
    """Let a signal raise KeyboardInterrupt wherever the main thread is: for work whose writes are atomic."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def stop_on_signals(stop: threading.Event) -> None:
    """Let the first signal set `stop`, so that a stream ends between batches; the second ends at once."""

    def asked(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    for number in SIGNALS:
        signal.signal(number, asked)


def silence_spark() -> None:
    """Keep Spark from telling of the batches that are not let begin any more: they are given again."""
    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it mourns the connection that is cut
    raise KeyboardInterrupt
