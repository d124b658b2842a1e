"""`plumbline collect`, and the same without Spark installed: `python -m collectors`."""

import logging
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from collectors.errors import CollectorError
from collectors.main import run
from conf.settings import Settings


def collect(
    conf: Annotated[
        list[Path],
        typer.Option("--conf", exists=True, dir_okay=False, help="Settings in TOML; may be given again."),
    ],
    *,
    once: Annotated[bool, typer.Option("--once", help="Read what is there, wait for the acks, end.")] = False,
) -> None:
    """
    Tail logs and scrape exporters into the telemetry topics, raw.

    Ctrl-C ends it cleanly, a second one at once; the next start reads on from the last acknowledged line.

    For example:

        plumbline collect --conf lab.toml

        plumbline collect --conf site.toml --conf broker-1.toml --once

    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    stop = threading.Event()
    _stop_on_signals(stop)
    try:
        settings = Settings.load(*conf)
        summary = run(settings, stop, once=once)
    except (CollectorError, ValueError, OSError) as error:
        typer.echo(f"collect: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"collected {summary.lines:,} lines, {summary.read_bytes:,} bytes", err=True)


def _stop_on_signals(stop: threading.Event) -> None:
    def on_signal(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # the next one ends the process at once
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
