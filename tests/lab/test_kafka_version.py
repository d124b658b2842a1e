"""The observed brokers can be of another release; tools and the telemetry broker stay with the lab's own."""

import json
import shutil

import pytest

from collectors.cluster_id import cluster_id_in
from lab import cluster, jvm, load
from lab.errors import LabError
from lab.layout import Lab

OTHER = "4.4.0"


@pytest.fixture
def jars(tmp_path, monkeypatch):
    """Two releases and the exporter's agent, as empty files."""
    folder = tmp_path / "jars"
    for name, version in (("kafka", "4.3.1"), (f"kafka-{OTHER}", OTHER)):
        (folder / name).mkdir(parents=True)
        (folder / name / f"kafka-clients-{version}.jar").touch()
    (folder / "agent").mkdir()
    (folder / "agent" / "jmx_prometheus_javaagent-1.jar").touch()
    monkeypatch.setattr("conf.java.JARS", folder)
    return folder


def class_path(command):
    return command[command.index("-cp") + 1]


@pytest.fixture
def formatted(jars, laid_out, monkeypatch):  # noqa: ARG001 (must be there first)
    """Format the storage of a lab; return the class paths of StorageTool by its settings file."""

    def format_with(version):
        laid_out.kafka_version = version
        asked = {}

        def run_tool(command):
            settings = command[-1]
            asked[settings.removeprefix(f"{laid_out.state}/")] = class_path(command)
            data = laid_out.state / settings.split("/")[-2] / "data"
            (data / "__cluster_metadata-0").mkdir(parents=True)
            (data / "__cluster_metadata-0" / "0.checkpoint").write_text(class_path(command))
            (data / "meta.properties").write_text("node.id=1\n")

        monkeypatch.setattr(jvm, "run_tool", run_tool)
        jvm.format_storage(laid_out)
        return asked

    return format_with


def test_only_the_observed_brokers_are_of_the_other_release(jars, laid_out):
    laid_out.kafka_version = OTHER

    assert {class_path(jvm.observed_broker(laid_out, broker)) for broker in laid_out.brokers} == {
        f"{jars}/kafka-{OTHER}/*"
    }
    own = f"{jars}/kafka/*"
    assert class_path(jvm.telemetry_broker(laid_out)) == own
    assert class_path(load.command("127.0.0.1:1", load.Load(records_per_s=1))) == own


def test_a_lab_that_starts_again_is_the_same_kafka_cluster(formatted, laid_out):
    """Its warehouse stays, and there the name of a cluster belongs to one Kafka cluster."""
    ids = []
    for _ in range(2):
        formatted(None)
        homes = [laid_out.state / name / "data" for name in ("broker-2", "broker-3", "telemetry")]
        ids.append([cluster_id_in(str(data / "meta.properties")) for data in homes])
        for name in ("broker-1", "broker-2", "broker-3"):
            shutil.rmtree(laid_out.state / name)

    assert ids[0] == ids[1]
    assert ids[0][0] == ids[0][1] != ids[0][2]


def test_the_feature_levels_of_every_broker_are_those_of_its_own_release(jars, formatted, laid_out):
    """A telemetry broker cannot read the feature levels of a newer release."""
    asked = formatted(OTHER)

    other, own = f"{jars}/kafka-{OTHER}/*", f"{jars}/kafka/*"
    assert asked == {"broker-1/server.properties": other, "telemetry/server.properties": own}
    levels = {
        home: (laid_out.state / home / "data" / "__cluster_metadata-0" / "0.checkpoint").read_text()
        for home in ("broker-1", "broker-2", "broker-3", "telemetry")
    }
    assert levels == {"broker-1": other, "broker-2": other, "broker-3": other, "telemetry": own}


def test_one_run_of_the_tool_formats_all_brokers_of_one_release(formatted, laid_out):
    assert list(formatted(None)) == ["broker-1/server.properties"]
    others = ("broker-2", "broker-3", "telemetry")
    homes = [laid_out.state / name / "data" / "meta.properties" for name in others]
    ids = [home.read_text().splitlines()[1] for home in homes]
    assert ids == ["node.id=2", "node.id=3", "node.id=1"]


@pytest.mark.usefixtures("jars")
def test_a_release_that_is_not_installed_names_make_lab(tmp_path):
    text = r"no jars of Kafka 4\.9\.0 .*present: 4\.3\.1, 4\.4\.0\): run `make lab`"

    with pytest.raises(LabError, match=text):
        cluster.start(tmp_path / "lab", kafka_version="4.9.0", say=lambda _: None)


def test_the_release_is_read_back_and_a_lab_of_an_earlier_version_of_the_program_has_none(laid_out):
    laid_out.kafka_version = OTHER
    laid_out.save()
    assert Lab.load(laid_out.state).kafka_version == OTHER

    file = laid_out.state / "lab.json"
    document = json.loads(file.read_text())
    del document["kafka_version"]
    file.write_text(json.dumps(document))
    assert Lab.load(laid_out.state).kafka_version is None
