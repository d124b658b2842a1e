"""Which scenarios there are, and which options each of them takes."""

from enum import StrEnum
from typing import Any

import typer

from lab.clients.scenario import ClientScenario
from lab.scenarios import Scenario
from lab.throttle.scenario import SCENARIO as THROTTLE


class Runnable(StrEnum):
    """Every scenario: what is injected between brokers, tried with clients, moved under throttles."""

    HEALTHY = Scenario.HEALTHY.value
    SLOW_BROKER = Scenario.SLOW_BROKER.value
    SLOW_LINK = Scenario.SLOW_LINK.value
    SLOW_SIDE = Scenario.SLOW_SIDE.value
    SKEW = ClientScenario.SKEW.value
    REDIRECT = ClientScenario.REDIRECT.value
    METADATA = ClientScenario.METADATA.value
    THROTTLE = THROTTLE


_INJECTED = {"quiet_s", "for_s", "rate", "seed"}
TAKES = {
    Runnable.HEALTHY: _INJECTED,
    Runnable.SLOW_BROKER: _INJECTED | {"broker", "delay_ms"},
    Runnable.SLOW_LINK: _INJECTED | {"follower", "leader", "delay_ms"},
    Runnable.SLOW_SIDE: _INJECTED | {"broker", "side", "delay_ms"},
    Runnable.SKEW: {"repeats", "seed"},
    Runnable.REDIRECT: {"repeats"},
    Runnable.METADATA: {"repeats"},
    Runnable.THROTTLE: {"repeats", "part"},
}
"""The options of each scenario: another one would be passed over in silence."""


def refuse_others(context: typer.Context, scenario: Runnable) -> None:
    """End with a usage error when an option was given that the scenario would pass over."""
    options: dict[str, Any] = {option.name: option for option in context.command.params if option.name}
    given = [
        name
        for name in options
        if name not in ("scenario", "state")
        and (source := context.get_parameter_source(name)) is not None
        and source.name == "COMMANDLINE"
    ]
    takes = sorted(TAKES[scenario])
    if wrong := [options[name].opts[0] for name in given if name not in takes]:
        may = ", ".join(options[name].opts[0] for name in takes)
        message = f"{scenario} takes no {', '.join(wrong)}; it takes {may}"
        raise typer.BadParameter(message)
