"""`python -m benchmarks.throttles`: move replicas under throttles, judge what is said, write the page."""

import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import pages
from benchmarks.throttles import judge, page
from conf.settings import PROJECT
from lab import cluster
from lab.report import report
from lab.throttle import scenario

PAGE = PROJECT / "docs" / "truth-throttles.md"


def main(
    state: Annotated[Path, typer.Option(help="Recordings; one that was made before is kept.")] = PROJECT
    / ".state"
    / "verify-throttles",
    *,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of eleven parts each.")] = 3,
) -> None:
    """
    Move replicas under throttles, and compare what Plumbline reports with what was done: 12 minutes a round.

    Exit code 0 when every aim is met, 1 otherwise; the page is written in both cases.

    Example: `python -m benchmarks.throttles --repeats 1`
    """
    kept = state / "done.json"
    if not kept.exists():
        _record(state, repeats, kept)
    done = json.loads(kept.read_text())
    truth = json.loads(Path(done["truth"]).read_text())
    tables = json.loads(Path(done["report"]).read_text())["tables"]
    found = judge.sides(truth, tables)
    text, is_met = page.section(truth, found, judge.forecast_moves(judge.moves(truth, tables), truth))
    pages.write(PAGE, {}, head=page.HEAD + text)
    print("every aim is met" if is_met else "an aim is missed, see the page")
    raise typer.Exit(0 if is_met else 1)


def _record(state: Path, repeats: int, kept: Path) -> None:
    """Run the scenario in a lab of its own and report it."""
    cluster.start(state / "lab", fresh=True)
    try:
        truth = scenario.run(state / "lab", scenario.ThrottlePlan(repeats=repeats))
        html = report(state / "lab", truth)
    finally:
        cluster.stop(state / "lab")
    kept.write_text(json.dumps({"truth": str(truth), "report": str(html.with_suffix(".report.json"))}))


if __name__ == "__main__":
    typer.run(main)
