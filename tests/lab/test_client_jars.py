"""`make lab` installs the older Kafka clients; a scenario that needs one reports that before it starts."""

import pytest

from lab.clients import scenario
from lab.errors import LabError


@pytest.mark.parametrize("name", list(scenario.ClientScenario))
def test_a_scenario_without_its_old_clients_names_make_lab_and_starts_nothing(monkeypatch, tmp_path, name):
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "kafka-clients-4.3.1.jar").touch()
    monkeypatch.setattr("conf.java.JARS", tmp_path)

    with pytest.raises(LabError, match=r"present: 4\.3\.1\): run `make lab`"):
        scenario.run(tmp_path / "no-lab", name, repeats=1, seed=1)
