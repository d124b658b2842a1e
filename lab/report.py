"""Write the report of a scenario."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from lab.errors import LabError
from lab.layout import Lab


def report(state: Path, truth: Path) -> Path:
    """
    Report the logs of the scenario's time range, in a page next to its ground truth. Return the page's path.

    Raises:
        LabError: the report failed.

    """
    lab = Lab.load(state)
    facts = json.loads(truth.read_text())
    page = truth.with_suffix(".html")
    command = [sys.executable, "-m", "plumbline", "report", "--from", str(lab.state / "logs")]
    # A report has whole windows of 10 s. Round down to include the window in which the scenario began.
    began = datetime.fromisoformat(facts["since"])
    since = began.replace(second=began.second // 10 * 10, microsecond=0).isoformat()
    command += ["--cluster", lab.cluster, "--since", since, "--until", facts["until"]]
    command += ["--html", str(page), "--json", str(page.with_suffix(".report.json"))]
    code = subprocess.run(command, check=False).returncode
    if code:
        message = f"`plumbline report` failed with exit code {code}. The ground truth is in {truth}"
        raise LabError(message)
    return page
