"""A lab as the place of an experiment: what it cannot do is told before anything runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from conf.exit_codes import HeldError, WrongUseError
from lab.experiments.place import LabPlace, public_settings
from lab.experiments.run_folder import exclusive_lock
from lab.experiments.spec import ResponseHold, read
from lab.layout import lay_out
from lab.ports import free_ports

SHIPPED = Path(__file__).parents[3] / "conf" / "experiments" / "adaptive.toml"


@pytest.fixture
def state(tmp_path):
    """Give the folder of a lab of three brokers, none of which runs."""
    lay_out(tmp_path, 3, free_ports()).save()
    return tmp_path


def test_where_a_broker_is_slow_clients_go_by_way_of_its_proxy_and_else_straight(state):
    experiment = read(SHIPPED)
    slow, quick = (
        LabPlace(state, experiment, SHIPPED),
        LabPlace(state, replace(experiment, lab=None), SHIPPED),
    )

    assert slow.bootstrap_servers != quick.bootstrap_servers
    assert slow.description == quick.description == {"kind": "lab", "brokers": 3}


def test_a_broker_that_the_lab_has_not_is_told(state):
    with pytest.raises(
        WrongUseError, match=r"adaptive\.toml: \[lab\] broker = 4: the lab's brokers are \[1, 2, 3\]"
    ):
        LabPlace(state, replace(read(SHIPPED), lab=ResponseHold(broker=4, hold_ms=5.0)), SHIPPED)


def test_more_replicas_than_brokers_are_told(state):
    experiment = read(SHIPPED)
    with pytest.raises(WrongUseError, match="replication_factor is more than the lab's 3 brokers"):
        LabPlace(state, replace(experiment, load=replace(experiment.load, replication_factor=4)), SHIPPED)


def test_a_lock_is_held_by_one(tmp_path):
    lock = tmp_path / "lock"
    refused = pytest.raises(HeldError, match="second: wait")

    with exclusive_lock(lock, "first"), refused, exclusive_lock(lock, "second"):
        pass


def test_settings_are_read_as_java_does(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("! old\n# TLS\n\na = 1\nb: x=y\nc\nsasl.jaas.config=secret;\nlinger.ms 5\n")

    assert public_settings(file) == {"a": "1", "b": "x=y", "c": "", "linger.ms": "5"}
