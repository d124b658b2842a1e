"""
## Silver to gold, every hour, with a gate before and after

1. `check_silver` checks the rules of `conf/expectations/silver_*.json` for the hour of the run, and for every hour
   that got rows since the last check.
2. `build_gold` builds every window that lines touched since the last run, however late they came.
3. `check_gold` checks the rules of `conf/expectations/gold_*.json` in the same way.
4. `report` writes the page and the JSON of the hour, and updates the asset `plumbline_gold`.

A rule that fails ends the run; the task's log names the rule, the span, how many rows broke it, and some of them.
Later runs build all other hours. The hour that failed is held back until a check of it passes.

**Scheduled runs** build what is new. **Back-fills** (and runs with `since` and `until`) build their whole span
again. Both give the same rows if they are repeated.

Settings: the run's `conf`, by default `PLUMBLINE_CONF` of Airflow's environment. One process writes gold:
while `plumbline build-gold --follow` runs, `build_gold` ends with 4; pause this DAG then.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Asset, Param
from airflow.timetables.interval import CronDataIntervalTimetable

from dags.spark_job import OWNED, REPORTS, TAGS, is_rebuild, settings, span_of, spark_job

GOLD = Asset(name="plumbline_gold", uri="x-plumbline://gold")
"""Updated when gold of an hour was built and passed both gates: `DAG(schedule=[Asset("plumbline_gold")])`."""

OF_RUN = "params, dag_run.run_type, data_interval_start, data_interval_end"


def gate(layer: str, params: dict[str, Any], run_type: str, *interval: datetime | None) -> list[str]:
    """Return the options of a check."""
    beside = [] if is_rebuild(params, run_type) else ["--new"]
    return ["--layer", layer, "--conf", params["conf"], *span_of(params, *interval), *beside]


def build(params: dict[str, Any], run_type: str, *interval: datetime | None) -> list[str]:
    """Return the options of a build: a span only if it is built again."""
    span = span_of(params, *interval) if is_rebuild(params, run_type) else []
    return ["--conf", params["conf"], *span]


def written(params: dict[str, Any], _run_type: str, *interval: datetime | None) -> list[str]:
    """Return the options of a report: a page and a JSON named by the start of the span."""
    span = span_of(params, *interval)
    start = span[1].replace(":", "").replace("-", "") if span else "all"
    name = f"{REPORTS}/gold-{start}"
    return ["--conf", params["conf"], *span, "--html", f"{name}.html", "--json", f"{name}.json"]


def _instant() -> Param:
    # One object a parameter: Airflow writes a run's value into it.
    return Param(
        None, type=["null", "string"], format="date-time", description="Of a span to build again, UTC."
    )


with DAG(
    "plumbline_gold",
    doc_md=__doc__,
    schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    default_args=OWNED,
    tags=[*TAGS, "gold", "quality"],
    params={"conf": settings(), "since": _instant(), "until": _instant()},
    render_template_as_native_obj=True,
    user_defined_macros={"gate": gate, "build": build, "written": written},
):
    # A failed rule fails again, and new hours are new only for the first try.
    check_silver = spark_job(
        "check_silver", "check_quality", f"{{{{ gate('silver', {OF_RUN}) }}}}", retries=0
    )
    build_gold = spark_job("build_gold", "build_gold", f"{{{{ build({OF_RUN}) }}}}")
    check_gold = spark_job("check_gold", "check_quality", f"{{{{ gate('gold', {OF_RUN}) }}}}", retries=0)
    report = spark_job("report", "report", f"{{{{ written({OF_RUN}) }}}}", outlets=[GOLD])

    check_silver >> build_gold >> check_gold >> report
