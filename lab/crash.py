"""A broker of the observed cluster that dies without warning, or is shut down, and comes back."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from lab import jvm, processes, topics
from lab.cluster import output_of
from lab.errors import LabError
from lab.layout import Lab

BACK_WITHIN_S = 90.0
POLL_S = 0.2

QUORUM_TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"
LEADER = re.compile(r"^LeaderId:\s+(\d+)\s*$", re.MULTILINE)


def active_controller(lab: Lab) -> int:
    """
    Ask the metadata quorum who leads it: a broker's own word of the controller is any living broker (KRaft).

    Raises:
        LabError: the quorum cannot be asked, or has no leader.

    """
    told = jvm.run_tool(
        jvm.tool(QUORUM_TOOL, "--bootstrap-server", lab.bootstrap_servers, "describe", "--status")
    )
    leader = LEADER.search(told)
    if leader is None:
        message = f"the metadata quorum names no leader:\n{told[-2000:]}"
        raise LabError(message)
    return int(leader[1])


def victim(broker_ids: Sequence[int], controller_id: int) -> int:
    """
    Choose who dies: the last broker that is not the active controller, whose successor is elected first.

    >>> victim([1, 2, 3], 1), victim([1, 2, 3], 3), victim([1], 1)
    (3, 2, 1)
    """
    others = [broker_id for broker_id in broker_ids if broker_id != controller_id]
    return (others or broker_ids)[-1]


def kill(state: Path, broker_id: int) -> None:
    """
    End a broker as kill -9 does.

    Raises:
        LabError: no lab runs here, or the broker does not.

    """
    process = _running(state, broker_id)
    process.kill()
    process.wait(BACK_WITHIN_S)


def shut_down(state: Path, broker_id: int) -> None:
    """
    End a broker as SIGTERM does: it gives its partitions away first.

    Raises:
        LabError: no lab runs here, or the broker does not, or it does not end in time.

    """
    process = _running(state, broker_id)
    process.terminate()
    try:
        process.wait(BACK_WITHIN_S)
    except psutil.TimeoutExpired as error:
        message = f"broker {broker_id} has not ended within {BACK_WITHIN_S:g} s of SIGTERM"
        raise LabError(message) from error


def _running(state: Path, broker_id: int) -> psutil.Process:
    process = processes.find(Lab.load(state).processes[f"broker-{broker_id}"])
    if process is None:
        message = f"broker {broker_id} of {state} does not run"
        raise LabError(message)
    return process


def revive(state: Path, broker_id: int, topic: str) -> None:
    """
    Start a broker that was ended; return when all replicas of a topic are in sync again.

    Raises:
        LabError: no lab runs here, or the broker does not come back in time.

    """
    lab = Lab.load(state)
    (broker,) = (one for one in lab.brokers if one.id == broker_id)
    name = f"broker-{broker_id}"
    lab.processes[name] = processes.spawn(jvm.observed_broker(lab, broker), output=output_of(lab, name))
    lab.save()
    deadline = time.monotonic() + BACK_WITHIN_S
    while not topics.is_replicated(lab, topic):
        if time.monotonic() > deadline or processes.find(lab.processes[name]) is None:
            message = f"broker {broker_id} did not come back within {BACK_WITHIN_S:g} s:\n"
            raise LabError(message + processes.tail(output_of(lab, name)))
        time.sleep(POLL_S)
