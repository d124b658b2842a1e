"""Load every DAG as Airflow does and tell, as JSON, what a test asks of them; run by Airflow's own Python."""

import json


def facts(dag):
    """Tell what stands in the rules for DAGs."""
    return {
        "doc_md": dag.doc_md,
        "tags": sorted(dag.tags),
        "max_active_runs": dag.max_active_runs,
        "catchup": dag.catchup,
        "schedule": getattr(dag.timetable, "expression", None) or dag.timetable._expression,
        "params": sorted(dag.params),
        "timeout_s": dag.dagrun_timeout.total_seconds(),
        "tasks": {
            task.task_id: {
                "retries": task.retries,
                "owner": task.owner,
                "kind": task.task_type,
                "outlets": [asset.name for asset in task.outlets],
                "after": sorted(task.upstream_task_ids),
            }
            for task in dag.tasks
        },
    }


if __name__ == "__main__":
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag()
    told = {"errors": bag.import_errors, "dags": {name: facts(dag) for name, dag in bag.dags.items()}}
    print(json.dumps(told))
