"""How a DAG starts one of our jobs: by spark-submit, with the settings and the span of its run."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Param

PROJECT = Path(__file__).resolve().parent.parent
CONNECTION = "plumbline_spark"
JARS = f"{PROJECT}/.jars/spark/*"

OWNED = {"owner": "plumbline", "retries": 2, "retry_delay": timedelta(minutes=2)}
TAGS = ["plumbline"]
REPORTS = os.environ.get("PLUMBLINE_REPORTS", f"{PROJECT}/.state/reports")
ON_PATH = {"PYTHONPATH": str(PROJECT)}


def settings() -> Param:
    """Return the parameter that names the settings file."""
    return Param(
        os.environ.get("PLUMBLINE_CONF", ""),
        type="string",
        minLength=1,
        description="Settings file, an absolute path. Default: PLUMBLINE_CONF of Airflow's environment.",
    )


def spark_job(task_id: str, job: str, arguments: str | list[str], **more: Any) -> SparkSubmitOperator:  # noqa: ANN401 (what Airflow's operators take)
    """Return the task that runs `jobs/JOB.py`; its arguments may be templates."""
    return SparkSubmitOperator(
        task_id=task_id,
        name=f"plumbline-{task_id}",
        application=str(PROJECT / "jobs" / f"{job}.py"),
        application_args=arguments,
        conn_id=CONNECTION,
        driver_class_path=JARS,
        env_vars=ON_PATH,
        **more,
    )


def span_of(
    params: Mapping[str, Any], since: datetime | None = None, until: datetime | None = None
) -> list[str]:
    """Return the span of a run as options: that of its parameters, else its data interval."""
    ends = [params.get("since") or _instant(since), params.get("until") or _instant(until)]
    return [word for name, at in zip(("--since", "--until"), ends, strict=True) if at for word in (name, at)]


def is_rebuild(params: Mapping[str, Any], run_type: str) -> bool:
    """Return whether a run builds its span again: a back-fill, or a run with a span."""
    return run_type == "backfill" or bool(params.get("since"))


def _instant(at: datetime | None) -> str | None:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if at else None
