"""
## Better, worse, equal, or too early to say? Every night

`plumbline compare` of two arms of performance tests in the warehouse. A regression fails the run, and so do runs
that cannot be compared. Inconclusive is no failure: the task is skipped, and its log says how many more runs would
decide. The comparison is written to
`PLUMBLINE_REPORTS` as page, JSON and Markdown, named by the day, or by the instant if a person started it.

Arms, metric and tolerance are parameters of the run; `PLUMBLINE_BASELINE` and `PLUMBLINE_CONTENDER` of Airflow's
environment name the arms of scheduled ones. Settings: `conf`, by default `PLUMBLINE_CONF`. The comparison is saved
in `gold.run_comparison` once: a repeated run gives the same verdict on the same runs and saves no second row.
"""

import os
from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Param

from dags.spark_job import CONNECTION, JARS, ON_PATH, OWNED, PROJECT, REPORTS, TAGS, settings

INCONCLUSIVE = 2
DAY = "(ds_nodash if dag_run.run_type == 'scheduled' else ts_nodash)"

# What people type stands in the environment alone, never in the line that a shell reads.
COMPARE = """
exec spark-submit --master "$MASTER" --driver-class-path "$JARS" \
  "$PROJECT/jobs/compare.py" --conf "$CONF" --save --metric "$METRIC" --tolerance "$TOLERANCE" \
  --html "$REPORT.html" --json "$REPORT.json" --markdown "$REPORT.md" -- "$BASELINE" "$CONTENDER"
"""


def _word(default: str, description: str) -> Param:
    return Param(default, type="string", minLength=1, description=description)


with DAG(
    "plumbline_nightly_comparison",
    doc_md=__doc__,
    schedule="0 5 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=2),
    default_args=OWNED | {"retries": 0},  # a verdict is the same the second time
    tags=[*TAGS, "comparison"],
    params={
        "conf": settings(),
        "baseline": _word(os.environ.get("PLUMBLINE_BASELINE", "baseline"), "Arm to compare with."),
        "contender": _word(os.environ.get("PLUMBLINE_CONTENDER", "contender"), "Arm to judge."),
        "metric": _word("p99_ms", "The metric that decides."),
        "tolerance": _word("5%", "Change that makes no difference."),
    },
):
    # Not a SparkSubmitOperator: that takes every exit code but 0 for a failure.
    BashOperator(
        task_id="compare",
        bash_command=COMPARE,
        skip_on_exit_code=INCONCLUSIVE,
        append_env=True,
        env=ON_PATH
        | {
            "MASTER": f"{{{{ conn.{CONNECTION}.host }}}}",
            "JARS": JARS,
            "PROJECT": str(PROJECT),
            "CONF": "{{ params.conf }}",
            "METRIC": "{{ params.metric }}",
            "TOLERANCE": "{{ params.tolerance }}",
            "BASELINE": "{{ params.baseline }}",
            "CONTENDER": "{{ params.contender }}",
            "REPORT": f"{REPORTS}/comparison-{{{{ {DAY} if logical_date else run_id }}}}",
        },
    )
