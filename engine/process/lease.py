"""Leases, so that a layer of a warehouse has one writer. A lease ends with its process, even after a kill."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from conf.exit_codes import HeldError
from conf.private_folder import make_private
from conf.warehouse_format import check_format, mark_format

MAINTENANCE = "maintenance"
"""The lease to rewrite tables that other processes append to; `maintain` and `replay` hold it."""


@contextmanager
def lease(warehouse: Path, layer: str, *, timeout_s: float, is_dry_run: bool = False) -> Iterator[None]:
    """
    Hold the lease of a layer, `_LAYER.lock` in the warehouse, while the block runs; mark the warehouse.

    A dry run checks its mark and writes none.

    Raises:
        HeldError: another process holds it for longer than `timeout_s`; the message names its pid.
        WarehouseFormatError: a newer Plumbline has written the warehouse.

    """
    make_private(warehouse)
    # Each attempt to lock empties the lock file, so another file names the holder.
    holder = warehouse / f"_{layer}.holder.json"
    try:
        with FileLock(warehouse / f"_{layer}.lock").acquire(timeout=timeout_s):
            try:
                holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
                (check_format if is_dry_run else mark_format)(warehouse)
                yield
            finally:
                holder.unlink(missing_ok=True)
    except Timeout:
        message = f"{_process(holder)} holds the {layer} lease of {warehouse}; stop it, or wait until it ends"
        raise HeldError(message) from None


def _process(holder: Path) -> str:
    try:
        known = json.loads(holder.read_text())
    except (OSError, ValueError):
        return "another process"
    return f"process {known['pid']} on {known['host']}"
