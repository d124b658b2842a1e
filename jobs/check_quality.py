"""
Check the rows of silver or gold against the rules of conf/expectations, hour by hour.

Exit codes: 0 every rule holds, 1 a rule failed, 2 wrong settings, options or rules, 4 another check runs,
7 the check failed (Spark or the disk), 130 stopped.
Under plain Spark, from the project's folder with its venv activated:
`PYTHONPATH=. spark-submit --driver-class-path '.jars/spark/*' jobs/check_quality.py --layer silver ...`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from answers.data_quality.losses import losses
from answers.formats import printable
from answers.gold.reader import GoldReader
from conf.exit_codes import ExitCode, HeldError, WrongUseError
from conf.instants import SINCE_HELP, time_range
from conf.progress import Progress, first_line
from conf.settings import PROJECT
from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.process.lease import lease
from engine.process.session import JvmGoneError, interpreted, jvm_watched, session
from engine.process.signals import interrupt_on_signals
from engine.quality import results_table
from engine.quality.rules import RuleOutcome, Suite, SuiteError, evaluate, suites_of
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.rows import Row
from schemas.silver import SILVER
from serving.settings import settings_of
from transforms.spans import Span
from transforms.windows import HOUR_S

NOT_CHECKED_BY = (HeldError, PySparkException, Py4JError, DeltaError, JvmGoneError, OSError)
TABLES = {(table.layer, table.name): table for table in (*SILVER, *GOLD)}


class Layer(StrEnum):
    """The layers that can be checked."""

    SILVER = "silver"
    GOLD = "gold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What to check: a span, all rows since the last check, or both."""

    layer: Layer
    conf: list[Path]
    span: Span | None
    is_new: bool


def check_quality(
    *,
    layer: Annotated[Layer, typer.Option(help="Layer to check.")],
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings with the warehouse; the last file wins.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"First instant. {SINCE_HELP}")] = None,
    until: Annotated[str | None, typer.Option(help="End, exclusive. The same form. Default: now.")] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Also check each hour with new rows since the last such check.")
    ] = False,
) -> None:
    """
    Check a layer with the quality rules; without a span, all rows since the last such check.

    Each hour is checked separately, and the results go into gold.quality_results. If a rule of silver fails in
    an hour or in the span, gold of that time is not built until a check of it passes.

    Exit codes: 0 every rule holds; 1 a rule failed; 2 wrong use; 4 another check runs; 7 the check failed; 130
    stopped.

    Example: `plumbline check-quality --layer silver --conf my.toml`

    Example: `plumbline check-quality --layer gold --since 2026-11-21T11:00Z --until 2026-11-21T12:00Z --conf my.toml`
    """  # noqa: E501 (an example is one line)
    interrupt_on_signals()
    progress = Progress()
    try:
        span = _span(since, until)
        is_passed = run(Scope(layer=layer, conf=conf or [], span=span, is_new=new or span is None), progress)
    except (WrongUseError, SuiteError) as error:
        progress.say(f"error: {error}")
        raise typer.Exit(ExitCode.WRONG) from error
    except NOT_CHECKED_BY as error:
        progress.say(f"not checked: {first_line(str(error))}")
        code = ExitCode.HELD if isinstance(error, HeldError) else ExitCode.NO_VERDICT
        raise typer.Exit(code) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; no result was saved")
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    if not is_passed:
        raise typer.Exit(ExitCode.FAILED)


def run(scope: Scope, progress: Progress) -> bool:
    """
    Check, save and print the results; return whether every rule holds.

    Raises:
        WrongUseError: there is no such warehouse.
        SuiteError: a rule cannot be read or evaluated.
        HeldError: another check runs.

    """
    settings = settings_of(scope.conf)
    suites = suites_of(PROJECT / settings.quality.suites, scope.layer)
    _check_known(suites)
    root, found = settings.warehouse_root, list[Row]()
    with (
        lease(root, "quality", timeout_s=settings.quality.lease_timeout_s),
        jvm_watched(),
        session(settings, "plumbline-check-quality") as spark,
        interpreted(spark),
    ):
        checked_at = datetime.now(UTC)
        for suite in suites:
            with progress.step(f"checking {suite.layer}.{suite.table}"):
                for row in _checked(spark, root, suite, scope):
                    found.append({"checked_at": checked_at, **row})
        if found:
            results_table.write(spark, root, found)
    if scope.layer is Layer.SILVER:
        since = {"since": datetime.fromtimestamp(scope.span.start, UTC)} if scope.span else {}
        for loss in losses(GoldReader.in_folder(root), **since):
            typer.echo(f"{loss}.")
    return _report(scope.layer, found)


