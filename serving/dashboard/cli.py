"""`plumbline dashboard`: gold in a browser."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, NamedTuple, NoReturn

import typer

from conf.exit_codes import ExitCode, WrongUseError
from conf.http_hosts import LOOPBACK, LOOPBACKS, names_of
from conf.instants import UNITS_S, seconds_of
from conf.signals import interrupt_on_signals
from conf.warehouse_format import check_format
from serving.settings import settings_of


def dashboard(  # noqa: PLR0913 (the options of a command)
    *,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings that name the warehouse; the last file wins.")
    ] = None,
    warehouse: Annotated[Path | None, typer.Option(help="The warehouse's folder, instead of --conf.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = LOOPBACK,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name under which others reach it, besides that of this machine; repeat it."),
    ] = None,
    users: Annotated[
        Path | None, typer.Option(help="File with a line NAME:HASH for each user; see docs/dashboard.md.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8050,
    since: Annotated[
        str, typer.Option(help="How far back to show, counted from the newest window: 36h, 7d.")
    ] = "1d",
    former_days: Annotated[float | None, typer.Option("--days", min=0.01, hidden=True)] = None,
) -> None:
    """
    Show gold in a browser, live: who is slow and since when, incidents, fetches, throttles, clients, runs.

    It makes no network requests. Without `--users` there is no login: on an address other than loopback,
    anyone who reaches the port can read everything. Ctrl-C ends it (exit code 130).
    Exit code 2: there is no gold, or the port is taken.

    Example: `plumbline dashboard --conf my.toml --since 7d`

    Example: `plumbline dashboard --warehouse .state/demo/warehouse --port 0`

    Example: `plumbline dashboard --conf my.toml --host 0.0.0.0 --name kafka.example.org --users users.txt`
    """
    interrupt_on_signals()
    try:
        former_s = None if former_days is None else former_days * UNITS_S["d"]
        reach_s = seconds_of("--since", since, former_s, is_positive=True)
        place = Listening(host, port, tuple(name or ()), users)
        _serve(_root(conf or [], warehouse), place, timedelta(seconds=reach_s))
    except WrongUseError as error:
        _wrong_use(str(error))
    except KeyboardInterrupt as error:
        typer.echo("stopped", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from error


class Listening(NamedTuple):
    """Where the dashboard listens, under which further names, and the file of its users."""

    host: str
    port: int
    names: tuple[str, ...]
    users: Path | None


def _serve(root: Path, place: Listening, reach: timedelta) -> None:
    # Imported here, so that other commands do not wait for these modules.
    from answers.gold.reader import GoldReader, NoGoldError, QueryBounds  # noqa: PLC0415
    from serving.dashboard.app import make  # noqa: PLC0415
    from serving.dashboard.serve import address_of, server  # noqa: PLC0415
    from serving.dashboard.users import Users, UsersError  # noqa: PLC0415

    host, port = place.host, place.port
    try:
        users = Users.of_file(place.users) if place.users else None
        app = make(GoldReader.of_warehouse(root, QueryBounds()), names_of(host, place.names), reach, users)
        serving = server(app, host, port)
    except (NoGoldError, UsersError) as error:
        _wrong_use(str(error))
    except OSError as error:
        _wrong_use(
            f"{host} port {port} is not available: {error.strerror or error}; --port 0 takes a free one"
        )
    if host not in LOOPBACKS:
        risk = "passwords can be read on their way" if users else "anyone can read all, there is no login"
        typer.secho(
            f"warning: {host} is not loopback; {risk}. Put a proxy with TLS before it (docs/dashboard.md)",
            fg="yellow",
            err=True,
        )
    typer.echo(f"dashboard of {root}: {address_of(serving)}")
    serving.serve_forever()
    raise KeyboardInterrupt  # werkzeug caught it


def _root(conf: list[Path], warehouse: Path | None) -> Path:
    if bool(conf) == (warehouse is not None):
        _wrong_use("give either --conf FILE or --warehouse DIR")
    if warehouse is None:
        return settings_of(conf).warehouse_root
    if not warehouse.is_dir():
        _wrong_use(f"no folder {warehouse}: --warehouse names the folder of a warehouse")
    check_format(warehouse)
    return warehouse.resolve()


def _wrong_use(message: str) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(ExitCode.WRONG)
