"""What every DAG keeps to, as Airflow itself loads it."""

import json

import pytest

from conf.settings import PROJECT
from tests.dags.site import Airflow

SCHEDULES = {
    "plumbline_gold": "0 * * * *",
    "plumbline_maintenance": "30 3 * * *",
    "plumbline_nightly_comparison": "0 5 * * *",
}

VERDICTS = ("check_silver", "check_gold", "compare")
"""Tasks that say the same when they are tried again."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    code, said = Airflow(tmp_path_factory.mktemp("policy")).run(
        "python", str(PROJECT / "tests/dags/policy.py")
    )
    assert code == 0, said
    return json.loads(next(line for line in said.splitlines() if line.startswith("{")))


def test_every_dag_loads_and_none_is_missing(loaded):
    assert loaded["errors"] == {}
    assert {name: dag["schedule"] for name, dag in loaded["dags"].items()} == SCHEDULES


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_dag_is_documented_tagged_tried_again_and_alone(loaded, name):
    dag = loaded["dags"][name]

    assert dag["doc_md"].lstrip().startswith("## ")
    assert "PLUMBLINE_CONF" in dag["doc_md"]
    assert "plumbline" in dag["tags"]
    assert (dag["max_active_runs"], dag["catchup"]) == (1, False)
    assert dag["timeout_s"] > 0
    assert "conf" in dag["params"]
    assert {task["owner"] for task in dag["tasks"].values()} == {"plumbline"}
    assert all(task["retries"] for of, task in dag["tasks"].items() if of not in VERDICTS)


def test_gold_stands_between_two_gates_and_is_told_of_behind_both(loaded):
    tasks = loaded["dags"]["plumbline_gold"]["tasks"]

    assert {name: task["after"] for name, task in tasks.items()} == {
        "check_silver": [],
        "build_gold": ["check_silver"],
        "check_gold": ["build_gold"],
        "report": ["check_gold"],
    }
    assert {name: task["outlets"] for name, task in tasks.items() if task["outlets"]} == {
        "report": ["plumbline_gold"]
    }
    # A second try would ask what is new since the first one, which is nothing.
    assert (tasks["check_silver"]["retries"], tasks["check_gold"]["retries"]) == (0, 0)
