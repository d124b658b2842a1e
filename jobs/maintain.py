"""
Maintain the tables while the streams run: delete old days, merge small files, remove unused files.

Exit codes: 0 done, 1 a table failed, needs `--yes`, or its log is damaged (the other tables are done), 2
wrong settings or options, or there is no table, 4 another `maintain` or a `replay` runs, 6 a disk is full,
130 stopped.
It does not start Spark. `plumbline maintain --conf my.toml`, once a day, from cron or Airflow.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from conf.exit_codes import ExitCode
from conf.progress import Progress, first_line
from conf.settings import Maintain, Settings
from engine.maintain.table import TableMaintenance, UnconfirmedError
from engine.process.disk import full_disk_message
from engine.process.job import job, wrong_use
from engine.process.lease import MAINTENANCE, lease
from engine.process.signals import interrupt_on_signals
from engine.streams.audit.findings import StateError
from schemas.bronze import BRONZE
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.silver import SILVER

ALL = (*BRONZE, *SILVER, *GOLD)

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
def maintain(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True)
    ] = None,
    *,
    only: Annotated[
        list[str] | None, typer.Option(help="A layer (silver) or a table (silver.requests); repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be done.")] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Delete also more than half of a table, or if the clock seems wrong."),
    ] = False,
) -> None:
    """
    Delete old days, merge small files and remove unused files, while ingest and build-gold run.

    The section [maintain] of the settings has the retention of each layer. Run it once a day.

    Example: `plumbline maintain --conf my.toml --dry-run`

    Example: `plumbline maintain --conf my.toml --only silver`
    """
    progress = Progress()
    with wrong_use(progress):
        settings = Settings.load(*(conf or ()))
        check(settings.maintain)
        chosen = present(settings, choose(only or []))
    interrupt_on_signals()
    with (
        job("maintain", settings, progress, stopped="stopped; nothing is half done, run it again"),
        lease(
            settings.warehouse_root,
            MAINTENANCE,
            timeout_s=settings.maintain.lease_timeout_s,
            is_dry_run=dry_run,
        ),
    ):
        code = _in_thread(lambda: run(settings, chosen, progress, dry_run=dry_run, is_confirmed=yes))
    if code:
        raise typer.Exit(code)


def check(settings: Maintain) -> None:
    """
    Refuse settings that would delete files which a writer or reader still needs.

    Raises:
        ValueError: a setting is too small; the message names it and its minimum.

    """
    least = {
        "bronze_days": 0,
        "silver_days": 0,
        "gold_days": 0,
        "target_file_mib": 1,
        "compact_from_files": 2,
        "vacuum_retention_hours": 24,
    }
    for name, low in least.items():
        if getattr(settings, name) < low:
            message = f"[maintain] {name} = {getattr(settings, name)}: must be at least {low}"
            raise ValueError(message)


def choose(only: Sequence[str]) -> tuple[Table, ...]:
    """
    Return the named tables, or all: `silver` is a layer, `silver.requests` a table.

    Raises:
        ValueError: there is no such layer or table.

    """
    known = {f"{table.layer}.{table.name}": table for table in ALL}
    wrong = [name for name in only if not any(name in (full, table.layer) for full, table in known.items())]
    if wrong:
        message = f"--only {wrong[0]}: no such table; known are {', '.join(known)}"
        raise ValueError(message)
    return tuple(t for full, t in known.items() if not only or full in only or t.layer in only)


def present(settings: Settings, chosen: Sequence[Table]) -> list[Table]:
    """
    Return the tables that exist; the warehouse is not changed.

    Raises:
        ValueError: none exists; the usual cause is a wrong [warehouse] root.

    """
    there = [table for table in chosen if _is_there(settings, table)]
    if not there:
        root = settings.warehouse_root
        which = "no table" if len(chosen) > 1 else f"no table {chosen[0].layer}.{chosen[0].name}"
        message = f"{which} at {root}, the [warehouse] root: correct the setting, or run the ingest first"
        raise ValueError(message)
    return there


def run(
    settings: Settings, chosen: Sequence[Table], progress: Progress, *, dry_run: bool, is_confirmed: bool
) -> int:
    """Maintain these tables one after the other; return the exit code."""
    had_work = [
        _maintained(settings, table, progress, dry_run=dry_run, is_confirmed=is_confirmed) for table in chosen
    ]
    if not any(had_work) and None not in had_work:
        progress.say(f"nothing to do in {len(chosen)} tables")
    return ExitCode.FAILED if None in had_work else 0


def _is_there(settings: Settings, table: Table) -> bool:
    return DeltaTable.is_deltatable(str(settings.warehouse_root / table.layer / table.name))


def _maintained(
    settings: Settings, table: Table, progress: Progress, *, dry_run: bool, is_confirmed: bool
) -> bool | None:
    """Return whether a table had work; None if its maintenance failed or needs `--yes`."""
    name, is_refused = f"{table.layer}.{table.name}", False
    try:
        one = TableMaintenance(settings, table, progress, datetime.now(UTC), dry_run=dry_run)
        one.keep_named()
        try:
            one.retain(is_confirmed=is_confirmed)
        except UnconfirmedError as error:
            progress.say(f"{name}: {error}")
            is_refused = True
        one.compact()
        one.clean()
    except StateError as error:
        progress.say(f"{name} failed: {error}")
        return None
    except (DeltaError, OSError, ValueError) as error:
        full = full_disk_message(settings, error)
        why = full or f"{first_line(str(error))}; run it again, nothing is half done"
        progress.say(f"{name} failed: {why}")
        return None
    return None if is_refused else one.has_work


def _in_thread(do: Callable[[], int]) -> int:
    """Run in another thread: delta-rs ignores Ctrl-C, and it needs minutes for a big day."""
    codes, raised = list[int](), list[BaseException]()

    def work_on() -> None:
        try:
            codes.append(do())
        except BaseException as error:  # noqa: BLE001 (the waiting thread raises it again)
            raised.append(error)

    thread = threading.Thread(target=work_on, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if raised:
        raise raised[0]
    return codes[0]


if __name__ == "__main__":
    app()
