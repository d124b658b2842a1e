"""Stop a job between two batches, not in the middle of one."""

import threading

FINISH_BATCH_S = 60.0
"""The longest wait for a running batch when the job stops."""


class Gate:
    """Count the running batches; once closed, refuse new ones, so that queries stop between batches."""

    def __init__(self) -> None:
        """Create an open gate."""
        self._is_open = True
        self._running = 0
        self._changed = threading.Condition()

    def enter(self) -> None:
        """
        Begin a batch.

        Raises:
            InterruptedError: the job is stopping; Spark retries the batch at the next start.

        """
        with self._changed:
            if not self._is_open:
                message = "the job is stopping"
                raise InterruptedError(message)
            self._running += 1

    def leave(self) -> None:
        """End a batch."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Refuse new batches; return whether the running ones ended in time."""
        with self._changed:
            self._is_open = False
            return self._changed.wait_for(lambda: self._running == 0, timeout_s)
