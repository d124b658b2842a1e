"""
Record the example of `plumbline report --example`: `python -m benchmarks.example` writes docs/example.

Four scenarios run one after another on three real brokers, at low rates, because the files are part of the
checkout: a slow link, a throttle that stays set, leaders that move, and new topics; the last two under
clients of several releases. The files are those of the brokers and clients, byte for byte, compressed.
"""

import gzip
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import pages
from benchmarks.pipeline import machine
from collectors.scrape_files import TIME_MARK
from conf.settings import PROJECT
from lab import cluster, scenarios
from lab.clients import metadata, redirect
from lab.clients.metadata import MetadataPlan
from lab.clients.producer import CURRENT_VERSION, folder_of
from lab.clients.redirect_moves import RedirectPhase
from lab.layout import Lab
from lab.scenarios import LOG_LAG_S, Scenario, ScenarioPlan
from lab.throttle import scenario as throttle
from lab.throttle.pages import recorded_pages
from lab.throttle.parts import BY_NAME
from lab.throttle.scenario import ThrottlePlan
from serving.report.run.example import EXAMPLE

LOGS = ("kafka-request.log", "network-client.log", "state-change.log")
SLOW_LINK = ScenarioPlan(
    scenario=Scenario.SLOW_LINK, follower=3, leader=1, delay_ms=10, quiet_s=60, for_s=60, records_per_s=5
)
THROTTLE = ThrottlePlan(parts=(BY_NAME["left_over"],), scrape_every_s=10)
ONE_BY_ONE = RedirectPhase(
    name="one", partitions=6, at_once=1, elections=24, apart_s=1.2, acks="1", for_s=60, records_per_s=10
)
REDIRECT = redirect.RedirectPlan(scenario="example", warm_up_s=10, phases=(ONE_BY_ONE,))
"""Not named after its question: the report begins with the answer that the scenario of a run asks for."""

METADATA = MetadataPlan(topics=120, idle_topics=30, for_s=60)
SCRAPE_EVERY_S = 20.0
PATHS = ("log", "sizes_file", "scrapes_file")
"""Fields of a ground truth with paths of the recording machine."""


def main(
    state: Annotated[Path, typer.Option(help="Folder for the cluster.")] = PROJECT / ".state" / "example",
) -> None:
    """
    Record the example in a lab of its own: 7 minutes. Needs `make lab`.

    Example: `python -m benchmarks.example`
    """
    lab = cluster.start(state / "lab", fresh=True)
    try:
        truths = list(_recorded(lab))
        time.sleep(LOG_LAG_S)
        shutil.rmtree(EXAMPLE, ignore_errors=True)
        pack(lab, EXAMPLE / "logs")  # before the brokers stop, which they log as well
    finally:
        cluster.stop(state / "lab")
    _describe(*truths)
    size = sum(file.stat().st_size for file in EXAMPLE.rglob("*") if file.is_file())
    print(f"written: {EXAMPLE}, {size:,} bytes")


def _recorded(lab: Lab) -> Iterator[dict[str, Any]]:
    with recorded_pages(lab, lab.state / "truth" / "scrapes.jsonl", interval_s=SCRAPE_EVERY_S):
        yield _truth(scenarios.run(lab.state, SLOW_LINK))
    yield _truth(throttle.run(lab.state, THROTTLE))
    yield _truth(redirect.run(lab.state, REDIRECT))
    yield _truth(metadata.run(lab.state, METADATA))


def _truth(path: Path) -> dict[str, Any]:
    """Return a ground truth without paths."""

    def without_paths(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name not in PATHS}

    truth: dict[str, Any] = json.loads(path.read_text(), object_hook=without_paths)
    return truth


def pack(lab: Lab, target: Path) -> None:
    """Write the logs, the scrapes and the outputs of the performance tests as gzip files, in whole lines."""
    for broker in lab.brokers:
        logs = Path(broker.logs)
        for name in LOGS:
            text = (logs / name).read_bytes()
            _write(target / logs.name / f"{name}.gz", text[: text.rfind(b"\n") + 1])
        scrapes = (
            TIME_MARK + f"{page.stem}\n".encode() + page.read_bytes() for page in sorted(logs.glob("*.prom"))
        )
        _write(target / logs.name / "jmx.prom.gz", b"".join(scrapes))
    for output in sorted(folder_of(lab).iterdir()):
        _write(target / "perf-test" / f"{output.name}.gz", output.read_bytes())


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, mtime=0))


def _describe(
    slow_link: dict[str, Any], throttled: dict[str, Any], moved: dict[str, Any], looked_up: dict[str, Any]
) -> None:
    """Write the ground truth, as `plumbline report --truth` reads it, and the page of the folder."""
    truth = slow_link | {
        "kafka": CURRENT_VERSION,
        "made_on": machine.described(is_short=False),
        "throttle": throttled,
        "redirect": moved,
        "metadata": looked_up,
        "injected": list(injected(slow_link, throttled, moved, looked_up)),
    }
    (EXAMPLE / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    (EXAMPLE / "README.md").write_text(pages.render("example", truth=truth))


def injected(
    slow_link: dict[str, Any], throttled: dict[str, Any], moved: dict[str, Any], looked_up: dict[str, Any]
) -> Iterator[dict[str, str]]:
    """Yield what was injected, in words, with its first and last instant."""
    (part,), moves = throttled["parts"], moved["moves"]
    yield {
        "since": slow_link["injected_at"],
        "until": slow_link["ended_at"],
        "what": f"{slow_link['delay_ms']:g} ms more per round trip of broker {slow_link['follower_id']} "
        f"to broker {slow_link['leader_id']}",
    }
    yield {
        "since": part["asked_at"],
        "until": part["cleared_at"],
        "what": f"replicas move from broker {part['leaders'][0]} to broker {part['followers'][0]} under a "
        f"throttle of {part['limit_bytes_per_s'] / 1e6:g} MB/s, which stays set after the move",
    }
    yield {
        "since": moves[0]["asked_at"],
        "until": moves[-1]["answered_at"],
        "what": f"{len(moves)} leaders move, one at a time, under clients {_versions(moved['runs'])}",
    }
    yield {
        "since": looked_up["since"],
        "until": looked_up["until"],
        "what": f"clients {_versions(looked_up['runs'])} use {looked_up['topics']} new topics",
    }


def _versions(runs: list[dict[str, Any]]) -> str:
    return ", ".join(sorted({run["client_version"] for run in runs}))


if __name__ == "__main__":
    typer.run(main)
