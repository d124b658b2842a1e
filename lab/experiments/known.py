"""Whether an arm's producer knows the settings it is given: what it does not know it passes over unsaid."""

import subprocess
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from lab import jvm
from lab.experiments.errors import WrongError
from lab.experiments.spec import Arm

PROGRAM = Path(__file__).with_name("Known.java")
FREE = ("config.providers.", "metrics.jmx.")
"""What begins like this is read by what a producer loads, and is in no list."""


def check_known(arms: Iterable[Arm], where: Path) -> None:
    """
    Ask each release for the settings it knows.

    Raises:
        WrongError: an arm has one that its release does not know.

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
                message = f"{where}: arm {arm.name}: the producer of {version} knows no {key}{hint}"
                raise WrongError(message)


def _names(version: str) -> set[str]:
    command = [jvm.java(), "-Xmx256m", "-cp", jvm.class_path(version), str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=jvm.TOOL_TIMEOUT_S)
    if done.returncode:
        message = f"the producer of {version} did not tell its settings:\n{done.stderr[-2000:]}"
        raise WrongError(message)
    return set(done.stdout.split())
