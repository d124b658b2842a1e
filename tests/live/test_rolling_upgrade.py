"""A rolling upgrade of the observed brokers to the next release, while they are under load."""

import signal
import time
from pathlib import Path

import pytest

from collectors.log_files.lines import read_lines
from engine.delta import tables
from jobs.build_gold import app as gold_app
from jobs.ingest import app as ingest_app
from lab import cluster, crash, jvm, load, topics
from lab.layout import LOAD_TOPIC, Lab
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.not_kept import QUARANTINE
from tests.live.test_ingest import ENDS_WITHIN_S, LOGGED, IngestSite, broker_logs

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("c1_brokers")]

RELEASES = ("4.3.1", "4.4.0")
RECORDS_PER_S = 100.0
FEATURES = "org.apache.kafka.tools.FeatureCommand"


def upgrade(lab):
    """Restart one broker after the other with the next release; then raise the level of the features."""
    for broker in lab.brokers:
        crash.shut_down(lab.state, broker.id)
        current = Lab.load(lab.state)
        current.kafka_version = RELEASES[1]
        current.save()
        crash.restart(lab.state, broker.id, LOAD_TOPIC)
    options = ("--bootstrap-server", lab.bootstrap_servers, "upgrade", "--release-version", "4.4")
    jvm.run_tool(jvm.tool(FEATURES, *options, version=RELEASES[1]))
    topics.elect_preferred_leaders(lab)
    time.sleep(3)


def recorded(lab, site):
    """Collect while the brokers are upgraded under load; then stop them, and collect the rest."""
    with site.start("collect") as collector:
        producing = load.begin(lab, load.Load(records_per_s=RECORDS_PER_S))
        producing.wait_until_producing()
        upgrade(lab)
        assert producing.is_alive, producing.output.read_text()
        producing.stop()
        for broker in lab.brokers:
            crash.kill(lab.state, broker.id)
        collector.send_signal(signal.SIGTERM)
        assert collector.wait(ENDS_WITHIN_S) == 0
    with site.start("collect", "--once") as collector:
        assert collector.wait(ENDS_WITHIN_S) == 0


def written(broker, name, kind):
    """Return the positions of all lines that a broker has written into one of its logs."""
    return {
        line.position
        for path in sorted(broker_logs(broker, name))
        for line in read_lines(path, f"broker-{broker.id}", kind)
    }


def test_a_rolling_upgrade_under_load_loses_no_line(spark, tmp_path):
    lab = cluster.start(tmp_path / "lab")
    try:
        site = IngestSite(lab, tmp_path)
        recorded(lab, site)
        for job, options in ((ingest_app, ("--once",)), (gold_app, ())):
            code, said = site.run(job, *options)
            assert code == 0, said
    finally:
        cluster.stop(lab.state)

    for broker in lab.brokers:
        log = (Path(broker.logs) / "server.log").read_text()
        assert [release for release in RELEASES if f"Kafka version: {release}" in log] == [*RELEASES]
    for kind, name, table in zip(
        LOGGED, ("kafka-request.log", "network-client.log"), (REQUEST_LOG, CLIENT_LOG), strict=True
    ):
        bronze = tables.read(spark, site.warehouse, table).select("position")
        lines = set().union(*(written(broker, name, kind) for broker in lab.brokers))
        assert {row.position for row in bronze.distinct().collect()} == lines
        assert len(lines) > 1_000
    assert tables.read(spark, site.warehouse, QUARANTINE).select("reason", "value").collect() == []
    quality = tables.read(spark, site.warehouse, DATA_QUALITY).collect()
    assert {row.node for row in quality} == {f"broker-{broker.id}" for broker in lab.brokers}
    assert all(row.is_balanced for row in quality)
