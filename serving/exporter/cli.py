"""`plumbline export`: exit codes 0 stopped, 1 the port is taken, 2 wrong settings or no such gold."""

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from prometheus_client.exposition import generate_latest

from answers.exported.gold import ExportedGold
from answers.gold.reader import GoldReader, NoGoldError
from conf.exit_codes import ExitCode, WrongUseError, exit_code_of
from conf.http_hosts import LOOPBACK, LOOPBACKS
from conf.metrics_endpoint import metrics_endpoint
from conf.settings import Settings
from conf.signals import stop_on_signals
from conf.warehouse_format import check_format
from serving.exporter.serve import registry_of


def export(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True, dir_okay=False)
    ] = None,
    *,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Instead of [export] port; 0 is a free one.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; there is no authentication.")] = LOOPBACK,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name under which others reach it, besides that of this machine; repeat it."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one page and end.")] = False,
) -> None:
    """
    Serve gold as Prometheus metrics; their meaning: docs/prometheus-export.md.

    Ctrl-C ends it (exit code 0). Exit code 1: the port is taken. Exit code 2: wrong settings, or no gold.
    For example:

        plumbline export --conf my.toml

        plumbline export --conf my.toml --port 9465

        plumbline export --conf my.toml --host 0.0.0.0 --name metrics.example.org

        plumbline export --conf my.toml --once

    """
    try:
        settings = Settings.load(*(conf or ()))
        check_format(settings.warehouse_root)
        reader = GoldReader.of_warehouse(settings.warehouse_root)
        registry = registry_of(ExportedGold(reader, asdict(settings.export)))
    except (NoGoldError, ValueError) as error:
        typer.echo(f"export: {error}", err=True)
        raise typer.Exit(ExitCode.WRONG) from error
    if once:
        typer.echo(generate_latest(registry).decode(), nl=False)
        return
    stop = threading.Event()
    stop_on_signals(stop)
    setting, port = ("[export] port", settings.export.port) if port is None else ("--port", port)
    try:
        with metrics_endpoint(registry, port, setting, host, name or ()) as url:
            if host not in LOOPBACKS:
                typer.echo("export: any host can read this port: there is no authentication", err=True)
            typer.echo(f"export: {url}", err=True)
            stop.wait()
    except (WrongUseError, OSError) as error:
        typer.echo(f"export: {error}", err=True)
        raise typer.Exit(exit_code_of(error)) from error
