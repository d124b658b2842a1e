"""Run a function over many inputs on all cores."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

SMALL_BYTES = 24 * 1024 * 1024
"""A smaller input (some 25,000 request lines, a CPU-second) takes less time than the imports of a worker."""

WORKERS = 16
"""The most worker processes, because each holds a part of the input in memory."""

Mapper = Callable[..., Iterator[Any]]
"""`map`, or a `map` whose calls run in other processes; the results have the order of the inputs."""


@contextmanager
def mapper(size_bytes: int, *preload: str) -> Iterator[Mapper]:
    """
    Yield `map` for a small input, else a `map` over one process per core, which has imported `preload`.

    Functions, inputs and results must be picklable. An exception ends the processes at once.
    """
    cores = len(os.sched_getaffinity(0))
    if size_bytes < SMALL_BYTES or cores == 1:
        yield map
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    with ProcessPoolExecutor(min(cores, WORKERS), context, initializer=begin_worker) as pool:
        try:
            yield partial(_results, pool)
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def _results(
    pool: ProcessPoolExecutor, function: Callable[..., Any], *inputs: Iterable[Any]
) -> Iterator[Any]:
    """Return the results in order. `pool.map` cancels calls, which breaks a pool that loses its processes."""
    calls = [pool.submit(function, *each) for each in zip(*inputs, strict=True)]
    return (call.result() for call in calls)


def begin_worker() -> None:
    """Leave Ctrl-C to the parent process, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
