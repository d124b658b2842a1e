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

EARLIER_SKEW = "skew-"
"""
Recordings beside `skew`, shown too: the bands that name partitioners were set on one of them.

The aims are those of `skew` alone. What else is to be known of a recording is the `note` of its done.json.
"""

PAGE = PROJECT / "docs" / "truth.md"

Recorded = tuple[dict[str, Any], dict[str, Any]]
"""What was done, and the tables of the report about it."""


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
    earlier = [
        (_note(kept), page.skew_section(*_skew(_read(kept)))[0])
        for kept in sorted(state.glob(f"{EARLIER_SKEW}*"))
    ]
    truth, tables = done[ClientScenario.METADATA]
    told = [
        page.skew_section(*_skew(done[ClientScenario.SKEW])),
        *((f"{text}\n{note}\n" if note else text, True) for note, text in earlier),
        _redirect(*done[ClientScenario.REDIRECT]),
        page.metadata_section(truth, tables["metadata_lookup"]),
    ]
    PAGE.write_text(with_clients(PAGE.read_text(), "\n".join(text for text, _ in told)))
    is_met = all(is_so for _, is_so in told)
    print(f"written: {PAGE}; {'every aim is met' if is_met else 'an aim is missed, see the page'}")
    raise typer.Exit(0 if is_met else 1)


def _recorded(state: Path, name: ClientScenario, repeats: int) -> Recorded:
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
    return _read(state)


def _read(state: Path) -> Recorded:
    told = json.loads((state / "done.json").read_text())
    return json.loads(Path(told["truth"]).read_text()), json.loads(Path(told["report"]).read_text())["tables"]


def _note(state: Path) -> str:
    return str(json.loads((state / "done.json").read_text()).get("note", ""))


def _skew(recorded: Recorded) -> tuple[list[judge.Skew], str]:
    truth, tables = recorded
    return judge.skews(truth, tables), truth["since"]


def _redirect(truth: dict[str, Any], tables: dict[str, Any]) -> tuple[str, bool]:
    versions = sorted({run["arm"] for run in truth["runs"]})
    pairs = {
        f"{one} minus {other}": judge.paired(truth, tables, one, other)
        for other in ("3.6.0", "3.6.2")
        for one in versions
        if one > other
    }
    seen: dict[tuple[str, str], list[judge.Witnessed]] = {}
    for run in truth["runs"]:
        if run["phase"] != "dead" and run["log"] is not None:
            its = (run["run"], run["arm"])
            rows = [row for row in tables["leader_redirect"] if (row["run"], row["arm"]) == its]
            told = judge.witnessed(rows, witness.redirects(Path(run["log"])))
            seen.setdefault((run["phase"], run["arm"]), []).append(told)
    moved, are_met = page.redirect_section(judge.by_version(truth, tables), pairs, seen)
    died, are_told = page.deaths_section(*judge.deaths(truth, tables))
    return f"{moved}\n{died}", are_met and are_told


if __name__ == "__main__":
    typer.run(main)
