"""`plumbline ask`: one question, answered at the terminal or as JSON."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from conf.exit_codes import ExitCode, WrongUseError
from conf.instants import SINCE_HELP
from conf.signals import interrupt_on_signals


def ask(  # noqa: PLR0913 (the options of a command, each by name)
    question: Annotated[
        str,
        typer.Argument(
            help="slow-links, fetches, produce, partitions, throttles, redirects, lookups, runs, comparison, "
            "quality, incidents, pair or incident."
        ),
    ],
    *,
    conf: Annotated[list[Path], typer.Option(help="Settings that name the warehouse; the last file wins.")],
    cluster: Annotated[
        str | None, typer.Option(help="Name of the cluster; needed if there are several.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"First instant. {SINCE_HELP}")] = None,
    until: Annotated[str | None, typer.Option(help="End, exclusive. The same form.")] = None,
    broker: Annotated[int | None, typer.Option(help="Only this broker.")] = None,
    topic: Annotated[str | None, typer.Option(help="Only this topic.")] = None,
    client: Annotated[str | None, typer.Option(help="Only this client id.")] = None,
    incident: Annotated[
        str | None, typer.Option(help="Id of an incident, for the question `incident`.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="FOLLOWER:LEADER, for the question `pair`.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/ask.md).")] = False,
) -> None:
    """
    Answer one question from the gold tables of a warehouse, for people or, with --json, for programs.

    Exit code 0: answered, also if there is no data for it. Exit code 2: no such question, no gold, or an
    option that the question does not use.

    Example: `plumbline ask slow-links --conf my.toml --since 1h`

    Example: `plumbline ask throttles --conf my.toml --since 2026-11-21T11:00Z --json`
    """
    interrupt_on_signals()
    # Imported here, so that `--help` does not wait for these modules.
    from answers.gold import contents  # noqa: PLC0415
    from answers.matching import answered  # noqa: PLC0415
    from serving.ask.answering import answer_of  # noqa: PLC0415
    from serving.ask.request import question_and_selection  # noqa: PLC0415
    from serving.report.document import as_text  # noqa: PLC0415
    from serving.report.terminal import answer_lines  # noqa: PLC0415

    try:
        chosen, selection = question_and_selection(
            conf,
            question,
            cluster=cluster,
            since=since,
            until=until,
            broker=broker,
            topic=topic,
            client=client,
            incident=incident,
            pair=pair,
        )
        if as_json:
            typer.echo(as_text(answer_of(chosen, selection)), nl=False)
            return
        newest = contents.edges(selection.gold, selection.cluster)["newest"]
        typer.echo(f"({contents.newest_window(newest, datetime.now(UTC))})")
        for line in answer_lines(answered(chosen, selection)):
            typer.echo(line)
    except WrongUseError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(ExitCode.WRONG) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(ExitCode.INTERRUPTED) from error
