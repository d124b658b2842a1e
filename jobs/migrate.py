"""
Show what this release changes in a warehouse and its checkpoints, and change it with `--yes`.

Exit codes: 0 done, shown, or nothing to do; 1 failed; 2 wrong settings, no warehouse, or one of a newer
Plumbline; 4 a writer runs; 5 a former checkpoint is damaged; 6 a disk is full; 130 stopped.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from conf.progress import Progress
from conf.settings import Settings
from conf.warehouse_format import FORMAT, MARK
from engine.delta import tables
from engine.gold.addresses import COLUMN, forget_addresses, has_addresses
from engine.gold.former import former_repairs
from engine.ingest.handover import hand_over
from engine.ingest.positions import former_queries
from engine.ingest.sources import QUERIES
from engine.process.job import job, started_session, wrong_use
from engine.process.lease import lease
from engine.process.signals import interrupt_on_signals
from engine.streams.audit.findings import apply_repairs
from jobs.ingest import SILVER_LAYER
from jobs.maintain import ALL
from schemas.fields import Table
from schemas.gold.leader_redirect import LEADER_REDIRECT
from serving.settings import settings_of

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
def migrate(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True, dir_okay=False)
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show it.")] = False,
) -> None:
    """
    Show what this release changes in a warehouse and its checkpoints; `--yes` does it.

    Stop `ingest` and `build-gold` before `--yes`. They do the same when they start, each for its own tables:
    this command shows it before, and does it for all tables at once. A backup is a copy of the warehouse and
    of the checkpoints of the same moment.

    Example: `plumbline migrate --conf my.toml`

    Example: `plumbline migrate --conf my.toml --yes`
    """
    progress = Progress()
    with wrong_use(progress):
        settings = settings_of(conf or [])
    interrupt_on_signals()
    with job("migrate", settings, progress, stopped="stopped; run it again, nothing is done twice"):
        if not (found := changes(settings)):
            progress.say(f"nothing to do: {settings.warehouse_root} is of this release")
        elif yes:
            _change(settings, progress)
            progress.say(f"done: {len(found)} changes")
        else:
            for change in found:
                progress.say(f"to do: {change}")
            progress.say("nothing was changed; `plumbline migrate --yes` does it")


def changes(settings: Settings) -> list[str]:
    """Return what this release changes in a warehouse, one sentence each; nothing is written."""
    root = settings.warehouse_root
    mark = [] if (root / MARK).exists() else [f"{root / MARK} is written: format {FORMAT}"]
    queries = [
        f"{query.name} continues from {one.name}, whose checkpoint is set aside"
        for query in QUERIES
        for one in former_queries(settings, query)
    ]
    gold = [repair.reason for repair in former_repairs(settings)]
    columns = [
        f"{table.layer}.{table.name} gets {', '.join(tables.missing_columns(root, table))}"
        for table in _incomplete(settings)
    ]
    place = f"{LEADER_REDIRECT.layer}.{LEADER_REDIRECT.name}"
    addresses = [f"{place} loses the addresses in {COLUMN}"] if has_addresses(root) else []
    return [*mark, *queries, *gold, *columns, *addresses]


def _change(settings: Settings, progress: Progress) -> None:
    root = settings.warehouse_root
    waits = {SILVER_LAYER: settings.ingest.lease_timeout_s, "gold": settings.build_gold.lease_timeout_s}
    with ExitStack() as leases:
        for layer, timeout_s in waits.items():
            leases.enter_context(lease(root, layer, timeout_s=timeout_s))
        hand_over(settings, progress)
        apply_repairs(former_repairs(settings), progress.say)
        if incomplete := _incomplete(settings):
            spark = started_session(settings, "migrate")
            for table in incomplete:
                with progress.step(f"adding columns to {table.layer}.{table.name}"):
                    tables.ensure(spark, root, table)
        forget_addresses(root)


def _incomplete(settings: Settings) -> list[Table]:
    """Return the tables that exist and lack columns."""
    root = settings.warehouse_root
    return [table for table in ALL if tables.exists(root, table) and tables.missing_columns(root, table)]


if __name__ == "__main__":
    app()
