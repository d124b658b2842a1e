"""What `ask` and `mcp` are asked: a question, and the part of gold to answer it from."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from answers.answer import Question
from answers.gold.selection import BrokerPair, GoldSelection
from conf.exit_codes import WrongUseError
from conf.instants import time_range
from serving.ask.answering import question_of
from serving.selecting import selection_of_warehouse


def question_and_selection(  # noqa: PLR0913 (what may be asked, each by name)
    conf: list[Path],
    question: str,
    *,
    cluster: str | None = None,
    since: str | None = None,
    until: str | None = None,
    broker: int | None = None,
    topic: str | None = None,
    client: str | None = None,
    incident: str | None = None,
    pair: str | None = None,
) -> tuple[Question, GoldSelection]:
    """
    Return the question of a name, and the selection that it is answered from.

    Raises:
        WrongUseError: no such question, no gold, or a filter that the question does not use.

    """
    chosen = question_of(question)
    _check_filters(chosen, {"broker": broker, "topic": topic, "client": client})
    _check_chosen(chosen, pair=pair, incident=incident)
    selection = selection_of_warehouse(conf, cluster, time_range(since, until))
    selection = replace(selection, broker=broker, topic=topic, client=client)
    return chosen, replace(selection, incident=incident, pair=_pair_of(pair))


def _check_filters(question: Question, filters: Mapping[str, object]) -> None:
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


def _check_chosen(question: Question, **chosen: str | None) -> None:
    """Refuse a question about a pair or an incident that is not named, and a name that it does not use."""
    for name, value in chosen.items():
        if name == question.name and value is None:
            raise WrongUseError(NEEDED[name])
        if name != question.name and value is not None:
            message = f"{question.name} does not use --{name}; `ask {name}` does"
            raise WrongUseError(message)


def _pair_of(text: str | None) -> BrokerPair | None:
    """
    Read a pair of brokers.

    >>> _pair_of("3:1")
    (3, 1)
    """
    if text is None:
        return None
    follower, _, leader = text.partition(":")
    if not (follower.isdecimal() and leader.isdecimal()):
        message = f"--pair {text!r} is not FOLLOWER:LEADER, as in 3:1"
        raise WrongUseError(message)
    return int(follower), int(leader)
