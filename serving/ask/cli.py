"""`plumbline ask`: one question, answered at the terminal or as JSON."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conf.exit_codes import ExitCode, WrongUseError
from conf.instants import SINCE_HELP, time_range
from conf.signals import interrupt_on_signals

if TYPE_CHECKING:
    from answers.answer import Question


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
    from answers.matching import answered  # noqa: PLC0415
    from serving.ask.answering import answer_of, question_of  # noqa: PLC0415
    from serving.report.document import as_text  # noqa: PLC0415
    from serving.report.terminal import answer_lines  # noqa: PLC0415
    from serving.selecting import selection_of_warehouse  # noqa: PLC0415

    try:
        chosen = question_of(question)
        check_options(chosen, {"broker": broker, "topic": topic, "client": client})
        check_chosen(chosen, pair=pair, incident=incident)
        selection = selection_of_warehouse(conf, cluster, time_range(since, until))
        selection = replace(selection, broker=broker, topic=topic, client=client)
        selection = replace(selection, incident=incident, pair=pair_of(pair))
        if as_json:
            typer.echo(as_text(answer_of(chosen, selection)), nl=False)
            return
        for line in answer_lines(answered(chosen, selection)):
            typer.echo(line)
    except WrongUseError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(ExitCode.WRONG) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def check_options(question: "Question", filters: Mapping[str, object]) -> None:
    """Refuse a filter that the question does not use."""
    for name, value in filters.items():
        if value is not None and name not in question.filters:
            used = [f"--{one}" for one in filters if one in question.filters]
            message = f"{question.name} does not use --{name}; its filters: {', '.join(used) or 'none'}"
            raise WrongUseError(message)


NEEDED = {
    "pair": "ask pair needs --pair FOLLOWER:LEADER, as in 3:1",
    "incident": "ask incident needs --incident ID; `plumbline ask incidents` lists the ids",
}
"""The questions about one thing, which an option of the same name chooses."""


def check_chosen(question: "Question", **chosen: str | None) -> None:
    """Refuse a question about a pair or an incident that is not named, and a name that it does not use."""
    for name, value in chosen.items():
        if name == question.name and value is None:
            raise WrongUseError(NEEDED[name])
        if name != question.name and value is not None:
            message = f"{question.name} does not use --{name}; `ask {name}` does"
            raise WrongUseError(message)


def pair_of(text: str | None) -> tuple[int, int] | None:
    """
    Read a pair of brokers.

    >>> pair_of("3:1")
    (3, 1)
    """
    if text is None:
        return None
    follower, _, leader = text.partition(":")
    if not (follower.isdecimal() and leader.isdecimal()):
        message = f"--pair {text!r} is not FOLLOWER:LEADER, as in 3:1"
        raise WrongUseError(message)
    return int(follower), int(leader)
