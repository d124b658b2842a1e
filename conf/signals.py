"""
Handle Ctrl-C and SIGTERM in the same way in every command.

Jobs of Spark use `engine.process.signals`. An event loop adds its own handler: no other would wake it.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Raise KeyboardInterrupt on the first signal, and ignore later ones, so that the clean-up finishes."""
    is_stopping = threading.Event()

    def interrupt(_number: int) -> None:
        if not is_stopping.is_set():
            is_stopping.set()
            raise KeyboardInterrupt

    with handled_by(interrupt):
        yield


@contextmanager
def handled_by(handle: Callable[[int], None]) -> Iterator[None]:
    """Call a function with the number of each signal while the block runs; only the main thread can do so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda number, _frame: handle(number)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
