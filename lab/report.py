"""The report that a scenario ends in."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from lab.errors import LabError
from lab.layout import Lab


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
