"""The jobs on a real standalone cluster write the same tables as in one process."""

import hashlib
import json
from collections.abc import Mapping

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from benchmarks.cluster.standalone import standalone
from jobs.build_gold import app as gold_app
from jobs.ingest import app as ingest_app
from lab import load
from lab.topics import create_telemetry_topics
from plumbline.cli import app
from tests.jvm_options import C1

pytestmark = pytest.mark.live

OF_THE_RUN = {"ingested_at"}
"""Columns that depend on the time of the run."""

PREFIX = "cluster-test."
DIGITS = 12
RATE, LOADED_S = 200.0, 10.0


@pytest.fixture(scope="module")
def telemetry(lab, tmp_path_factory):
    """Return the settings of a collector that has sent all logs of the lab, including some load."""
    load.begin(lab, load.Load(records_per_s=RATE, duration_s=LOADED_S)).wait()
    folder = tmp_path_factory.mktemp("edge")
    create_telemetry_topics(lab, PREFIX, partitions=2)
    settings = lab.settings_file.read_text()
    settings = settings.replace("[telemetry]\n", f'[telemetry]\ntopic_prefix = "{PREFIX}"\n')
    conf = folder / "edge.toml"
    conf.write_text(settings.replace(str(lab.state.parent / "collector"), str(folder / "collector")))
    logs = folder / "logs.toml"
    logs.write_text("[collector]\nendpoints = []\n")  # a scrape has 10,000 samples and adds nothing here
    done = CliRunner().invoke(app, ["collect", "--conf", str(conf), "--conf", str(logs), "--once"])
    assert done.exit_code == 0, done.output
    return conf


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Start a master and two workers of one core each."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JDK_JAVA_OPTIONS", C1)
        with standalone(tmp_path_factory.mktemp("standalone") / "spark") as running:
            yield running


def warehouse(folder, telemetry):
    """Return options with the settings of a new warehouse."""
    folder.mkdir()
    conf = folder / "own.toml"
    conf.write_text(f'[warehouse]\nroot = "{folder / "tables"}"\ncheckpoints = "{folder / "checkpoints"}"\n')
    return ["--conf", str(telemetry), "--conf", str(conf)]


def hashes(folder):
    """Return row count and order-independent hash of each silver and gold table."""
    found = {}
    for where in sorted([*folder.glob("silver/*"), *folder.glob("gold/*")]):
        rows = DeltaTable(where).to_pyarrow_table().to_pylist()
        lines = sorted(json.dumps(plain(row), sort_keys=True) for row in rows)
        found[f"{where.parent.name}.{where.name}"] = (
            len(lines),
            hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        )
    return found


def plain(value):
    """Return a comparable value: the last digits of a sum of doubles depend on the order of rows."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items() if key not in OF_THE_RUN}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else str(value)


@pytest.mark.usefixtures("spark")
def test_ingest_gold_and_report_of_a_cluster_equal_those_of_one_process(telemetry, cluster, tmp_path):
    here, there = warehouse(tmp_path / "here", telemetry), warehouse(tmp_path / "there", telemetry)
    for job, options in ((ingest_app, ["--once"]), (gold_app, [])):
        done = CliRunner().invoke(job, [*here, *options])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["report", *here, "--json", str(tmp_path / "here.json")])
    assert done.exit_code == 0, done.output
    cluster.submit("ingest", *there, "--once")
    cluster.submit("build_gold", *there)
    cluster.submit("report", *there, "--json", str(tmp_path / "there.json"))
    of_process, of_cluster = hashes(tmp_path / "here" / "tables"), hashes(tmp_path / "there" / "tables")
    reports = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("here", "there")]

    assert sum(rows for rows, _ in of_process.values()) > 1_000
    assert of_process["gold.broker_rtt"][0] > 0
    assert of_cluster == of_process
    assert without_the_run(reports[1]) == without_the_run(reports[0])


def without_the_run(report):
    """Return a report without the place of its tables and the time of the run."""
    return {key: plain(value) for key, value in report.items() if key not in {"generated_at", "inputs"}}
