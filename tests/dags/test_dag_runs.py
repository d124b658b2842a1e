"""Each DAG runs for real, with Airflow and spark-submit, on a warehouse with data of real brokers."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from delta.tables import DeltaTable as SilverTable
from typer.testing import CliRunner

from collectors.files import discover
from conf.settings import Settings
from engine.delta import tables
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from engine.quality import results_table
from jobs.build_gold import app as gold_app
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS, RUNS
from schemas.silver.requests import REQUESTS
from tests.dags.site import RUN_S, Airflow
from tests.engine.made_runs import write_run
from tests.live.test_ingest import IngestSite
from tests.transforms.gold.silver_rows import as_rows

pytestmark = [pytest.mark.live, pytest.mark.timeout(2 * RUN_S)]


@pytest.fixture(scope="module")
def filled(lab, tmp_path_factory):
    """Return a folder with bronze and silver of the running brokers' logs."""
    site = IngestSite(lab, tmp_path_factory.mktemp("filled"))
    for word in ("collect", "ingest"):
        with site.start(word, "--once") as job:
            errors = job.communicate(timeout=RUN_S)[1]
        assert job.returncode == 0, errors
    return site.warehouse.parent


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return the folder of one Airflow database for all runs."""
    return tmp_path_factory.mktemp("home") / "airflow"


@pytest.fixture
def airflow(filled, home, tmp_path):
    return Airflow(tmp_path, filled, home)


def span_of(spark, warehouse):
    """Return the span of whole hours with all requests."""
    at = tables.read(spark, warehouse, REQUESTS).selectExpr("min(logged_at) AS low", "max(logged_at) AS high")
    low, high = at.first()
    start = low.replace(minute=0, second=0, microsecond=0)
    end = high.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return {"since": f"{start:%Y-%m-%dT%H:%M:%S}+00:00", "until": f"{end:%Y-%m-%dT%H:%M:%S}+00:00"}


def test_gold_is_built_between_its_gates_and_a_rebuilt_span_has_the_same_rows(airflow, spark):
    next_hour = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:00:00}"
    code, output = airflow.test("plumbline_gold", next_hour)
    assert code == 0, output[-5000:]
    new = as_rows(tables.read(spark, airflow.warehouse, BROKER_RTT))
    checked = results_table.newest(airflow.warehouse)
    span = span_of(spark, airflow.warehouse)
    # The gates of a rebuild run in the next test.
    without_gates = ("--mark-success-pattern", "check_.*", "--conf", json.dumps(span))
    code, output = airflow.test("plumbline_gold", *without_gates)
    assert code == 0, output[-5000:]

    assert "rebuilding " in output
    assert as_rows(tables.read(spark, airflow.warehouse, BROKER_RTT)) == new
    assert len({(row["follower_id"], row["leader_id"]) for row in new}) == 6
    assert {row["layer"] for row in checked} == {"silver", "gold"}
    assert all(row["is_passed"] for row in checked)
    assert tables.read(spark, airflow.warehouse, DATA_QUALITY).filter("NOT is_balanced").count() == 0
    pages = sorted(airflow.reports.glob("gold-*.json"))
    counts = [len(json.loads(page.read_text())["tables"]["broker_rtt"]) for page in pages]
    assert max(counts) == len(new)


def test_a_failing_gate_fails_the_run_and_names_rule_and_rows(airflow, spark):
    requests = tables.path(airflow.warehouse, REQUESTS)
    first = tables.read(spark, airflow.warehouse, REQUESTS).orderBy("logged_at").first()
    place = first["position"]
    SilverTable.forPath(spark, requests).update(f"position = '{place}'", {"total_ms": "-1.0"})
    code, output = airflow.test("plumbline_gold", "--conf", json.dumps(span_of(spark, airflow.warehouse)))

    assert code == 1
    assert "FAILED silver.requests total_ms_within_range" in output
    assert f'"position": "{place}"' in output
    assert "held back: gold of " in output
    assert not (airflow.warehouse / "gold" / "broker_rtt").exists()
    assert not airflow.reports.exists()


@pytest.mark.usefixtures("spark")
def test_maintenance_goes_through_every_layer(airflow):
    # The job treats a layer without a table as a wrong setting, which Airflow retries 15 minutes later.
    built = CliRunner().invoke(gold_app, ["--conf", str(airflow.conf)])
    assert built.exit_code == 0, built.output
    code, output = airflow.test("plumbline_maintenance")

    assert code == 0, output[-5000:]
    for layer in ("bronze", "silver", "gold"):
        assert f"--only {layer}" in output


def test_a_regression_fails_the_run_and_an_inconclusive_result_skips_it(airflow):
    write_arms(airflow)
    results = {}
    for contender in ("worse", "few"):
        options = json.dumps({"baseline": "old", "contender": contender, "metric": "avg_ms"})
        results[contender] = airflow.test("plumbline_nightly_comparison", "--conf", options)

    codes = {contender: code for contender, (code, _) in results.items()}
    assert codes == {"worse": 1, "few": 0}, results["worse"][1][-3000:] + results["few"][1][-3000:]
    assert "regressed" in results["worse"][1]
    assert "Bash command returned exit code 2. Skipping." in results["few"][1]
    assert len(list(airflow.reports.glob("comparison-*.md"))) == 2


def write_arms(airflow):
    """Append runs of three arms: eight of `old`, eight of `worse` with twice the latency, two of `few`."""
    folder = airflow.folder / "runs"
    for nth in range(8):
        latency = 100 + nth
        write_run(folder, f"b-{nth}", "old", [latency] * 4, minute=6 * nth)
        write_run(folder, f"b-{nth}", "worse", [2 * latency] * 4, minute=6 * nth + 2)
        if nth < 2:
            write_run(folder, f"b-{nth}", "few", [latency] * 4, minute=6 * nth + 4)
    origin = Origin(folder=folder, cluster="lab", time_zone="UTC")
    write_raw(discover(folder).understood, origin, airflow.folder / "raw", on_file=lambda _file: None)
    silver, _ = parse_files(raw_lines(airflow.folder / "raw"), airflow.folder / "silver", Settings())
    for table in (RUNS, PERF_SUMMARIES, PERF_WINDOWS):
        tables.append_rows(silver[table].to_table(), airflow.warehouse, table, txn_app_id="t")
