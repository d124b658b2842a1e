"""The scenarios of `plumbline lab run` and the options that each of them takes."""

from enum import StrEnum
from typing import Any

import typer

from lab.clients.scenario import ClientScenario
from lab.scenarios import Scenario
from lab.throttle.scenario import SCENARIO as THROTTLE


class ScenarioName(StrEnum):
    """Every scenario: faults between brokers, client scenarios, throttled moves."""

    HEALTHY = Scenario.HEALTHY.value
    SLOW_BROKER = Scenario.SLOW_BROKER.value
    SLOW_LINK = Scenario.SLOW_LINK.value
    SLOW_SIDE = Scenario.SLOW_SIDE.value
    SKEW = ClientScenario.SKEW.value
    REDIRECT = ClientScenario.REDIRECT.value
    METADATA = ClientScenario.METADATA.value
    THROTTLE = THROTTLE


FORMER = {"former_quiet_s": "quiet", "former_for_s": "for_"}
"""Former options, which are still read, and the options that replace them."""

_INJECTED = {"quiet", "for_", "rate", "seed"}
OPTIONS = {
    ScenarioName.HEALTHY: _INJECTED,
    ScenarioName.SLOW_BROKER: _INJECTED | {"broker", "delay_ms"},
    ScenarioName.SLOW_LINK: _INJECTED | {"follower", "leader", "delay_ms"},
    ScenarioName.SLOW_SIDE: _INJECTED | {"broker", "side", "delay_ms"},
    ScenarioName.SKEW: {"repeats", "seed"},
    ScenarioName.REDIRECT: {"repeats"},
    ScenarioName.METADATA: {"repeats"},
    ScenarioName.THROTTLE: {"repeats", "part"},
}
"""The options that each scenario uses. It would silently ignore any other option."""


def check_options(context: typer.Context, scenario: ScenarioName) -> None:
    """
    Raise a usage error if the command line has an option that the scenario does not use.

    Raises:
        typer.BadParameter: the scenario does not use an option.

    """
    options: dict[str, Any] = {option.name: option for option in context.command.params if option.name}
    on_command_line = [
        name
        for name in options
        if name not in ("scenario", "state")
        and (source := context.get_parameter_source(name)) is not None
        and source.name == "COMMANDLINE"
    ]
    takes = sorted(OPTIONS[scenario])
    if wrong := [options[name].opts[0] for name in on_command_line if FORMER.get(name, name) not in takes]:
        usable = ", ".join(options[name].opts[0] for name in takes)
        message = f"{scenario} takes no {', '.join(wrong)}; it takes {usable}"
        raise typer.BadParameter(message)
