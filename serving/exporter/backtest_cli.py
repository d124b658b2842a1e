"""`plumbline alerts backtest`: exit codes 0 replayed, 1 a rule could never fire, 2 wrong use."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from answers.exported.gold import ExportedGold, SecondsSpan
from answers.gold.reader import GoldReader, NoGoldError
from conf.atomic_file import write_atomically
from conf.exit_codes import ExitCode
from conf.instants import SINCE_HELP, time_range
from conf.settings import PROJECT, Settings
from conf.warehouse_format import check_format
from serving.exporter.backtest import BacktestOutcome, backtest
from serving.exporter.engine import EngineError
from serving.exporter.rules import RuleError, rules_of

RULES = PROJECT / "conf" / "alerts" / "plumbline.yml"

app = typer.Typer(no_args_is_help=True, help="Alert rules: when they would have fired in the past.")


@app.callback()
def alerts() -> None:
    """Alert rules: when they would have fired in the past."""


@app.command("backtest")
def run(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True, dir_okay=False)
    ] = None,
    *,
    rules: Annotated[
        list[Path] | None,
        typer.Option(help="Rule files of Prometheus; default: those of Plumbline.", exists=True),
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"{SINCE_HELP} Default: where gold begins.")] = None,
    until: Annotated[str | None, typer.Option(help="The same. Default: where gold ends.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the result to this file.")
    ] = None,
) -> None:
    """
    List when each alert would have fired; a rule without its series is an error.

    Prometheus and promtool are needed on PATH. For example:

        plumbline alerts backtest --conf my.toml

        plumbline alerts backtest --conf my.toml --rules my-alerts.yml --since 2026-11-21T10:00:00

    """
    try:
        settings = Settings.load(*(conf or ()))
        check_format(settings.warehouse_root)
        gold = ExportedGold(GoldReader.of_warehouse(settings.warehouse_root), asdict(settings.export))
        span = _span(gold, since, until)
        outcomes = backtest(gold, rules_of(rules or [RULES]), span)
    except (NoGoldError, RuleError, EngineError, ValueError, OSError) as error:
        typer.echo(f"alerts backtest: {error}", err=True)
        raise typer.Exit(ExitCode.WRONG) from error
    typer.echo(f"{_utc(span.since)} to {_utc(span.until)} UTC, every 10 s")
    for outcome in outcomes:
        for line in _lines(outcome):
            typer.echo(line)
    if json_file:
        write_atomically(json_file, json.dumps(_document(outcomes, span), indent=1) + "\n")
    if any(outcome.missing for outcome in outcomes):
        raise typer.Exit(ExitCode.FAILED)


def _span(gold: ExportedGold, since: str | None, until: str | None) -> SecondsSpan:
    first, last = time_range(since, until)
    extent = gold.extent()
    if extent is None:
        message = "gold has no windows yet: run `plumbline build-gold`"
        raise NoGoldError(message)
    # The first window has ended 10 s after gold begins.
    start = first.timestamp() if first else extent.since + 10
    end = last.timestamp() if last else extent.until
    if end <= start or end <= extent.since or start > extent.until:
        message = f"the span is empty: gold is from {_utc(extent.since)} to {_utc(extent.until)} UTC"
        raise ValueError(message)
    return SecondsSpan(start, end)


def _lines(outcome: BacktestOutcome) -> list[str]:
    name = outcome.rule.name
    if outcome.missing:
        return [f"{name}: ERROR: could never fire: no series of {', '.join(outcome.missing)}"]
    if not outcome.firings:
        return [f"{name}: {'nothing to judge' if outcome.is_without_data else 'would not have fired'}"]
    return [
        f"{name}: {_utc(one.since)} to {_utc(one.until)}, peak {one.peak:.4g}, "
        + ", ".join(f"{label}={value}" for label, value in sorted(one.labels.items()))
        for one in outcome.firings
    ]


def _document(outcomes: Sequence[BacktestOutcome], span: SecondsSpan) -> dict[str, object]:
    return {
        "since": span.since,
        "until": span.until,
        "rules": [
            {
                "rule": one.rule.name,
                "expr": one.rule.expr,
                "firings": [asdict(firing) for firing in one.firings],
                "no_series": one.missing,
                "is_without_data": one.is_without_data,
            }
            for one in outcomes
        ],
    }


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"
