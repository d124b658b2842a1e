"""Two real Kafka clusters that publish under one name: the observed one, and the telemetry broker's own."""

import subprocess
import sys

import pytest
from pyspark.sql import functions as F

from engine.delta import tables
from jobs.ingest import app as ingest_app
from lab import topics
from lab.topics import create_telemetry_topics
from schemas.bronze import STATE_CHANGE
from schemas.silver.clusters import CLUSTERS
from schemas.silver.not_kept import QUARANTINE
from tests.live.test_ingest import ENDS_WITHIN_S, PARTITIONS, IngestSite

pytestmark = pytest.mark.live


def collected(site, name, home, logs):
    """Publish the state-change log of a broker as the cluster `lab`, with the id in the broker's folder."""
    conf = site.conf.with_name(f"{name}.toml")
    conf.write_text(
        f'telemetry = {{ bootstrap_servers = "{site.bootstrap}", topic_prefix = "{site.prefix}" }}\n'
        f'[collector]\ncluster = "lab"\nmeta_properties = "{home / "data" / "meta.properties"}"\n'
        f'state = "{site.conf.parent / name}"\n'
        f'files = [{{ path = "{logs / "state-change.log"}", kind = "state-change", node = "broker-1" }}]\n'
    )
    command = [sys.executable, "-m", "plumbline", "collect", "--once", "--conf", str(conf)]
    subprocess.run(command, check=True, timeout=ENDS_WITHIN_S)


def test_the_lines_of_the_second_cluster_are_quarantined(lab, tmp_path, spark):
    site = IngestSite(lab, tmp_path)
    create_telemetry_topics(lab, site.prefix, kinds=("state-change",), partitions=PARTITIONS)
    homes = {
        lab.bootstrap_servers: (lab.state / "broker-1", lab.state / "logs" / "broker-1"),
        site.bootstrap: (lab.state / "telemetry", lab.state / "telemetry" / "logs"),
    }
    own, other = (topics.admin(servers).list_topics(timeout=30).cluster_id for servers in homes)
    for name, (home, logs) in zip(("own", "other"), homes.values(), strict=True):
        collected(site, name, home, logs)
        assert site.run(ingest_app, "--once")[0] == 0

    lines = tables.read(spark, site.warehouse, STATE_CHANGE).groupBy("cluster_id").count().collect()
    bronze = {row["cluster_id"]: row["count"] for row in lines}
    assert bronze.keys() == {own, other}
    refused = tables.read(spark, site.warehouse, QUARANTINE).filter(F.col("reason") == "other_cluster")
    details = {f"from the Kafka cluster {other}; the name lab is {own}"}
    assert {row["detail"] for row in refused.collect()} == details
    assert refused.count() == bronze[other] > 0
    known = tables.read(spark, site.warehouse, CLUSTERS).select("cluster", "cluster_id").collect()
    assert [tuple(row) for row in known] == [("lab", own)]
