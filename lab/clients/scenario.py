"""The scenarios about clients."""

from enum import StrEnum
from pathlib import Path

from lab import jvm
from lab.clients import metadata, redirect, skew
from lab.scenarios import Say


class ClientScenario(StrEnum):
    """What is tried with real clients of several releases."""

    SKEW = "skew"
    REDIRECT = "redirect"
    METADATA = "metadata"


NEEDED = {
    ClientScenario.SKEW: {producer.client_version for producer in skew.ARMS},
    ClientScenario.REDIRECT: {*redirect.VERSIONS, *redirect.READERS},
    ClientScenario.METADATA: set(metadata.VERSIONS),
}
"""The Kafka releases whose clients a scenario runs."""


def run(state: Path, scenario: ClientScenario, *, repeats: int, seed: int, say: Say = print) -> Path:
    """
    Run a scenario to its end; return the ground truth's path.

    Raises:
        LabError: the jars of a client are missing, no lab runs here, or a client failed.

    """
    for version in sorted(NEEDED[scenario]):
        jvm.class_path(version)  # before anything starts
    if scenario is ClientScenario.SKEW:
        return skew.run(state, skew.Plan(repeats=repeats, seed=seed), say=say)
    if scenario is ClientScenario.REDIRECT:
        return redirect.run(state, redirect.Plan(repeats=repeats), say=say)
    return metadata.run(state, metadata.Plan(repeats=repeats), say=say)
