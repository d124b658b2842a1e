"""Handle Ctrl-C and SIGTERM in the same way in every command; jobs of Spark use `engine.process.signals`."""

import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def interrupt_on_signals(first: Callable[[], None] = lambda: None) -> None:
    """Raise KeyboardInterrupt in the main thread on a signal, after a call of `first`."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        first()
        raise KeyboardInterrupt

    for number in SIGNALS:
        signal.signal(number, interrupt)


def stop_on_signals(stop: threading.Event, signals: Iterable[signal.Signals] = SIGNALS) -> None:
    """Set `stop` on the first signal, so that work ends at its next step; the second one kills it."""

    def set_stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    for number in signals:
        signal.signal(number, set_stop)
