"""One writer of a layer of a warehouse: a lease that ends with its process, however that ends."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

MAINTENANCE = "maintenance"
"""Held by whoever rewrites tables that others append to: `maintain`, and `replay`."""


class LeaseHeldError(RuntimeError):
    """Another process writes this layer of the warehouse."""


@contextmanager
def lease(warehouse: Path, layer: str, *, timeout_s: float) -> Iterator[None]:
    """
    Hold the lease of a layer, `_LAYER.lock` in the warehouse, for as long as the block runs.

    Raises:
        LeaseHeldError: another process holds it for longer than `timeout_s`; the message names its pid.

    """
    warehouse.mkdir(parents=True, exist_ok=True)
    # The lock file itself is emptied by whoever tries it, so the holder's name stands beside it.
    holder = warehouse / f"_{layer}.holder.json"
    try:
        with FileLock(warehouse / f"_{layer}.lock").acquire(timeout=timeout_s):
            try:
                holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
                yield
            finally:
                holder.unlink(missing_ok=True)
    except Timeout:
        message = f"{layer} of {warehouse} is being written by {_told(holder)}: stop it first, or wait for it"
        raise LeaseHeldError(message) from None


def _told(holder: Path) -> str:
    try:
        known = json.loads(holder.read_text())
    except (OSError, ValueError):
        return "another process"
    return f"process {known['pid']} on {known['host']}"
