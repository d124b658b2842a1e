"""What Kafka loses before ingest reads it, on real brokers: noticed, named, and recorded in `silver.gaps`."""

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, ResourceType
from confluent_kafka.cimpl import NewTopic

from engine.delta import tables
from jobs.ingest import app as ingest_app
from lab import crash, topics
from lab.topics import create_telemetry_topics
from schemas.bronze import REQUEST_LOG
from schemas.silver.not_kept import GAPS
from tests.live.test_ingest import KINDS, PARTITIONS, IngestSite, wait_for

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("spark")]

LINE = b"x (a.b)"
DONE_WITHIN_S = 30


@pytest.fixture
def site(lab, tmp_path):
    return IngestSite(lab, tmp_path)


def lines(name, n):
    return [(f"{name}/1/{nth}", LINE) for nth in range(n)]


def done(futures):
    for future in futures.values():
        future.result(timeout=DONE_WITHIN_S)


def configure(site, **settings):
    """Set settings of the topic of request logs."""
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, site.prefix + "request-log", incremental_configs=entries)
    done(site.admin.incremental_alter_configs([resource]))


def gaps(site, spark):
    rows = tables.read(spark, site.warehouse, GAPS).collect()
    return sorted((row.partition, row.first_offset, row.end_offset, row.lines, row.reason) for row in rows)


def positions(site, spark):
    """Return the positions of all lines in bronze, sorted: a line that was written twice is there twice."""
    rows = tables.read(spark, site.warehouse, REQUEST_LOG).select("position").collect()
    return sorted(row.position for row in rows)


def test_a_compacted_topic_is_refused_and_a_short_retention_is_a_warning(site, spark):
    site.publish("request-log", lines("p", 4))
    configure(site, cleanup_policy="compact")

    code, said = site.run(ingest_app, "--once")

    assert code == 2, said
    assert f"{site.prefix}request-log has cleanup.policy=compact:" in said
    configure(site, cleanup_policy="delete", retention_ms="3600000")
    code, said = site.run(ingest_app, "--once")
    assert code == 0, said
    assert f"{site.prefix}request-log has retention.ms=3600000: lines that are not read within 1.0" in said
    assert len(positions(site, spark)) == 4


def test_offsets_without_a_record_stop_the_job_and_are_recorded_once_when_accepted(site, spark):
    """Markers of transactions, which a client cannot tell from lines that compaction removed."""
    producer = Producer({"bootstrap.servers": site.bootstrap, "transactional.id": site.prefix})
    producer.init_transactions(DONE_WITHIN_S)
    headers = {"node": "broker-1", "kind": "request-log", "cluster": "lab"}
    for nth in range(3):
        producer.begin_transaction()
        for line in range(5):
            of_line = headers | {"position": f"p/{nth}/{line}"}
            headers_of = [(name, value.encode()) for name, value in of_line.items()]
            producer.produce(site.prefix + "request-log", LINE, partition=0, headers=headers_of)
        producer.commit_transaction(DONE_WITHIN_S)

    code, said = site.run(ingest_app, "--once")

    assert code == 3, said
    assert f"{site.prefix}request-log partition 0: offsets 5 to 5; " in said
    for _ in range(2):  # the second run finds nothing to accept
        code, said = site.run(ingest_app, "--once", "--accept-gap")
        assert code == 0, said
    assert gaps(site, spark) == [(0, at, at + 1, 1, "compaction") for at in (5, 11, 17)]
    assert positions(site, spark) == [f"p/{nth}/{line}" for nth in range(3) for line in range(5)]


def test_a_topic_that_was_created_again_stops_the_job_and_its_loss_is_recorded_once(site, spark):
    site.publish("request-log", lines("p", 20))
    assert site.run(ingest_app, "--once")[0] == 0
    done(site.admin.delete_topics([site.prefix + "request-log"]))
    time.sleep(1)
    create_telemetry_topics(site.lab, site.prefix, kinds=KINDS, partitions=PARTITIONS)
    site.publish("request-log", lines("q", 60))

    for option in ("--once", "--accept-gap"):
        code, said = site.run(ingest_app, option)
        assert code == 3, said
        assert f"{site.prefix}request-log was created again (its id is " in said

    assert gaps(site, spark) == [(place, 10, None, None, "topic_recreation") for place in range(PARTITIONS)]
    assert len(positions(site, spark)) == 20


