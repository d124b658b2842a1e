"""The scenarios with real clients."""

from enum import StrEnum
from pathlib import Path

from lab import jvm
from lab.clients import metadata, redirect, skew
from lab.scenarios import Say


class ClientScenario(StrEnum):
    """The scenarios that run clients of several releases."""

    SKEW = "skew"
    REDIRECT = "redirect"
    METADATA = "metadata"


NEEDED = {
    ClientScenario.SKEW: {producer.client_version for producer in skew.ARMS},
    ClientScenario.REDIRECT: {*redirect.VERSIONS, *redirect.READERS},
    ClientScenario.METADATA: set(metadata.VERSIONS),
}
"""The client releases that each scenario needs."""


def run(state: Path, scenario: ClientScenario, *, repeats: int, seed: int, say: Say = print) -> Path:
    """
    Run a scenario to its end. Return the path of the ground truth.

    Raises:
        LabError: the jars of a client are missing, no lab runs in this folder, or a client failed.

    """
    for version in sorted(NEEDED[scenario]):
        jvm.class_path(version)  # check the jars before anything starts
    if scenario is ClientScenario.SKEW:
        return skew.run(state, skew.SkewPlan(repeats=repeats, seed=seed), say=say)
    if scenario is ClientScenario.REDIRECT:
        return redirect.run(state, redirect.RedirectPlan(repeats=repeats), say=say)
    return metadata.run(state, metadata.MetadataPlan(repeats=repeats), say=say)
