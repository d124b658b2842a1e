"""The scenarios about clients, and the report that each ends in."""

import json
import subprocess
import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from lab.clients import metadata, redirect, skew
from lab.errors import LabError
from lab.layout import Lab
from lab.scenarios import Say


class ClientScenario(StrEnum):
    """What is tried with real clients of several releases."""

    SKEW = "skew"
    REDIRECT = "redirect"
    METADATA = "metadata"


def run(state: Path, scenario: ClientScenario, *, repeats: int, seed: int, say: Say = print) -> Path:
    """
    Run a scenario to its end; return the ground truth's path.

    Raises:
        LabError: no lab runs here, or a client failed.

    """
    if scenario is ClientScenario.SKEW:
        return skew.run(state, skew.Plan(repeats=repeats, seed=seed), say=say)
    if scenario is ClientScenario.REDIRECT:
        return redirect.run(state, redirect.Plan(repeats=repeats), say=say)
    return metadata.run(state, metadata.Plan(repeats=repeats), say=say)


def report(state: Path, truth: Path) -> Path:
    """
    Let the logs of a scenario's time be reported, beside its ground truth; return the page's path.

    Raises:
        LabError: the report failed.

    """
    lab = Lab.load(state)
    facts = json.loads(truth.read_text())
    page = truth.with_suffix(".html")
    command = [sys.executable, "-m", "plumbline", "report", "--from", str(lab.state / "logs")]
    # A report holds whole windows of 10 s: the one in which the scenario began is one of its own.
    began = datetime.fromisoformat(facts["since"])
    since = began.replace(second=began.second // 10 * 10, microsecond=0).isoformat()
    command += ["--cluster", lab.cluster, "--since", since, "--until", facts["until"]]
    command += ["--html", str(page), "--json", str(page.with_suffix(".report.json"))]
    code = subprocess.run(command, check=False).returncode
    if code:
        message = f"the report ended with exit code {code}; the truth is in {truth}"
        raise LabError(message)
    return page
