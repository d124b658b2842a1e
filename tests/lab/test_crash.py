"""Who dies in the last part of `plumbline lab run redirect`, and what is written down of it."""

from types import SimpleNamespace

import pytest

from lab import crash, jvm, topics
from lab.clients import redirect_moves
from lab.errors import LabError

LAB = SimpleNamespace(bootstrap_servers="127.0.0.1:1", broker_ids=[1, 2, 3], state="state")
STATUS = "ClusterId:              AQx\nLeaderId:               {}\nLeaderEpoch:            2\n"
PHASE = redirect_moves.RedirectPhase(
    name="dead", partitions=3, at_once=0, elections=0, apart_s=0, acks="1", for_s=1, is_crash=True
)


def test_active_controller_is_the_leader_of_the_quorum(monkeypatch):
    asked = []
    monkeypatch.setattr(jvm, "run_tool", lambda command: asked.append(command) or STATUS.format(2))
    monkeypatch.setattr(jvm, "tool", lambda *words: list(words))

    assert crash.active_controller(LAB) == 2
    assert asked == [[crash.QUORUM_TOOL, "--bootstrap-server", "127.0.0.1:1", "describe", "--status"]]


@pytest.mark.parametrize("told", ["", STATUS.format(-1)])
def test_quorum_without_a_leader_is_an_error(monkeypatch, told):
    monkeypatch.setattr(jvm, "run_tool", lambda _command: told)
    monkeypatch.setattr(jvm, "tool", lambda *words: list(words))

    with pytest.raises(LabError, match="names no leader"):
        crash.active_controller(LAB)


@pytest.mark.parametrize(
    ("broker_ids", "controller_id", "dies", "was_controller"),
    [([1, 2, 3], 1, 3, False), ([1, 2, 3], 3, 2, False), ([3], 3, 3, True)],
)
def test_controller_is_spared_and_the_truth_says_whether_it_was(
    monkeypatch, broker_ids, controller_id, dies, was_controller
):
    lab = SimpleNamespace(broker_ids=broker_ids, state="state")
    killed = []
    monkeypatch.setattr(topics, "leaders", lambda _lab, _topic: {0: 1, 1: 2, 2: 3})
    monkeypatch.setattr(crash, "kill", lambda _state, broker_id: killed.append(broker_id))
    monkeypatch.setattr(crash, "restart", lambda *_: None)

    moves = redirect_moves.crash_leader(lab, "t", PHASE, controller_id, lambda _line: None)

    assert killed == [dies]
    assert [(move["old_leader_id"], move["was_controller"]) for move in moves] == [(dies, was_controller)]
