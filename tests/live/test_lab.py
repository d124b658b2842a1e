"""The lab itself on real brokers: its proxies tell the truth."""

import json
import re
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from statistics import median

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from lab import crash, scenarios, topics
from lab.errors import LabError
from lab.proxy import applied_log
from lab.proxy.control import links, set_delay
from lab.proxy.probe import probe_link

pytestmark = [pytest.mark.live, pytest.mark.measures]
PROBES = 60


def applied(lab, connection):
    """Return what the proxies logged for one connection, in order."""
    time.sleep(scenarios.LOG_LAG_S)
    lines = applied_log.read(lab.state / "proxy", since_ns=0, until_ns=2**63)
    return [line["applied_ms"] for line in lines if line["connection"] == connection]


def test_leaders_are_spread_and_every_pair_replicates_through_its_proxy(quiet_lab):
    assert set(Counter(topics.leaders(quiet_lab).values()).values()) == {2}
    assert [row["connections"] for row in links(quiet_lab.state)] == [1] * 6


def test_the_quorum_names_the_broker_that_says_it_became_the_controller(quiet_lab):
    says = re.compile(r"Becoming the active controller at epoch (\d+)")
    epochs = {
        broker.id: max(map(int, says.findall((Path(broker.logs) / "controller.log").read_text())), default=-1)
        for broker in quiet_lab.brokers
    }

    assert crash.active_controller(quiet_lab) == max(epochs, key=lambda broker_id: epochs[broker_id])


def test_a_probe_feels_what_the_proxy_says_it_applied(quiet_lab):
    """
    What the probe waits beyond a direct request rises by what the log's median rises, within 0.5 ms.

    Stretches with and without delay take turns, so that a machine that gets busier spoils neither side.
    """
    extra_ms, logged_ms = {0.0: [], 10.0: []}, {0.0: [], 10.0: []}
    for delay_ms in (0.0, 10.0) * 4:
        set_delay(quiet_lab.state, {(2, 1): delay_ms})
        told = probe_link(quiet_lab.state, 2, 1, n=PROBES)
        both = zip(told["proxied"].times_ms, told["direct"].times_ms, strict=True)
        extra_ms[delay_ms] += [proxied - direct for proxied, direct in both]
        lines = applied(quiet_lab, told["proxied"].connection)
        assert len(lines) == PROBES + 1
        logged_ms[delay_ms] += lines
    rise_ms = median(logged_ms[10.0]) - median(logged_ms[0.0])

    assert min(logged_ms[10.0]) >= 10
    assert median(logged_ms[0.0]) < 0.5
    assert median(extra_ms[10.0]) - median(extra_ms[0.0]) == pytest.approx(rise_ms, abs=0.5)


def test_a_delayed_link_leaves_the_way_back_alone(quiet_lab):
    """Ordered pairs: 2 fetching from 1 is slow, 1 fetching from 2 is not."""
    set_delay(quiet_lab.state, {(2, 1): 10.0})
    back = probe_link(quiet_lab.state, 1, 2, n=PROBES)["proxied"]

    assert median(applied(quiet_lab, back.connection)) < 0.5


def test_the_brokers_write_the_logs_the_pipeline_reads(quiet_lab):
    for broker in quiet_lab.brokers:
        followers = {
            json.loads(line.split("Completed request:")[1].rsplit(" (kafka.request.logger)")[0])["listener"]
            for line in (Path(broker.logs) / "kafka-request.log").read_text().splitlines()
            if '-fetcher-0"' in line and line.endswith("(kafka.request.logger)")
        }
        client_log = (Path(broker.logs) / "network-client.log").read_text()
        others = [other for other in quiet_lab.broker_ids if other != broker.id]
        assert followers == {f"PEER{other}" for other in others}
        for other in others:
            assert (
                f"[ReplicaFetcher replicaId={broker.id}, leaderId={other}, fetcherId=0] Received"
                in client_log
            )


def test_a_scenario_leaves_its_ground_truth_and_no_delay(quiet_lab, monkeypatch):
    """Only what the proxies applied is read here, so the load needs no time until its JVM is compiled."""
    monkeypatch.setattr(scenarios, "SETTLE_S", 1.0)
    plan = scenarios.ScenarioPlan(
        scenario=scenarios.Scenario.SLOW_SIDE,
        broker=3,
        side=scenarios.Side.LEADER,
        quiet_s=3,
        for_s=3,
        records_per_s=200,
    )
    truth = json.loads(scenarios.run(quiet_lab.state, plan).read_text())
    span_s = datetime.fromisoformat(truth["ended_at"]) - datetime.fromisoformat(truth["injected_at"])
    slowed = {
        (row["follower_id"], row["leader_id"])
        for row in truth["applied_injected"]
        if row["applied_p50_ms"] > 9
    }

    assert (truth["shape"], truth["broker_id"]) == ("leader_side", 3)
    assert slowed == {(1, 3), (2, 3)}
    assert max(row["applied_p50_ms"] for row in truth["applied_quiet"]) < 2
    assert span_s.total_seconds() == pytest.approx(3, abs=0.5)
    assert {row["nominal_ms"] for row in links(quiet_lab.state)} == {0}


def test_a_run_over_links_that_are_already_slow_is_refused(quiet_lab):
    """Its quiet lead time would not be quiet."""
    set_delay(quiet_lab.state, {(1, 2): 5.0})

    with pytest.raises(LabError, match=r"already delayed: follower 1 from leader 2. Run .*--clear"):
        scenarios.run(
            quiet_lab.state, scenarios.ScenarioPlan(scenario=scenarios.Scenario.HEALTHY, quiet_s=0, for_s=0)
        )


def test_the_telemetry_topics_take_16_mib(quiet_lab):
    wanted = [
        ConfigResource(ResourceType.TOPIC, f"telemetry.{kind}")
        for kind in ("request-log", "client-log", "metrics")
    ]
    admin = AdminClient({"bootstrap.servers": quiet_lab.telemetry_bootstrap_servers})
    told = [future.result(timeout=15) for future in admin.describe_configs(wanted).values()]

    assert [settings["max.message.bytes"].value for settings in told] == [str(16 * 1024 * 1024)] * 3
