"""A broker of the observed cluster that dies without warning, and comes back."""

import time
from pathlib import Path

from lab import jvm, processes, topics
from lab.cluster import output_of
from lab.errors import LabError
from lab.layout import Lab

BACK_WITHIN_S = 90.0
POLL_S = 0.2


def kill(state: Path, broker_id: int) -> None:
    """
    End a broker as kill -9 does.

    Raises:
        LabError: no lab runs here, or the broker does not.

    """
    process = processes.find(Lab.load(state).processes[f"broker-{broker_id}"])
    if process is None:
        message = f"broker {broker_id} of {state} does not run"
        raise LabError(message)
    process.kill()
    process.wait(BACK_WITHIN_S)


def revive(state: Path, broker_id: int, topic: str) -> None:
    """
    Start a broker that was killed; return when all replicas of a topic are in sync again.

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
