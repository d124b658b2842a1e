"""`python -m benchmarks.clients`: run the scenarios about clients, judge them, write docs/truth.md."""

import json
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks import pages
from benchmarks.clients import judge, judge_skew, page, page_skew, witness
from conf.settings import PROJECT
from lab import cluster
from lab.clients import scenario
from lab.clients.scenario import ClientScenario
from lab.report import report

PAGE = PROJECT / "docs" / "truth.md"

RecordedScenario = tuple[dict[str, Any], dict[str, Any]]
"""What was done, and the tables of the report about it."""


def main(
    state: Annotated[Path, typer.Option(help="Recordings; scenarios done before are kept.")] = PROJECT
    / ".state"
    / "verify-clients",
    *,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of each scenario.")] = 5,
) -> None:
    """
    Compare what Plumbline reports of real clients of several releases with what was done: an hour.

    Exit code 0 when every aim is met, 1 otherwise; the page is written in both cases. Earlier recordings of
    skew and redirect (`skew-*`, `redirect-*`) are shown too, with the `note` of their done.json, and do not
    count: the bands that name partitioners were set on one of them.

    Example: `python -m benchmarks.clients`
    """
    done = {name: _recorded(state / name.value, name, repeats) for name in ClientScenario}
    skews, redirects = (
        [state / name.value, *sorted(state.glob(f"{name.value}-*"))]
        for name in (ClientScenario.SKEW, ClientScenario.REDIRECT)
    )
    truth, tables = done[ClientScenario.METADATA]
    sections = [
        *((*_skew(of), of in skews[1:]) for of in skews),
        *((*_redirect(*_read(of)), of in redirects[1:]) for of in redirects),
        (*page.metadata_section(truth, tables["metadata_lookup"]), False),
    ]
    text = "\n".join(f"{text}\n{page.verdict(missed)}" for text, missed, _ in sections)
    pages.write(PAGE, {"clients": text})
    missed = [aim for _, missed, is_earlier in sections if not is_earlier for aim in missed]
    print(f"written: {PAGE}; {'; '.join(['missed', *missed]) if missed else 'every aim is met'}")
    raise typer.Exit(1 if missed else 0)


def _recorded(state: Path, name: ClientScenario, repeats: int) -> RecordedScenario:
    """Run a scenario in a lab of its own and report it, unless that was done before."""
    kept = state / "done.json"
    if not kept.exists():
        cluster.start(state / "lab", fresh=True)
        try:
            truth = scenario.run(state / "lab", name, repeats=repeats, seed=1)
            html = report(state / "lab", truth)
        finally:
            cluster.stop(state / "lab")
        kept.write_text(json.dumps({"truth": str(truth), "report": str(html.with_suffix(".report.json"))}))
    return _read(state)


def _read(state: Path) -> RecordedScenario:
    done = json.loads((state / "done.json").read_text())
    return json.loads(Path(done["truth"]).read_text()), json.loads(Path(done["report"]).read_text())["tables"]


def _skew(state: Path) -> tuple[str, list[str]]:
    truth, tables = _read(state)
    note = json.loads((state / "done.json").read_text()).get("note")
    text, missed = page_skew.skew_section(judge_skew.skews(truth, tables), truth["since"])
    return f"{text}\n{note}\n" if note else text, missed


def _redirect(truth: dict[str, Any], tables: dict[str, Any]) -> tuple[str, list[str]]:
    seen: dict[tuple[str, str], list[judge.Witnessed]] = {}
    own: list[judge.ObservedRedirect] = []
    for run in truth["runs"]:
        if run["phase"] != "dead" and run["log"] is not None:
            its = (run["run"], run["arm"])
            rows = [row for row in tables["leader_redirect"] if (row["run"], row["arm"]) == its]
            answers = list(witness.redirects(Path(run["log"])))
            seen.setdefault((run["phase"], run["arm"]), []).append(judge.witnessed(rows, answers))
            own += [
                judge.ObservedRedirect(
                    version=run["arm"],
                    topic=run["run"],
                    partition=one.partition,
                    errored_at=one.errored_at,
                    redirect_ms=one.redirect_ms,
                )
                for one in answers
            ]
    ones = {run["run"] for run in truth["runs"] if run["phase"] == "one"}
    rates = [row["records_per_s"] for row in tables["perf_summaries"] if row["run"] in ones]
    moved, missed = page.redirect_section(
        truth, median(rates), judge.by_version(truth, tables), _pairs(truth, tables, own), seen
    )
    died, missed_deaths = page.deaths_section(*judge.deaths(truth, tables))
    return f"{moved}\n{died}", [*missed, *missed_deaths]


def _pairs(
    truth: dict[str, Any], tables: dict[str, Any], own: list[judge.ObservedRedirect]
) -> dict[tuple[str, str, str], list[list[float]]]:
    """Compare the releases move by move: by the brokers' logs, and producers by their own logs too."""
    producers, consumers = (judge.lost(truth, tables, api) for api in ("PRODUCE", "FETCH"))
    versions = sorted({one.version for one in producers})
    found = {
        ("one", "PRODUCE", f"{one} minus {other}"): [
            judge.paired(truth, seen, one, other, phase="one") for seen in (producers, own)
        ]
        for other in ("3.6.0", "3.6.2")
        for one in versions
        if one > other
    }
    oldest, newest = versions[0], versions[-1]
    return found | {
        (phase, "FETCH", f"{newest} minus {oldest}"): [
            judge.paired(truth, consumers, newest, oldest, phase=phase)
        ]
        for phase in ("one", "ten", "hundred")
    }


if __name__ == "__main__":
    typer.run(main)
