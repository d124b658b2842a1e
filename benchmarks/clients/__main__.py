"""`python -m benchmarks.clients`: run the scenarios about clients, judge them, write docs/truth.md."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.clients import judge, page, witness
from benchmarks.truth.page import with_clients
from conf.settings import PROJECT
from lab import cluster
from lab.clients import scenario
from lab.clients.scenario import ClientScenario

PAGE = PROJECT / "docs" / "truth.md"


def main(
    state: Annotated[Path, typer.Option(help="Recordings; scenarios done before are kept.")] = PROJECT
    / ".state"
    / "verify-clients",
    *,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of each scenario.")] = 5,
) -> None:
    """
    Try real clients of several releases and hold what Plumbline says of them against what was done: an hour.

    Exit code 0 when every aim is met, 1 otherwise; the page is written in both cases.

    Example: `python -m benchmarks.clients`
    """
    done = {name: _recorded(state / name.value, name, repeats) for name in ClientScenario}
    sections, is_met = [], True
    for text, is_so in (_skew(*done[ClientScenario.SKEW]), _redirect(*done[ClientScenario.REDIRECT])):
        sections.append(text)
        is_met &= is_so
    truth, tables = done[ClientScenario.METADATA]
    text, is_so = page.metadata_section(truth, tables["metadata_lookup"])
    sections.append(text)
    PAGE.write_text(with_clients(PAGE.read_text(), "\n".join(sections)))
    print(f"written: {PAGE}; {'every aim is met' if is_met and is_so else 'an aim is missed, see the page'}")
    raise typer.Exit(0 if is_met and is_so else 1)


def _recorded(state: Path, name: ClientScenario, repeats: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a scenario in a lab of its own and report it, unless that was done before."""
    kept = state / "done.json"
    if not kept.exists():
        cluster.start(state / "lab", fresh=True)
        try:
            truth = scenario.run(state / "lab", name, repeats=repeats, seed=1)
            html = scenario.report(state / "lab", truth)
        finally:
            cluster.stop(state / "lab")
        kept.write_text(json.dumps({"truth": str(truth), "report": str(html.with_suffix(".report.json"))}))
    told = json.loads(kept.read_text())
    return json.loads(Path(told["truth"]).read_text()), json.loads(Path(told["report"]).read_text())["tables"]


def _skew(truth: dict[str, Any], tables: dict[str, Any]) -> tuple[str, bool]:
    return page.skew_section(judge.skews(truth, tables))


def _redirect(truth: dict[str, Any], tables: dict[str, Any]) -> tuple[str, bool]:
    versions = sorted({run["arm"] for run in truth["runs"]})
    pairs = {
        f"{one} minus 3.6.0": judge.paired(truth, tables, one, "3.6.0") for one in versions if one != "3.6.0"
    }
    seen: dict[str, list[float]] = {version: [] for version in versions}
    for run in truth["runs"]:
        if run["phase"] == "one" and run["log"] is not None:
            rows = [
                row
                for row in tables["leader_redirect"]
                if (row["run"], row["arm"]) == (run["run"], run["arm"])
            ]
            seen[run["arm"]] += judge.witnessed(rows, witness.redirects(Path(run["log"])))
    return page.redirect_section(judge.by_version(truth, tables), pairs, seen)


if __name__ == "__main__":
    typer.run(main)
