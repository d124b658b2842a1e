"""Record real clusters with known slowness, part by part; a part that is done is not recorded again."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pipeline import machine
from lab import cluster, scenarios
from lab.pipeline import streams
from lab.scenarios import Scenario, ScenarioPlan, Side

DELAYS_MS = (3.0, 10.0, 20.0)
RATES = (0.0, 500.0, 2000.0)
TRIES = 10
LEARN_S, HEALTHY_S = 15 * 60.0, 60 * 60.0
META = "made-on.json"


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """Scenarios that run one after another on one cluster."""

    name: str
    plans: tuple[ScenarioPlan, ...]
    with_pipeline: bool = False  # the pipeline runs next to the brokers
    warm_up: ScenarioPlan | None = None  # runs first and is not judged


def note_meta(folder: Path) -> None:
    """Store machine, tree and date of a recording in its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / META).write_text(json.dumps(machine.described(is_short=False)))


def made_on(part: Path) -> str:
    """Return the sentences with date, tree and machine of a part's recordings, and the trees that judged."""
    metas = [json.loads(file.read_text()) for name in (META, f"*/{META}") for file in sorted(part.glob(name))]
    by_tree = {(meta["tree"], meta["is_changed"], meta["measured_on"]): meta for meta in reversed(metas)}
    recorded = [machine.measured_on(meta, "Recorded") for meta in reversed(by_tree.values())]
    built = part / "gold" / "done"
    gold = f"gold of tree `{built.read_text() or '?'}`, " if built.exists() else ""
    judge = machine.described(is_short=False)
    judged = f"Judged on {judge['measured_on']}: {gold}verdicts and judge of tree `{judge['tree']}`."
    return "\n".join([*(recorded or ["Tree and date of the recording were not noted."]), judged])


def links() -> Iterator[ScenarioPlan]:
    """Slow one pair, by every delay at every rate. Is the round trip right?"""
    for rate in RATES:
        for delay_ms in DELAYS_MS:
            yield ScenarioPlan(
                scenario=Scenario.SLOW_LINK,
                follower=2,
                leader=1,
                delay_ms=delay_ms,
                quiet_s=60,
                for_s=60,
                records_per_s=rate,
            )


def shapes() -> Iterator[ScenarioPlan]:
    """Slow each shape ten times, idle and at 500 records/s in turn, on seeded brokers. Is it named?"""
    for nth in range(TRIES):
        rate = 0.0 if nth % 2 == 0 else 500.0
        for scenario, side in (
            (Scenario.SLOW_BROKER, None),
            (Scenario.SLOW_SIDE, Side.FOLLOWER),
            (Scenario.SLOW_SIDE, Side.LEADER),
            (Scenario.SLOW_LINK, None),
        ):
            yield ScenarioPlan(
                scenario=scenario, side=side, delay_ms=10, quiet_s=30, for_s=40, records_per_s=rate, seed=nth
            )


def healthy() -> Iterator[ScenarioPlan]:
    """Slow nothing: a quarter of an hour to learn what is normal, an hour to count false alarms."""
    yield ScenarioPlan(scenario=Scenario.HEALTHY, quiet_s=0, for_s=LEARN_S)
    yield ScenarioPlan(scenario=Scenario.HEALTHY, quiet_s=0, for_s=HEALTHY_S)


WARM_UP = ScenarioPlan(scenario=Scenario.HEALTHY, quiet_s=0, for_s=60, records_per_s=max(RATES))
"""
In the first recording after a start, round trips without a delay moved by 0.78 ms, more than the aim
allows. The suspected cause, which was not proven: the JVM still compiles.
"""

PARTS = (
    RecordedPart("links", tuple(links()), warm_up=WARM_UP),
    RecordedPart("shapes", tuple(shapes())),
    RecordedPart("healthy", tuple(healthy()), with_pipeline=True),
)


def record(part: RecordedPart, root: Path) -> None:
    """Record a part in `root/NAME` and end with `done.json`; an interrupted part begins again."""
    done = root / part.name / "done.json"
    if done.exists():
        print(f"{part.name}: recorded before, in {done.parent}")
        return
    state = root / part.name / "lab"
    note_meta(root / part.name)
    settings = cluster.start(state).settings_file
    try:
        truths = []
        with streams(root / part.name, settings) if part.with_pipeline else nullcontext():
            if part.warm_up:
                scenarios.run(state, part.warm_up)
            for nth, plan in enumerate(part.plans, start=1):
                print(f"{part.name} {nth}/{len(part.plans)}", flush=True)
                truths.append(scenarios.run(state, plan).name)
    finally:
        cluster.stop(state)
    done.write_text(json.dumps(truths, indent=2) + "\n")
