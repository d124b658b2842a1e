"""
Every program logs in to a real broker by SCRAM, mutual TLS and OAUTHBEARER, with ACLs, and shows no secret.

A secret is a canary: it must be in no argument of a process, no output, no event log of Spark and no table.
"""

import json
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from deltalake import DeltaTable

from lab.errors import LabError
from lab.ports import free_ports
from lab.secured.broker import INGEST, LOAD, LOAD_TOPIC, NODE, PRINCIPALS, SAMPLER, Login, secured_broker

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("c1_brokers")]

CANARY = re.compile(rb"canary-[0-9a-f]{16}")
LINES = [b"[2026-11-21 10:00:00,00%d] INFO started (kafka.server.KafkaServer)" % n for n in range(3)]
EXPERIMENT = f"""
name = "tried"
repeats = 1
for_s = 1
[load]
records_per_s = 50
topic = "{LOAD_TOPIC}"
[[arms]]
name = "old"
[[arms]]
name = "new"
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """One broker for all logins."""
    with secured_broker(tmp_path_factory.mktemp("secured")) as started:
        yield started


def test_a_broker_that_does_not_start_quotes_its_log(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = (taken.getsockname()[1], *islice(free_ports(), len(Login)))
        monkeypatch.setattr("lab.secured.broker.free_ports", lambda: iter(ports))
        said = r"ended while it started(?s:.*)/server\.log\n((?!--- ).*\n)*.*Address already in use"
        with pytest.raises(LabError, match=said), secured_broker(tmp_path):
            pass


def canaries(broker):
    """Return the part of each secret that no quoting changes."""
    return {CANARY.match(path.read_bytes())[0] for path in broker.keys.glob("*.password")}


@pytest.fixture(scope="module")
def seen_arguments(broker):
    """Look at the arguments of all processes on this machine, every 20 ms; give those with a secret."""
    seen, stop, secrets = set(), threading.Event(), canaries(broker)
    assert len(secrets) == len(PRINCIPALS)

    def look():
        while not stop.wait(0.02):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    line = process.read_bytes()
                    if secrets.intersection(CANARY.findall(line)):
                        seen.add(line)

    watcher = threading.Thread(target=look)
    watcher.start()
    yield seen
    stop.set()
    watcher.join()


class LoginSite:
    """The files and settings of programs that log in in one way."""

    def __init__(self, broker, login, folder):
        """Write the log of a broker."""
        self.broker, self.login, self.folder = broker, login, folder
        self.log = folder / "kafka-request.log"
        self.log.write_bytes(b"\n".join([*LINES, b""]))

    def conf(self, telemetry=None, observed=None):
        """Write settings for a login to each cluster; both are this broker. Return the file."""
        conf, servers = self.folder / "site.toml", json.dumps(self.broker.servers(self.login))
        lines = [
            f"[telemetry]\nbootstrap_servers = {servers}",
            *section("telemetry.security", telemetry),
            f'[collector]\ncluster = "lab"\nstate = "{self.folder / "state"}"',
            f'files = [{{ path = "{self.log}", kind = "request-log", node = "broker-1" }}]',
            *([f"cluster_bootstrap_servers = {servers}"] if observed and not telemetry else []),
            *section("collector.cluster_security", observed),
            f'[warehouse]\nroot = "{self.folder / "tables"}"\ncheckpoints = "{self.folder / "checkpoints"}"',
        ]
        conf.write_text("\n".join(lines))
        return conf

    def security(self, principal):
        """Return a principal's login."""
        return self.broker.security(principal, self.login)

    def run(self, *words, environment=None):
        """Run a program to its end; keep what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "plumbline", *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env=environment,
        )
        with (self.folder / "said.txt").open("a") as said:
            said.write(done.stdout + done.stderr)
        return done

    def files_with_a_secret(self):
        """Return the files that contain a secret, of all that the programs have written."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        assert len(files) > 1
        secrets = canaries(self.broker)
        return [path for path in files if secrets.intersection(CANARY.findall(path.read_bytes()))]


def section(name, security):
    """Return the lines of a section with a login, none without one."""
    values = {key: value for key, value in asdict(security).items() if value} if security else {}
    return [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())] if values else []


@pytest.fixture(scope="module", params=list(Login))
def site(request, broker, tmp_path_factory):
    """Give a site for each way to log in."""
    return LoginSite(broker, request.param, tmp_path_factory.mktemp(request.param))


