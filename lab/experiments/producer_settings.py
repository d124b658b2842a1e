"""Check the producer settings of an arm. A producer ignores settings that it does not know."""

import subprocess
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from conf.exit_codes import WrongUseError
from lab import jvm
from lab.experiments.spec import Arm

PROGRAM = Path(__file__).with_name("Known.java")
FREE = ("config.providers.", "metrics.jmx.")
"""Prefixes of settings for the producer's plugins, which are not in its list of settings."""


def check_settings(arms: Iterable[Arm], where: Path) -> None:
    """
    Check the settings of each arm against those that its release knows.

    Raises:
        WrongUseError: a release does not know a setting of its arm.

    """
    known: dict[str, set[str]] = {}
    for arm in arms:
        if not arm.properties:
            continue
        version = arm.client_version
        if version not in known:
            known[version] = _names(version)
        for key in arm.properties:
            if key not in known[version] and not key.startswith(FREE):
                near = get_close_matches(key, known[version], n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                message = f"{where}: arm {arm.name}: the producer of {version} has no setting {key}{hint}"
                raise WrongUseError(message)


def _names(version: str) -> set[str]:
    command = [jvm.java(), "-Xmx256m", "-cp", jvm.class_path(version), str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=jvm.TOOL_TIMEOUT_S)
    if done.returncode:
        message = f"the settings of the producer of {version} cannot be read:\n{done.stderr[-2000:]}"
        raise WrongUseError(message)
    return set(done.stdout.split())
