"""The command `plumbline collect`. Without Spark, use `python -m collectors`."""

import logging
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from collectors.main import run
from conf.exit_codes import CommandError, exit_code_of
from conf.progress import Progress
from conf.settings import Settings
from conf.signals import stop_on_signals


def collect(
    conf: Annotated[
        list[Path],
        typer.Option(
            "--conf",
            exists=True,
            dir_okay=False,
            help="TOML settings file; repeatable, for each key the last file wins.",
        ),
    ],
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Collect what exists now, wait for all acks, and exit.")
    ] = False,
) -> None:
    """
    Tail Kafka logs, scrape JMX exporters, and publish the raw lines to the telemetry topics.

    Ctrl-C stops the collector cleanly; a second Ctrl-C kills it. The next start continues after the last
    acknowledged line.

    For example:

        plumbline collect --conf lab.toml

        plumbline collect --conf site.toml --conf broker-1.toml --once

    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    stop, progress = threading.Event(), Progress()
    stop_on_signals(stop)
    try:
        settings = Settings.load(*conf)
        settings.check_cluster(*conf)
        summary = run(settings, stop, once=once)
    except (CommandError, ValueError, OSError) as error:
        progress.say(f"collect: {error}")
        raise typer.Exit(exit_code_of(error)) from error
    progress.say(f"collected {summary.lines:,} lines, {summary.read_bytes:,} bytes")