def test_a_collector_sends_as_its_node_and_the_ingest_reads_what_it_sent(site, seen_arguments, monkeypatch):
    """Spark's event log has the plans of all queries, the properties of the JVM and the settings."""
    collected = site.run("collect", "--once", "--conf", site.conf(telemetry=site.security(NODE)))
    spark, events = site.folder / "spark", site.folder / "events"
    spark.mkdir()
    events.mkdir()
    defaults = f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir {events}\n"
    (spark / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_CONF_DIR", str(spark))
    ingested = site.run("ingest", "--once", "--conf", site.conf(telemetry=site.security(INGEST)))

    assert collected.returncode == 0, collected.stderr
    assert ingested.returncode == 0, ingested.stderr
    assert "cannot be read" not in ingested.stderr  # the settings of the topics: a warning
    rows = DeltaTable(site.folder / "tables" / "bronze" / "request_log").to_pyarrow_table().to_pylist()
    assert {row["value"] for row in rows if row["source"] == str(site.log)} == set(LINES)
    log = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"SparkListenerSQLExecutionStart" in log
    assert b"MicroBatchScan" in log
    assert site.files_with_a_secret() == []
    assert seen_arguments == set()


def test_a_sample_changes_levels_and_restores_them(site, seen_arguments):
    conf, state = site.conf(observed=site.security(SAMPLER)), site.folder / "sample"
    done = site.run("sample", "--conf", conf, "--for", "1s", "--state", state)

    assert done.returncode == 0, done.stderr
    assert len((state / "samples.jsonl").read_text().splitlines()) == 1
    assert site.files_with_a_secret() == []
    assert seen_arguments == set()


def test_a_performance_test_loads_one_cluster_and_publishes_to_another(site, seen_arguments):
    conf = site.conf(telemetry=site.security(NODE), observed=site.security(LOAD))
    load = ("--topic", LOAD_TOPIC, "--num-records", "10", "--record-size", "10", "--throughput", "100")
    where = ("--bootstrap-server", site.broker.servers(site.login))
    done = site.run(
        "perf-test", "--run", "r", "--conf", conf, "--keep", site.folder / "kept", "--", *load, *where
    )

    assert done.returncode == 0, done.stderr
    assert "10 records sent" in done.stdout
    assert "published" in done.stderr
    assert site.files_with_a_secret() == []
    assert seen_arguments == set()


def test_an_experiment_runs_its_arms(site, seen_arguments):
    file, kept = site.folder / "tried.toml", site.folder / "experiment"
    file.write_text(EXPERIMENT)
    conf = site.conf(observed=site.security(LOAD))
    where = ("--bootstrap-server", site.broker.servers(site.login), "--conf", conf, "--keep", kept)
    done = site.run("experiment", file, *where)

    assert done.returncode == 0, done.stderr
    assert len(list((kept / "perf-test").iterdir())) == 2
    assert site.files_with_a_secret() == []
    assert seen_arguments == set()


@pytest.fixture
def wrong(broker, tmp_path):
    """Give a site whose programs log in with a wrong password."""
    site = LoginSite(broker, Login.SCRAM, tmp_path)
    (tmp_path / "wrong").write_text("not the password")
    site.security = lambda principal: replace(
        broker.security(principal, Login.SCRAM), sasl_password_file=str(tmp_path / "wrong")
    )
    return site


REFUSED = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
)


def test_a_wrong_password_ends_each_program_with_1_and_the_reason(wrong):
    telemetry, observed = (wrong.security(principal) for principal in (NODE, LOAD))
    conf = wrong.conf(telemetry=telemetry)
    said = [wrong.run("collect", "--once", "--conf", conf), wrong.run("ingest", "--once", "--conf", conf)]
    said.append(wrong.run("perf-test", "--run", "r", "--conf", conf, "--", "--topic", "t"))
    conf = wrong.conf(observed=observed)
    said.append(wrong.run("sample", "--conf", conf, "--for", "1s", "--state", wrong.folder / "sample"))
    (wrong.folder / "tried.toml").write_text(EXPERIMENT)
    where = ("--bootstrap-server", wrong.broker.servers(wrong.login), "--conf", conf)
    said.append(wrong.run("experiment", wrong.folder / "tried.toml", *where, "--keep", wrong.folder / "kept"))

    assert [done.returncode for done in said] == [1] * 5, [done.stderr for done in said]
    assert [REFUSED in done.stderr for done in said] == [True] * 5, [done.stderr for done in said]


def test_a_broker_of_another_authority_is_not_trusted(broker, tmp_path):
    site, other = LoginSite(broker, Login.SCRAM, tmp_path), tmp_path / "other.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout /dev/null -out"
    subprocess.run([*command.split(), other], check=True, capture_output=True)
    conf = site.conf(telemetry=replace(site.security(NODE), ssl_ca_location=str(other)))
    done = site.run("collect", "--once", "--conf", conf)

    assert done.returncode == 1
    assert "certificate verify failed" in done.stderr
    assert "correct [telemetry.security]" in done.stderr


def options(broker, principal, login):
    """Return what a client of a principal needs."""
    own = {"bootstrap.servers": broker.servers(login), "group.id": "plumbline-ingest"}
    return own | broker.security(principal, login).librdkafka()


@pytest.mark.parametrize("login", list(Login))
def test_a_node_may_only_write_and_the_ingest_may_only_read(broker, login):
    refused = []
    producer = Producer(options(broker, INGEST, login))
    producer.produce("telemetry.request-log", b"x", on_delivery=lambda error, _: refused.append(error.code()))
    producer.flush(30)
    consumer = Consumer(options(broker, NODE, login))
    consumer.assign([TopicPartition("telemetry.request-log", 0, 0)])
    with suppress(KafkaException):
        message = consumer.poll(30)
        refused.append(message.error().code())
    consumer.close()

    assert refused[0] == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert refused[1] in {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
