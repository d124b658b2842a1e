"""A small throttled move on real brokers: what its ground truth says is what the cluster has done."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from lab import jvm, topics
from lab.throttle import actions, limits, scenario, tool
from lab.throttle.data import RECORD_BYTES
from lab.throttle.parts import BY_NAME

pytestmark = [pytest.mark.live, pytest.mark.measures]

MB = 1_000_000
SMALL = replace(BY_NAME["a_load"], limit_bytes_per_s=3 * MB, partition_bytes=30 * MB)


class Noted:
    """Looks at the cluster while the scenario runs: at each step that the scenario tells of."""

    def __init__(self, lab):  # noqa: D107 (as the class says)
        self.lab, self.said, self.rates, self.lists = lab, [], [], []

    def __call__(self, text):  # noqa: D102 (as the class says)
        self.said.append(text)
        if "have moved" in text:
            (topic,) = [name for name in _topics(self.lab) if name.startswith("throttle-")]
            self.rates.append(limits.current_rates(self.lab))
            self.lists.append(limits.current_lists(self.lab, topic))


def _topics(lab):
    return topics.admin(lab.bootstrap_servers).list_topics(timeout=15).topics


@pytest.fixture(scope="module")
def noted(lab):
    return Noted(lab)


@pytest.fixture(scope="module")
def truth(lab, noted):
    """Two partitions from broker 1 to broker 2, some 25 s. No next part needs empty quota windows."""
    with pytest.MonkeyPatch.context() as constants:
        constants.setattr(scenario, "WINDOW_PAUSE_S", 0.0)
        return json.loads(
            scenario.run(lab.state, scenario.ThrottlePlan(parts=[SMALL]), say=noted).read_text()
        )


@pytest.fixture(scope="module")
def part(truth):
    (only,) = truth["parts"]
    return only


def test_instants_are_in_the_order_in_which_things_happen(part):
    named = ("created", "filled", "asked", "limit_set", "begun", "done", "verify_asked", "cleared")
    at = [datetime.fromisoformat(part[f"{name}_at"]) for name in named]

    assert at == sorted(at)


def test_while_the_move_goes_on_the_cluster_has_the_limit_that_the_truth_tells(part, noted):
    both = dict.fromkeys(limits.RATES, part["limit_bytes_per_s"])

    assert noted.rates[0] == {1: both, 2: both}
    assert {name: set(text.split(",")) for name, text in noted.lists[0].items()} == {
        limits.LISTS[0]: {"0:1", "1:1"},
        limits.LISTS[1]: {"0:2", "1:2"},
    }


def test_afterwards_no_limit_no_topic_and_no_rules_of_the_exporters_are_left(lab, part):
    assert limits.current_rates(lab) == {}
    assert part["topic"] not in _topics(lab)
    assert {(lab.state / f"broker-{n}" / "exporter.yaml").read_text() for n in lab.broker_ids} == {"{}\n"}


def test_every_byte_arrived(part):
    """What was there before, and at least what was produced in the seconds of the move."""
    at_start = sum(of["bytes_at_start"] for of in part["partitions"])
    (follower,) = (of["measured"] for of in part["on_disk"] if of["direction"] == "follower")

    assert at_start > SMALL.total_bytes - RECORD_BYTES
    assert follower["bytes"] > at_start + 5 * SMALL.produce_bytes_per_s


def test_the_rate_on_disk_keeps_to_the_limit_over_the_full_window_after_the_first(part):
    for of in part["on_disk"]:
        # At 3 MB/s one response of two partitions is 6 % of what a window holds.
        assert of["measured"]["second_window_bytes_per_s"] == pytest.approx(3 * MB, rel=0.1)


def test_sizes_and_pages_lie_beside_the_truth(lab, truth, part):
    sizes = [json.loads(line) for line in Path(truth["sizes_file"]).read_text().splitlines()]
    scrapes = [json.loads(line) for line in Path(truth["scrapes_file"]).read_text().splitlines()]
    pages = [Path(one["file"]).read_text() for one in scrapes if one["file"]]
    begun, done = (datetime.fromisoformat(part[name]) for name in ("begun_at", "done_at"))
    during = [one for one in sizes if begun <= datetime.fromisoformat(one["at"]) <= done]

    assert len(during) > (done - begun).total_seconds()
    assert {one["node"] for one in scrapes} == {f"broker-{n}" for n in lab.broker_ids}
    assert all("kafka_server_BrokerTopicMetrics_Count" in page for page in pages)
    assert any("kafka_server_FollowerReplication_byte_rate" in page for page in pages)


def test_what_breaks_off_leaves_no_throttle_no_move_and_no_topic(lab, monkeypatch):
    """Ctrl-C in the middle of a move that would take an hour, at the first report of its progress."""
    monkeypatch.setattr(actions, "REPORT_INTERVAL_S", 2.0)

    def interrupt(text):
        if "have moved" in text:
            raise KeyboardInterrupt

    endless = replace(SMALL, limit_bytes_per_s=20_000, produce_bytes_per_s=0, watch_s=100)
    with pytest.raises(KeyboardInterrupt):
        scenario.run(lab.state, scenario.ThrottlePlan(parts=[endless]), say=interrupt)

    assert limits.current_rates(lab) == {}
    assert not [name for name in _topics(lab) if name.startswith("throttle-")]
    said = tool.timestamped_lines([*_list_of_moves(lab)])
    assert "No partition reassignments found." in [line.text for line in said]


def _list_of_moves(lab):
    return jvm.tool(tool.TOOL, "--bootstrap-server", lab.bootstrap_servers, "--list")


# What the product's tables say of this move is asked below, once they are there: `throttle_compliance` by
# broker and direction against `states`, `reassignment_progress` against `done_at`.
