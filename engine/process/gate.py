"""A stop between batches instead of in the middle of one."""

import threading

FINISH_BATCH_S = 60.0
"""So long a batch that is being written may take to end when the job is stopped."""


class Gate:
    """Lets batches end, and no further ones begin, before their queries are stopped."""

    def __init__(self) -> None:
        """Open."""
        self._is_open = True
        self._running = 0
        self._changed = threading.Condition()

    def enter(self) -> None:
        """
        Begin a batch.

        Raises:
            InterruptedError: the job is being stopped; the batch is given again at the next start.

        """
        with self._changed:
            if not self._is_open:
                message = "the job is being stopped"
                raise InterruptedError(message)
            self._running += 1

    def leave(self) -> None:
        """End a batch."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Let no batch begin any more; tell whether those that run have ended in time."""
        with self._changed:
            self._is_open = False
            return self._changed.wait_for(lambda: self._running == 0, timeout_s)