def _check_known(suites: Iterable[Suite]) -> None:
    for suite in suites:
        if (suite.layer, suite.table) not in TABLES:
            message = f"the suite {suite.table} has no table: {suite.layer}.{suite.table} does not exist"
            raise SuiteError(message)


def _checked(spark: SparkSession, root: Path, suite: Suite, scope: Scope) -> Iterable[Row]:
    table = TABLES[suite.layer, suite.table]
    if not tables.exists(root, table):
        return
    if suite.at is None:
        rows = tables.read(spark, root, table)
        yield from _rows(evaluate(rows, suite), suite, None, None)
        return
    snapshot = tables.snapshot(root, table)
    wanted = hours_of(scope.span) if scope.span else []
    fresh = _fresh(spark, root, table, suite.at, snapshot) if scope.is_new else []
    for span in [*wanted, *(hour for hour in fresh if hour not in wanted)]:
        version = snapshot.version if span in fresh else None
        yield from _rows(evaluate(_within(spark, snapshot, suite.at, span), suite), suite, span, version)


def _within(spark: SparkSession, snapshot: Snapshot, at: str, span: Span) -> DataFrame:
    return snapshot.rows(spark, at, [span])


def _fresh(spark: SparkSession, root: Path, table: Table, at: str, snapshot: Snapshot) -> list[Span]:
    """Return the hours with rows added since the last check of new rows."""
    version = results_table.checked_version(root, table.layer, table.name)
    hour = F.floor(F.unix_seconds(F.col(at)) / HOUR_S)
    rows = snapshot.added_since(spark, version).select(hour.alias("hour")).distinct().collect()
    starts = sorted(int(row["hour"]) * HOUR_S for row in rows if row["hour"] is not None)
    return [Span(start, start + HOUR_S) for start in starts]


def hours_of(span: Span) -> list[Span]:
    """
    Return the parts of a span between full hours.

    >>> [str(part) for part in hours_of(Span(3000, 7210))]  # doctest: +NORMALIZE_WHITESPACE
    ['1970-01-01T00:50:00Z to 1970-01-01T01:00:00Z', '1970-01-01T01:00:00Z to 1970-01-01T02:00:00Z',
     '1970-01-01T02:00:00Z to 1970-01-01T02:00:10Z']
    """
    starts = [span.start, *range(span.start // HOUR_S * HOUR_S + HOUR_S, span.end, HOUR_S)]
    return [Span(start, end) for start, end in zip(starts, [*starts[1:], span.end], strict=True)]


def _rows(
    outcomes: Iterable[RuleOutcome], suite: Suite, span: Span | None, version: int | None
) -> Iterable[Row]:
    start, end = (datetime.fromtimestamp(at, UTC) for at in span) if span else (None, None)
    for outcome in outcomes:
        yield {
            "layer": suite.layer,
            "table_name": suite.table,
            "rule": outcome.rule,
            "about": outcome.about,
            "span_start": start,
            "span_end": end,
            "is_passed": outcome.is_passed,
            "rows_seen": outcome.rows_seen,
            "rows_failed": outcome.rows_failed,
            "examples": list(outcome.examples),
            "table_version": version,
        }


def _report(layer: Layer, found: Sequence[Row]) -> bool:
    """Print the failed rules, their spans, and which gold is held back; return whether all passed."""
    failed = [row for row in found if not row["is_passed"]]
    for row in failed:
        typer.echo(
            f"FAILED {layer}.{row['table_name']} {row['rule']}, {_span_of(row)}: "
            f"{row['rows_failed']} of {row['rows_seen']} rows; expected: {row['about']}"
        )
        for example in row["examples"]:
            typer.echo(f"  {printable(example)}")
    if failed and layer is Layer.SILVER:
        for span in dict.fromkeys(_span_of(row) for row in failed):
            typer.echo(f"held back: gold of {span} is not built until a check of it passes")
    spans = len({row["span_start"] for row in found})
    if not found:
        typer.echo(f"{layer}: nothing to check")
    else:
        typer.echo(f"{layer}: {len(found) - len(failed)} of {len(found)} checks passed, spans: {spans}")
    return not failed


def _span_of(row: Row) -> str:
    if row["span_start"] is None:
        return "the whole table"
    return str(results_table.span_between(row["span_start"], row["span_end"]))


def _span(since: str | None, until: str | None) -> Span | None:
    now = datetime.now(UTC)
    start, end = time_range(since, until, now)
    if start is not None:
        return results_table.span_between(start, end or now)
    if end is not None:
        message = "--until needs --since"
        raise WrongUseError(message)
    return None


if __name__ == "__main__":
    typer.run(check_quality)