def test_partitions_that_are_added_are_read_from_their_first_offset(site, spark):
    """Those of a topic that was read, and lines that came before the first batch that has the partition."""
    site.publish("request-log", lines("p", 20))
    assert site.run(ingest_app, "--once")[0] == 0
    topic = site.prefix + "request-log"
    done(site.admin.create_partitions([NewPartitions(topic, PARTITIONS + 2)]))
    wait_for(lambda: len(site.admin.list_topics(topic, timeout=5).topics[topic].partitions) == PARTITIONS + 2)
    producer = Producer({"bootstrap.servers": site.bootstrap})
    headers = {"node": "broker-1", "kind": "request-log", "cluster": "lab"}
    for nth in range(40):
        of_line = [(k, v.encode()) for k, v in (headers | {"position": f"q/1/{nth}"}).items()]
        producer.produce(topic, LINE, partition=nth % (PARTITIONS + 2), headers=of_line)
    assert producer.flush(DONE_WITHIN_S) == 0

    code, said = site.run(ingest_app, "--once")

    assert code == 0, said
    assert positions(site, spark) == sorted(position for position, _ in lines("p", 20) + lines("q", 40))
    assert gaps(site, spark) == []


@pytest.mark.usefixtures("quiet_lab")
def test_an_unclean_leader_election_is_told_from_a_topic_that_was_created_again(site, spark, lab):
    """The leader dies alone in sync, and a replica without the newest lines becomes the leader."""
    controller = crash.active_controller(lab)
    lagging, leader = (one for one in lab.broker_ids if one != controller)
    replicas = {"request-log": [leader, lagging], "client-log": [controller], "metrics": [controller]}
    unclean = {"unclean.leader.election.enable": "true"}
    made = [
        NewTopic(site.prefix + kind, num_partitions=1, replica_assignment=[brokers], config=unclean)
        for kind, brokers in replicas.items()
    ]
    topics.create(lab, made)
    settings = site.conf.read_text().replace(site.bootstrap, lab.bootstrap_servers)
    site.conf.write_text(settings)
    topic, site.bootstrap = site.prefix + "request-log", lab.bootstrap_servers

    def publish(name, n):
        options = {"bootstrap.servers": site.bootstrap, "acks": "all"}
        producer = Producer(options, logger=topics.silent_logger)
        headers = {"node": "broker-1", "kind": "request-log", "cluster": "lab"}
        for position, line in lines(name, n):
            of_line = [(k, v.encode()) for k, v in (headers | {"position": position}).items()]
            producer.produce(topic, line, partition=0, headers=of_line)
        assert producer.flush(DONE_WITHIN_S) == 0

    publish("p", 20)
    crash.kill(lab.state, lagging)
    try:
        publish("q", 20)  # acknowledged by the only replica in sync
        code, said = site.run(ingest_app, "--once")
        assert code == 0, said
        crash.kill(lab.state, leader)
        crash.restart(lab.state, lagging, site.prefix + "metrics")
        wait_for(lambda: topics.leaders(lab, topic)[0] == lagging)

        code, said = site.run(ingest_app, "--once")
        assert code == 3, said
        assert f"{topic} partition 0 was truncated by an unclean leader election" in said
        assert "it ends at 20 and was read up to 40; the topic id is the same" in said
        publish("r", 40)  # the log grows past the position: only its leader epochs differ
        code, said = site.run(ingest_app, "--once")
        assert code == 3, said
        assert f"{topic} partition 0 was truncated by an unclean leader election" in said
        assert "(offset 39, which was read, has another leader epoch now; the topic id is the same)" in said
    finally:
        crash.restart(lab.state, leader, topics.LOAD_TOPIC)
        topics.elect_preferred_leaders(lab)

    assert gaps(site, spark) == [(0, 40, None, None, "unclean_leader_election")]
    assert len(positions(site, spark)) == 40
