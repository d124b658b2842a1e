"""
Faults of a three-broker telemetry cluster: brokers are killed or frozen while collector and ingest work.

All runs of a process share a cluster of this module; the campaign's own broker is not used.
"""

import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import psutil

from benchmarks.faults.edge.site import Edge, edge, ended_by, in_topic, waited_for
from benchmarks.faults.edge.three_brokers import SESSION_TIMEOUT_S, ThreeBrokers, three_brokers
from benchmarks.faults.site import PublishedLine, Site
from tests.engine import made_logs

Harm = Callable[[ThreeBrokers, Edge, random.Random], None]
Fault = Callable[[str, Path, random.Random], list[str]]

WRITES_EVERY_S = 0.1
MANY_LINES = 60_000
"""More than the 50,000 records that fit in the collector's queue."""
MAX_COLLECTOR_BYTES = 400 * 1024 * 1024
FROZEN_S = 2 * SESSION_TIMEOUT_S
AWAY_S = 30.0
LINES_A_TURN, TURN_S = 20, 0.1
INGESTS_WITHIN_S = 600
ACKED_WITHIN_S = 180
EXIT_FAILED = 1


def _fault(harm: Harm, *, may_end: bool = False) -> Fault:
    def run(_bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
        cluster = three_brokers()
        cluster.wait_until_healthy()
        site = Site(cluster.bootstrap_servers, folder, replicas=3)
        with edge(site, folder, dice) as there:
            there.begin()
            there.write("go", "rename", WRITES_EVERY_S)
            ingest = there.start_ingest()
            with publishing(site, folder) as failures:
                if not waited_for(lambda: batches(there), timeout_s=INGESTS_WITHIN_S):
                    return [f"the ingest has started no batch: {last_line(there)}"]
                harm(cluster, there, dice)
                cluster.wait_until_healthy()
                hangs = stalled(there, ingest)
            wrong = failures or hangs or after(there, ingest, may_end=may_end) or wrong_acks(there)
            return wrong or there.wrong()

    run.__name__, run.__doc__ = harm.__name__, harm.__doc__
    return run


def stalled(there: Edge, ingest: subprocess.Popen[bytes]) -> list[str]:
    """Return a failure if the stream neither ends nor finishes another batch after all brokers are back."""
    n = batches(there)
    if waited_for(lambda: ingest.poll() is not None or batches(there) > n, timeout_s=INGESTS_WITHIN_S):
        return []
    return [f"the ingest has finished no batch within {INGESTS_WITHIN_S} s: {last_line(there)}"]


def after(there: Edge, ingest: subprocess.Popen[bytes], *, may_end: bool) -> list[str]:
    """Return a failure unless the stream still runs, or ended with exit code 1 and one message if it may."""
    if ingest.poll() is None:
        return ended_by(ingest, signal.SIGTERM, "the ingest", within_s=60)
    message = last_line(there)
    if may_end and ingest.returncode == EXIT_FAILED and message.startswith("ingest stopped: "):
        return []
    return [f"the ingest ended with {ingest.returncode}: {message}"]


def last_line(there: Edge) -> str:
    """Return the last line that the ingest printed."""
    return (there.ingest_said.read_text(errors="replace").splitlines() or [""])[-1]


def batches(there: Edge) -> int:
    """Return the number of log batches that the ingest has finished."""
    checkpoints = Path(there.warehouse.settings.warehouse.checkpoints)
    return sum(path.name.isdigit() for path in checkpoints.glob("ingest_lines*/commits/*"))


@contextmanager
def publishing(site: Site, folder: Path) -> Iterator[list[str]]:
    """Publish client-log lines in the background, each into the ledger once acked; yield the failures."""
    lines, is_over, failures = list(client_lines(folder / "made")), threading.Event(), list[str]()

    def publish() -> None:
        for first in range(0, len(lines), LINES_A_TURN):
            if is_over.wait(TURN_S):
                return
            try:
                site.publish(lines[first : first + LINES_A_TURN])
            except AssertionError as error:
                if error.args or site._producer.flush(ACKED_WITHIN_S):  # `publish` has waited one minute.
                    failures.append(f"the producer has failed: {error!r}")
                    return

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield failures
    finally:
        is_over.set()
        thread.join()


def client_lines(folder: Path) -> Iterator[PublishedLine]:
    """Yield client-log lines of three brokers, each with its own position."""
    made_logs.write_logs(folder, seconds=1_000, added_ms={}, onset_s=0)
    for path in sorted(folder.rglob("client.log")):
        node = path.parent.name
        for number, line in enumerate(path.read_bytes().splitlines()):
            yield PublishedLine("client-log", node, f"{node}/client-log/{number}", line)


def wrong_acks(there: Edge) -> list[str]:
    """Compare the producer's topic with its ledger: each record is at its offset, and none is repeated."""
    telemetry = there.warehouse.settings.telemetry
    rows = in_topic(telemetry, f"{telemetry.topic_prefix}client-log")
    held = {(row["partition"], row["offset"]): sha256(row["value"]).hexdigest() for row in rows}
    lost = [acked for acked in there.site.ledger if held.get((acked.partition, acked.offset)) != acked.sha256]
    twice = len(rows) - len({row["position"] for row in rows})
    wrong = [f"{len(lost)} acknowledged records are not in the topic, as {lost[0]}"] if lost else []
    return wrong + ([f"the idempotent producer has sent {twice} lines twice"] if twice else [])


def leader_killed(cluster: ThreeBrokers, there: Edge, dice: random.Random) -> None:
    """Kill the leader of the log's partition; it is started again later."""
    cluster.kill(cluster.leader(there.topic, there.partition()))
    time.sleep(dice.uniform(1.0, 10.0))


def leader_stopped(cluster: ThreeBrokers, there: Edge, dice: random.Random) -> None:
    """Freeze the leader for longer than its session timeout; it wakes up and still believes that it leads."""
    with cluster.frozen(cluster.leader(there.topic, there.partition())):
        time.sleep(FROZEN_S + dice.uniform(0.0, 3.0))


def controller_killed(cluster: ThreeBrokers, _there: Edge, dice: random.Random) -> None:
    """Kill the active controller."""
    cluster.kill(cluster.controller())
    time.sleep(dice.uniform(1.0, 10.0))


def controller_stopped(cluster: ThreeBrokers, _there: Edge, dice: random.Random) -> None:
    """Freeze the active controller for longer than its session timeout."""
    with cluster.frozen(cluster.controller()):
        time.sleep(FROZEN_S + dice.uniform(0.0, 3.0))


def each_killed_in_turn(cluster: ThreeBrokers, _there: Edge, dice: random.Random) -> None:
    """Kill one broker after another, each when the previous one is back in sync."""
    for broker_id in dice.sample(cluster.ids, len(cluster.ids)):
        cluster.kill(broker_id)
        time.sleep(dice.uniform(0.0, 3.0))
        cluster.wait_until_healthy()


def all_away(cluster: ThreeBrokers, _there: Edge, dice: random.Random) -> None:
    """Kill or freeze the whole cluster for 30 s."""
    if dice.random() < 0.5:
        with cluster.frozen(*cluster.ids):
            time.sleep(AWAY_S)
        return
    for broker_id in cluster.ids:
        cluster.kill(broker_id)
    time.sleep(AWAY_S)


def stopped_while_all_are_away(_bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Freeze all brokers, fill the collector's queue, stop the collector; check its end and its memory."""
    cluster = three_brokers()
    cluster.wait_until_healthy()
    with edge(Site(cluster.bootstrap_servers, folder, replicas=3), folder, dice) as there:
        there.begin()
        there.write("write", dice.randint(1, 1_000))
        waited_for(lambda: not there.behind())
        before = there.saved()
        with cluster.frozen(*cluster.ids):
            there.write("write", MANY_LINES)
            time.sleep(dice.uniform(2.0, 5.0))
            used_bytes = psutil.Process(there.collector.pid).memory_info().rss
            wrong = there.stop()
        wrong += [f"the collector took {used_bytes:,} bytes"] if used_bytes > MAX_COLLECTOR_BYTES else []
        if any(there.saved().get(mark, 0) < offset for mark, offset in before.items()):
            wrong.append(f"the saved positions were {before} and are now {there.saved()}")
        there.start_again()
        return wrong or there.caught_up() or there.wrong_in_topic()


BROKER_FAULTS: dict[str, Fault] = {
    f"broker-{harm.__name__.replace('_', '-')}": _fault(harm, may_end=harm is all_away)
    for harm in (
        leader_killed,
        leader_stopped,
        controller_killed,
        controller_stopped,
        each_killed_in_turn,
        all_away,
    )
} | {"broker-stopped-while-all-are-away": stopped_while_all_are_away}
