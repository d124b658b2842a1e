"""Runs of `plumbline demo`, each with new brokers and a new pipeline next to them, and what they found."""

import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from benchmarks.truth.record import note_meta
from conf.settings import PROJECT
from lab.errors import LabError
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.rows import Row
from serving.report.truth import read_truth

DEMOS = 20
TRUTH, WINDOWS = "truth.json", "windows.json"
INSTANTS = ("window_start", "since")


def record(root: Path) -> None:
    """
    Run the demos that `root` does not have yet; of each, keep the truth, the verdicts and the round trips.

    Raises:
        LabError: a demo ended without a report; the message names its output.

    """
    for nth in range(1, DEMOS + 1):
        folder = root / f"{nth:02}"
        if not (folder / WINDOWS).exists():
            print(f"demo {nth}/{DEMOS}", flush=True)
            _record(folder, seed=nth)


def recorded(root: Path) -> list[tuple[Row, list[Row]]]:
    """Return the truth of each recorded demo, and the rows of `gold.broker_rtt_culprit` in its report."""
    return [(read_truth(file.parent / TRUTH), _windows(file)) for file in sorted(root.glob(f"*/{WINDOWS}"))]


def _record(folder: Path, *, seed: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    run, output = folder / "run", folder / "output.txt"
    note_meta(folder)
    command = [
        sys.executable,
        "-m",
        "plumbline",
        "demo",
        "--rate",
        "0",
        "--seed",
        str(seed),
        "--state",
        str(run),
    ]
    with (
        output.open("wb") as written,
        subprocess.Popen(command, cwd=PROJECT, stdout=written, stderr=subprocess.STDOUT) as demo,
    ):
        try:
            demo.wait()  # The exit code is 1 if the report is wrong, which is a result.
        except KeyboardInterrupt:
            demo.terminate()  # It ends its brokers.
            raise
    report = run / "report.json"
    if not report.exists():
        message = f"the demo ended without a report; its output: {output}"
        raise LabError(message)
    (truth,) = (run / "lab" / "truth").glob("*.json")
    shutil.copy(truth, folder / TRUTH)
    shutil.copytree(run / "warehouse" / BROKER_RTT.layer / BROKER_RTT.name, folder / BROKER_RTT.name)
    rows = json.loads(report.read_text())["tables"]["broker_rtt_culprit"]
    shutil.rmtree(run)
    (folder / WINDOWS).write_text(json.dumps(rows))


def _windows(file: Path) -> list[Row]:
    return [
        row | {name: datetime.fromisoformat(row[name]) for name in INSTANTS if row[name]}
        for row in json.loads(file.read_text())
    ]
