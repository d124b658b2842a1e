"""
The faults at the edge: collectors killed, stopped and robbed of their state, brokers of three that fail.

Each function makes a site of its own, does the harm, lets everything recover and gives what the oracles find
wrong. One run takes about a minute: `three_brokers.py` tells what a cluster costs once.
"""

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults.edge.brokers import BROKER_FAULTS
from benchmarks.faults.edge.site import Edge, edge, frozen, waited_for
from benchmarks.faults.site import Site
from conf.exit_codes import ExitCode

Fault = Callable[[str, Path, random.Random], list[str]]
Harm = Callable[[Edge, random.Random], list[str]]

STYLES = ("rename", "gzip", "copy")
ANY_STYLE = "|".join(STYLES)
KILLS = 5


def _fault(harm: Harm) -> Fault:
    def run(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
        with edge(Site(bootstrap_servers, folder), folder, dice) as there:
            there.begin()
            return harm(there, dice) or there.wrong()

    run.__name__, run.__doc__ = harm.__name__, harm.__doc__
    return run


def killed_while_writing(there: Edge, dice: random.Random) -> list[str]:
    """Kill the collector at random moments while lines are written and rotated in every way."""
    there.write("go", ANY_STYLE)
    for _ in range(KILLS):
        time.sleep(dice.uniform(0.3, 2.0))
        there.kill()
        time.sleep(dice.uniform(0.0, 0.7))
        there.start_again()
    time.sleep(1.0)
    return []


def killed_at_the_rotation(there: Edge, dice: random.Random) -> list[str]:
    """Kill the collector in the moment of a rotation."""

    def kill_soon() -> None:
        time.sleep(dice.uniform(0.0, 0.05))
        there.kill()

    for _ in range(KILLS):
        there.write("write", dice.randint(1, 2_000))
        time.sleep(dice.uniform(0.8, 1.2))
        there.write("write", dice.randint(1, 2_000))
        there.write("rotate", dice.choice(STYLES), meanwhile=kill_soon)
        there.write("write", dice.randint(0, 3))
        there.start_again()
    return []


def stopped_over_rotations(there: Edge, dice: random.Random) -> list[str]:
    """Stop the collector for seconds in which the log is rotated several times, and let it go on."""
    there.write("go", ANY_STYLE)
    for _ in range(2):
        time.sleep(dice.uniform(0.5, 1.5))
        with frozen(there.collector.pid):
            for _ in range(dice.randint(3, 6)):
                there.write("write", dice.randint(1, 300))
                there.write("rotate", dice.choice(STYLES))
            there.write("go", ANY_STYLE)
            time.sleep(dice.uniform(1.0, 3.0))
    return []


def killed_between_ack_and_state(there: Edge, dice: random.Random) -> list[str]:
    """Kill the collector once the broker has acknowledged lines that its state does not tell of yet."""
    hits = 0
    for _ in range(KILLS):
        before = there.records()
        n = dice.randint(50, 500)
        there.write("write", n)
        if not waited_for(lambda: there.records() >= before + n):  # noqa: B023 (waited for at once)
            return [f"{n} lines did not arrive: {there.output[-300:]}"]
        there.kill()
        hits += bool(there.behind())
        if dice.random() < 0.5:
            there.write("rotate", dice.choice(STYLES))
        there.start_again()
    return [] if hits else ["no kill fell between the ack and the state"]


def torn_state(there: Edge, dice: random.Random) -> list[str]:
    """Tear the state: the collector ends with a line that names file and way out, which then is taken."""
    there.write("write", 500)
    time.sleep(1.5)
    there.kill()
    there.write("write", 300)
    there.write("rotate", dice.choice(STYLES))
    there.write("write", 100)
    whole = there.positions.read_bytes()
    there.positions.write_bytes(dice.choice([whole[: len(whole) // 2], b"", bytes(len(whole)), b"[]"]))
    before = there.output
    code = there.start().wait(30)
    printed = there.output.removeprefix(before)
    if (
        code != 1
        or str(there.positions) not in printed
        or "delete it" not in printed
        or "Traceback" in printed
    ):
        return [f"torn state: exit code {code}, {printed[-500:]}"]
    there.positions.unlink()
    there.start_again()
    return []


def stale_state(there: Edge, dice: random.Random) -> list[str]:
    """Put an older copy of the state in the place of the newest, or none at all."""
    there.write("go", ANY_STYLE)
    older = there.positions.with_name("older")
    for _ in range(3):
        time.sleep(dice.uniform(0.5, 1.5))
        shutil.copy(there.positions, older)
        time.sleep(dice.uniform(1.0, 2.0))
        there.kill()
        time.sleep(dice.uniform(0.0, 0.5))
        older.replace(there.positions)
        if dice.random() < 0.4:
            there.positions.unlink()
        there.start_again()
        waited_for(there.positions.exists)
    return []


def two_collectors(there: Edge, dice: random.Random) -> list[str]:
    """Start a second collector on one state folder: it is refused, also while the first one is stopped."""
    there.write("go", ANY_STYLE)
    before, codes = there.output, list[int]()
    codes.append(there.start().wait(30))
    with frozen(there.collector.pid):
        codes.append(there.start().wait(30))
    printed = there.output.removeprefix(before)
    time.sleep(dice.uniform(0.5, 1.5))
    if codes != [ExitCode.HELD] * 2 or printed.count(f"another collector works in {there.state}") != 2:
        return [f"a second collector ended with {codes}: {printed[-500:]}"]
    return []


def copied_and_truncated(there: Edge, dice: random.Random) -> list[str]:
    """Copy and truncate under the reader, killed or not; lines in no copy may be lost, no other."""
    for _ in range(6):
        there.write("write", dice.randint(1, 1_500))
        time.sleep(dice.uniform(0.0, 0.4))
        there.write("rotate", "copy")
        if dice.random() < 0.5:
            there.write("write", dice.randint(1, 1_500))
            there.write("lose", dice.randint(1, 20))
        if dice.random() < 0.3:
            there.kill()
            there.write("write", dice.randint(1, 500))
            there.write("rotate", "copy")
            there.start_again()
    there.write("write", 10)
    return []


def compressed_while_down(there: Edge, dice: random.Random) -> list[str]:
    """Rotate and compress what was read in part while the collector is down."""
    for _ in range(3):
        there.write("go", "none")
        time.sleep(dice.uniform(0.5, 1.5))
        there.kill()
        for _ in range(dice.randint(1, 3)):
            there.write("write", dice.randint(1, 500))
            there.write("rotate", dice.choice(["rename", "gzip"]))
        there.write("compress")
        there.write("write", dice.randint(0, 5))
        there.start_again()
        time.sleep(1.0)
    return []


def partial_last_line(there: Edge, dice: random.Random) -> list[str]:
    """Kill the collector behind half a line, which is completed later; sometimes it is a file's first."""
    for _ in range(KILLS):
        there.write("write", dice.randint(0, 200))
        there.write("part")
        time.sleep(dice.uniform(0.0, 1.5))
        there.kill()
        is_first = dice.random() < 0.5
        if is_first:
            there.write("finish")
        there.start_again()
        if not is_first:
            time.sleep(dice.uniform(0.0, 3.0))
            there.write("finish")
        if dice.random() < 0.7:
            there.write("rotate", dice.choice(STYLES))
    return []


def deleted_unread(there: Edge, dice: random.Random) -> list[str]:
    """Delete a file before all of it was read: one line names the missing bytes, everything else arrives."""
    there.write("write", dice.randint(1, 300))
    if not waited_for(lambda: not there.behind()):
        return ["the collector stays behind"]
    there.kill()
    there.write("write", dice.randint(1, 100))
    ((mark, (saved, _)),) = there.behind().items()
    there.write("delete", saved)
    there.write("write", 20)
    there.start_again()
    loss = f"its bytes {saved} to the end, if any, are lost ({mark})"
    if (
        not waited_for(lambda: loss in there.output, timeout_s=20)
        or there.output.count("is gone before") != 1
    ):
        return [f"not reported once: {loss!r}; but {there.output[-500:]}"]
    return []


COLLECTOR_FAULTS: dict[str, Fault] = {
    f"collector-{harm.__name__.replace('_', '-')}": _fault(harm)
    for harm in (
        killed_while_writing,
        killed_at_the_rotation,
        stopped_over_rotations,
        killed_between_ack_and_state,
        torn_state,
        stale_state,
        two_collectors,
        copied_and_truncated,
        compressed_while_down,
        partial_last_line,
        deleted_unread,
    )
}
FAULTS: dict[str, Fault] = COLLECTOR_FAULTS | BROKER_FAULTS
