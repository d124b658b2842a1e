"""Kill, shut down and restart a broker of the observed cluster."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from lab import jvm, processes, topics
from lab.cluster import READY_TIMEOUT_S, output_of
from lab.errors import LabError
from lab.layout import Lab

POLL_INTERVAL_S = 0.2

QUORUM_TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"
LEADER = re.compile(r"^LeaderId:\s+(\d+)\s*$", re.MULTILINE)


def active_controller(lab: Lab) -> int:
    """
    Return the broker id of the metadata quorum's leader.

    In KRaft mode a broker's metadata response names a random live broker as the controller, so this asks the
    quorum.

    Raises:
        LabError: the quorum does not answer, or has no leader.

    """
    output = jvm.run_tool(
        jvm.tool(QUORUM_TOOL, "--bootstrap-server", lab.bootstrap_servers, "describe", "--status")
    )
    leader = LEADER.search(output)
    if leader is None:
        message = f"the metadata quorum names no leader:\n{output[-2000:]}"
        raise LabError(message)
    return int(leader[1])


def broker_to_kill(broker_ids: Sequence[int], controller_id: int) -> int:
    """
    Return the last broker that is not the active controller. Killing it needs no controller election.

    >>> broker_to_kill([1, 2, 3], 1), broker_to_kill([1, 2, 3], 3), broker_to_kill([1], 1)
    (3, 2, 1)
    """
    others = [broker_id for broker_id in broker_ids if broker_id != controller_id]
    return (others or broker_ids)[-1]


def kill(state: Path, broker_id: int) -> None:
    """
    Kill a broker with SIGKILL.

    Raises:
        LabError: no lab runs in this folder, or the broker does not run.

    """
    process = _running(state, broker_id)
    process.kill()
    process.wait(READY_TIMEOUT_S)


def shut_down(state: Path, broker_id: int) -> None:
    """
    Stop a broker with SIGTERM: a controlled shutdown, which moves its leaders to other brokers first.

    Raises:
        LabError: no lab runs in this folder, the broker does not run, or it does not end in time.

    """
    process = _running(state, broker_id)
    process.terminate()
    try:
        process.wait(READY_TIMEOUT_S)
    except psutil.TimeoutExpired as error:
        message = f"broker {broker_id} did not end within {READY_TIMEOUT_S:g} s of SIGTERM"
        raise LabError(message) from error


def _running(state: Path, broker_id: int) -> psutil.Process:
    process = processes.find(Lab.load(state).processes[f"broker-{broker_id}"])
    if process is None:
        message = f"broker {broker_id} of {state} does not run"
        raise LabError(message)
    return process


def restart(state: Path, broker_id: int, topic: str) -> None:
    """
    Start a stopped broker. Return when all replicas of a topic are in sync again.

    Raises:
        LabError: no lab runs in this folder, or the replicas are not in sync in time.

    """
    lab = Lab.load(state)
    (broker,) = (one for one in lab.brokers if one.id == broker_id)
    name = f"broker-{broker_id}"
    lab.processes[name] = processes.spawn(jvm.observed_broker(lab, broker), output=output_of(lab, name))
    lab.save()
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not topics.is_replicated(lab, topic):
        if time.monotonic() > deadline or processes.find(lab.processes[name]) is None:
            message = f"broker {broker_id} ended, or {topic} was out of sync, after {READY_TIMEOUT_S:g} s:\n"
            raise LabError(message + processes.tail(output_of(lab, name)))
        time.sleep(POLL_INTERVAL_S)
