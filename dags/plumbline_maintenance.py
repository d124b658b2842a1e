"""
## Retention, OPTIMIZE and VACUUM, once a night

`plumbline maintain`, layer by layer: old days are deleted, small files of days that are over are merged, files
that no reader needs are removed. `[maintain]` of the settings has the retention.

It runs while streams run: what a stream has not read yet is not deleted, and no file is removed that is younger
than `vacuum_retention_hours`. Run again, it finds nothing to do.

Settings: the run's `conf`, by default `PLUMBLINE_CONF` of Airflow's environment.
"""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from dags.spark_job import OWNED, TAGS, settings, spark_job

with DAG(
    "plumbline_maintenance",
    doc_md=__doc__,
    schedule="30 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    default_args=OWNED | {"retry_delay": timedelta(minutes=15)},
    tags=[*TAGS, "maintenance"],
    params={"conf": settings()},
):
    bronze, silver, gold = (
        spark_job(f"maintain_{layer}", "maintain", ["--conf", "{{ params.conf }}", "--only", layer])
        for layer in ("bronze", "silver", "gold")
    )

    bronze >> silver >> gold
