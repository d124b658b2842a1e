"""A lab as the place of an experiment: what it cannot do is told before anything runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.experiments.errors import ExperimentError, WrongError
from lab.experiments.kept import alone
from lab.experiments.place import OfLab, public_settings
from lab.experiments.spec import InLab, read
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
    slow, quick = OfLab(state, experiment, SHIPPED), OfLab(state, replace(experiment, lab=None), SHIPPED)

    assert slow.bootstrap_servers != quick.bootstrap_servers
    assert slow.told == quick.told == {"kind": "lab", "brokers": 3}


def test_a_broker_that_the_lab_has_not_is_told(state):
    with pytest.raises(
        WrongError, match=r"adaptive\.toml: \[lab\] broker = 4: the lab's brokers are \[1, 2, 3\]"
    ):
        OfLab(state, replace(read(SHIPPED), lab=InLab(broker=4, hold_ms=5.0)), SHIPPED)


def test_more_replicas_than_brokers_are_told(state):
    experiment = read(SHIPPED)
    with pytest.raises(WrongError, match="replication_factor is more than the lab's 3 brokers"):
        OfLab(state, replace(experiment, load=replace(experiment.load, replication_factor=4)), SHIPPED)


def test_a_lock_is_held_by_one(tmp_path):
    lock = tmp_path / "lock"
    refused = pytest.raises(ExperimentError, match="second: wait")

    with alone(lock, "first"), refused, alone(lock, "second"):
        pass


def test_settings_are_read_as_java_does(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("! old\n# TLS\n\na = 1\nb: x=y\nc\nsasl.jaas.config=secret;\nlinger.ms 5\n")

    assert public_settings(file) == {"a": "1", "b": "x=y", "c": "", "linger.ms": "5"}
