"""`python -m benchmarks.truth`: record, learn, judge, write docs/truth.md."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import pages
from benchmarks.truth import demos, judge, page
from benchmarks.truth.analyse import Recorded, recorded
from benchmarks.truth.learn import learn, toml
from benchmarks.truth.record import PARTS, made_on, record
from conf.settings import PROJECT
from conf.signals import interrupt_on_signals
from engine.gold.culprit import LEARNT, thresholds

PAGE = PROJECT / "docs" / "truth.md"
DEMOS_RIGHT = 19
"""The number of demos, of 20, that must name exactly what was injected."""

CONDITIONS, NOTHING_ELSE = "conditions.txt", "Nothing else ran on the machine."
"""The file in the folder of a part that lists other programs on the machine during its recording."""


def main(
    state: Annotated[Path, typer.Option(help="Recordings; parts done before are kept.")] = PROJECT
    / ".state"
    / "verify",
    *,
    only: Annotated[
        list[str] | None, typer.Option(help="Record only these: links, shapes, healthy, demos.")
    ] = None,
    relearn: Annotated[bool, typer.Option(help="Learn the thresholds again from this recording.")] = False,
    conditions: Annotated[
        str | None, typer.Option(help="What else runs on the machine during this recording, for the page.")
    ] = None,
) -> None:
    """
    Measure the pipeline against injected truth: about 4 hours of recording, then 10 minutes of judging.

    The exit code is 0 if every target is met, else 1. The page is written in both cases.

    Example: `python -m benchmarks.truth`

    Example: `python -m benchmarks.truth --only links --state .state/verify`
    """
    interrupt_on_signals()  # SIGTERM must not leave a lab behind
    for part in PARTS:
        if not only or part.name in only:
            _note(state / part.name, conditions)
            record(part, state)
    if not only or "demos" in only:
        _note(state / "demos", conditions)
        demos.record(state / "demos")
    there = {
        part.name: recorded(state / part.name) for part in PARTS if (state / part.name / "done.json").exists()
    }
    if relearn and "healthy" in there:
        LEARNT.write_text(toml(learn(there["healthy"].grid_of(0))))
        print(f"written: {LEARNT}")
    sections, is_met = _sections(there)
    if found := [judge.demo_result(*of) for of in demos.recorded(state / "demos")]:
        sections["demos"] = page.demos_section(found)
        is_met &= sum(one.is_right for one in found) >= DEMOS_RIGHT
    noted = {
        name: f"{text}\n{_conditions(state / name)}\n\n{made_on(state / name)}\n"
        for name, text in sections.items()
    }
    pages.write(PAGE, {"head": page.head(), **noted})
    print(f"written: {PAGE}; {'every aim is met' if is_met else 'an aim is missed, see the page'}")
    raise typer.Exit(0 if is_met else 1)


def _note(part: Path, conditions: str | None) -> None:
    """Store what else runs during the recording of a part."""
    part.mkdir(parents=True, exist_ok=True)
    if conditions or not (part / CONDITIONS).exists():
        (part / CONDITIONS).write_text(conditions or NOTHING_ELSE)


def _conditions(part: Path) -> str:
    return (part / CONDITIONS).read_text().strip() if (part / CONDITIONS).exists() else NOTHING_ELSE


def _sections(there: dict[str, Recorded]) -> tuple[dict[str, str], bool]:
    sections, is_met = {}, True
    if "links" in there:
        compared = [(truth, there["links"].compared(truth)) for truth in there["links"].truths]
        sections["links"] = page.links_section(compared)
        is_met &= all(judge.is_met(row) for _, rows in compared for row in rows)
    if "shapes" in there:
        part = there["shapes"]
        culprits = part.culprits(thresholds())
        results = [judge.named(truth, culprits) for truth in part.truths]
        idle = next(t for t in part.truths if t["shape"] == "broker" and not t["records_per_s"])
        sections["shapes"] = f"{page.plain_section(part.latency(idle))}\n{page.shapes_section(results)}"
        kinds = {result.shape.split()[0] for result in results}
        is_met &= all(_nine_of_ten([r.is_right for r in results if r.shape.split()[0] == k]) for k in kinds)
    if "healthy" in there:
        part = there["healthy"]
        learnt, tried = part.truths
        since, until = tried["injected_at"], tried["ended_at"]
        found = judge.alarms(part.culprits(thresholds()), since, until)
        seconds = (until - since).total_seconds()
        before = int((learnt["ended_at"] - learnt["injected_at"]).total_seconds() // 10)
        sections["healthy"] = page.healthy_section(found, int(seconds // 10), before, seconds)
        is_met &= len(found) <= 1
    return sections, is_met


def _nine_of_ten(right: list[bool]) -> bool:
    return 10 * sum(right) >= 9 * len(right)


if __name__ == "__main__":
    typer.run(main)
