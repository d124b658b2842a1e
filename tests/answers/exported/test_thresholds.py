"""One verdict everywhere: report, dashboard, exporter and alerts use the same thresholds."""

import random
import shutil
from dataclasses import asdict
from datetime import timedelta

import pytest

from answers.exported import freshness, lookups, redirects, skew
from answers.exported.gold import ExportedGold, ExportedSample, SecondsSpan
from answers.exported.metrics import ALERTS, METRICS
from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.produce_held.verdict import HOLDS_MS, MIN_REQUESTS
from answers.throttles.limits import limits
from answers.throttles.verdict import COMPLIANT, MEAN_TOLERANCE, OVER_LIMIT, WINDOW_TOLERANCE
from benchmarks.reference.alerts import rules
from conf.export import Export
from conf.settings import PROJECT
from serving.dashboard.app import BY_PATH, made
from serving.dashboard.filters import Filters
from serving.dashboard.request import DashboardRequest
from serving.exporter.engine import engine
from serving.exporter.rules import rules_of
from tests.answers.made_gold import text_of
from tests.serving.exporter import gold_tables
from tests.serving.exporter.gold_tables import at

END = 1_700_000_000
SPAN_S = Export().span_s
LIMIT = 6_000_000
RULES = PROJECT / "conf" / "alerts" / "plumbline.yml"


def throttled(broker, by_s, **more):
    """Return the windows of bytes by second that end at END, all to replicas that catch up."""
    start = END - len(by_s)
    return [
        {
            "window_start": at(start + nth),
            "broker_id": broker,
            "direction": "leader",
            "limit_bytes_per_s": LIMIT,
            "limited_from": at(start),
            "on_from": at(start + nth),
            "on_until": at(start + nth + 10),
            "busy_until": at(start + nth + 10),
            "is_listed": True,
            "moving_partitions": 1 if any(by_s[nth : nth + 10]) else 0,
            "throttled_by_s": by_s[nth : nth + 10],
            "throttled_bytes": sum(by_s[nth : nth + 10]),
            "catching_up_by_s": by_s[nth : nth + 10],
            "catching_up_bytes": sum(by_s[nth : nth + 10]),
            "unlisted_bytes": 0,
            **more,
        }
        for nth in range(0, len(by_s), 10)
    ]


def warehouse(root, rows):
    gold_tables.fill(root, END)
    gold_tables.write(root, "throttle_compliance", rows)
    return GoldReader.of_warehouse(root)


def exported_from(root):
    exported = ExportedGold(GoldReader.of_warehouse(root), asdict(Export()))
    exported.refresh()
    return exported


def served_states(exported):
    """Return the state of each broker's leader side; None without one."""
    states = {}
    for sample in exported.samples([END]):
        labels = dict(sample.labels)
        if sample.name == "plumbline_throttle_state" and labels["direction"] == "leader":
            broker = int(labels["broker"])
            assert states.get(broker) is None or sample.value == 0  # one state at most
            states[broker] = labels["state"] if sample.value else states.get(broker)
    return states


def reported(gold):
    """Return the rows of the report, over the span that the exporter judges."""
    span = GoldSelection(gold=gold, cluster="lab", since=at(END) - timedelta(seconds=SPAN_S), until=at(END))
    return {row["broker_id"]: row for row in limits(span)}


def alerting(exported):
    """Return the labels of the series of which the rule of the file holds at END."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not on the path: see .ci/run")
    (rule,) = (rule for rule in rules_of([RULES]) if rule.name == "PlumblineThrottle")
    with engine(exported.samples([END])) as served:
        return [series.labels for series in served.over(rule.expr, SecondsSpan(END, END))]


@pytest.mark.parametrize("every_s", [1, 12], ids=["even", "bursts"])
@pytest.mark.parametrize(
    ("share", "state"),
    [
        (1.05, COMPLIANT),
        (1 + MEAN_TOLERANCE - 0.01, COMPLIANT),
        (1 + MEAN_TOLERANCE + 0.01, OVER_LIMIT),
        (1.12, OVER_LIMIT),
        (1.20, OVER_LIMIT),
        (1.30, OVER_LIMIT),
    ],
)
def test_a_throttle_has_one_verdict_everywhere(tmp_path, share, state, every_s):
    """The quota looks back 12 s: a burst of 12 s' worth keeps the limit, but may fill a window too far."""
    if every_s > 1 and share * 12 / 11 > 1 + WINDOW_TOLERANCE:
        state = OVER_LIMIT
    by_s = [round(every_s * share * LIMIT) if second % every_s == 0 else 0 for second in range(SPAN_S)]
    gold = warehouse(tmp_path, throttled(1, by_s))

    shown = text_of(made(BY_PATH["/throttles"], DashboardRequest(gold, Filters())))

    exported = exported_from(tmp_path)
    assert reported(gold)[1]["state"] == state
    assert ("over limit" in shown) == (state == OVER_LIMIT)
    assert served_states(exported)[1] == (state if state == OVER_LIMIT else None)
    assert [series["state"] for series in alerting(exported)] == [OVER_LIMIT] * (state == OVER_LIMIT)


def test_one_window_over_its_tolerance_is_over_the_limit_everywhere(tmp_path):
    burst = round((1 + WINDOW_TOLERANCE + 0.01) * 11 * LIMIT)
    gold = warehouse(tmp_path, throttled(1, [burst, *[0] * 29, *[LIMIT // 2] * 30]))

    assert (reported(gold)[1]["state"], served_states(exported_from(tmp_path))[1]) == (OVER_LIMIT, OVER_LIMIT)


def some_bytes(seed):
    """Return bytes of each second near the limit: even, in bursts, or with pauses."""
    rng = random.Random(seed)
    every_s, share = rng.choice([1, 1, 3, 11, 12, 13]), rng.uniform(0.8, 1.3)
    pauses = {window for window in range(SPAN_S // 10) if rng.random() < 0.2}
    sent = [second % every_s == 0 and second // 10 not in pauses for second in range(SPAN_S)]
    return [round(is_sent * every_s * share * LIMIT * rng.uniform(0.9, 1.1)) for is_sent in sent]


def test_the_served_rate_is_that_of_the_report(tmp_path):
    """The exporter's rate is one query over all instants; the report's is made period by period."""
    in_sync = {"catching_up_bytes": 0, "catching_up_by_s": [0] * 10, "moving_partitions": None}
    rows = [
        row
        for broker in range(1, 151)
        for row in throttled(broker, some_bytes(broker), **(in_sync if broker % 5 == 0 else {}))
    ]
    brokers = {"window_start": at(END - 10), "kind": "follower", "n": 1, "is_settled": True}
    gold = warehouse(tmp_path, rows)
    leaders = [brokers | {"leader_id": broker, "follower_id": 0} for broker in range(1, 151)]
    gold_tables.write(tmp_path, "fetch_latency", leaders)

    exported = exported_from(tmp_path)
    exported.samples([END])
    served = exported._db.execute("SELECT broker, rate, best FROM throttle_rates").fetchall()
    report = reported(gold)
    states = served_states(exported)

    assert len(served) > 100
    for broker, rate, best in served:
        row = report[broker]
        assert (rate, best) == pytest.approx((row["rate_bytes_per_s"], row["best_window_bytes_per_s"]))
        assert (states[broker] == OVER_LIMIT) == (row["state"] == OVER_LIMIT)
    assert {OVER_LIMIT, None} <= set(states.values())


def test_bytes_under_a_former_limit_are_not_judged_by_the_present_one(tmp_path):
    before = throttled(1, [LIMIT] * 30)
    after = throttled(1, [LIMIT // 2] * 30, limit_bytes_per_s=LIMIT // 2)
    for row in before:
        for name in ("window_start", "limited_from", "on_from", "on_until", "busy_until"):
            row[name] -= timedelta(seconds=30)
    gold = warehouse(tmp_path, [*before, *after])

    assert {row["state"] for row in limits(GoldSelection(gold=gold, cluster="lab"))} == {COMPLIANT}
    assert served_states(exported_from(tmp_path))[1] is None


LAST_SEEN = "plumbline_broker_last_seen_timestamp_seconds"
AROUND = {
    "PlumblineSlowLink": ("plumbline_link_slow", 0, 1),
    "PlumblineSlowBroker": ("plumbline_broker_slow", 0, 1),
    "PlumblineSlowSide": ("plumbline_broker_side_slow", 0, 1),
    "PlumblineProduceHeld": ("plumbline_produce_holding", 0, 1),
    "PlumblineThrottle": ("plumbline_throttle_state", 0, 1),
    "PlumblineSkew": ("plumbline_worst_topic_skew_ratio", skew.MOST_SKEW, skew.MOST_SKEW + 0.01),
    "PlumblineRedirectSlow": (
        "plumbline_leader_redirect_seconds",
        redirects.MOST_REDIRECT_S,
        redirects.MOST_REDIRECT_S + 0.01,
    ),
    "PlumblineMetadataCost": (
        "plumbline_metadata_bytes_per_second",
        lookups.MOST_BYTES_PER_S,
        lookups.MOST_BYTES_PER_S + 1,
    ),
    "PlumblineQuarantine": (
        "plumbline_quarantined_ratio",
        freshness.MOST_QUARANTINED,
        freshness.MOST_QUARANTINED + 0.001,
    ),
    "PlumblineNodeSilent": (LAST_SEEN, END - freshness.SILENT_S, END - freshness.SILENT_S - 1),
    "PlumblineNodeLags": (LAST_SEEN, END - freshness.LATE_S, END - freshness.LATE_S - 1),
    "PlumblineGoldNotFresh": (
        "plumbline_gold_settled_timestamp_seconds",
        END - freshness.NOT_FRESH_S,
        END - freshness.NOT_FRESH_S - 1,
    ),
}
"""The metric of each alert, a value that is within its threshold, and one that is not."""


def around(alert):
    """Return a series on each side of an alert's threshold, in clusters of their own."""
    name, within, beyond = AROUND[alert]
    (labels,) = (metric.labels for metric in METRICS if metric.name == name)
    of_series = dict.fromkeys(labels, "x") | {"kind": "redirect", "quantile": "1.0"}
    for side, value in (("within", within), ("beyond", beyond)):
        series = {label: of_series[label] for label in labels} | {"cluster": f"{alert} {side}"}
        yield ExportedSample(name, tuple(series.items()), END, float(value))
        if name == LAST_SEEN:  # another broker has newer data
            yield ExportedSample(name, tuple((series | {"broker": "newest"}).items()), END, float(END))


def test_each_alert_fires_beyond_its_declared_threshold_and_not_at_it():
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not on the path: see .ci/run")
    with engine([sample for alert in ALERTS for sample in around(alert)]) as served:
        fired = {
            rule.name: {
                series.labels["cluster"]
                for series in served.over(rule.expr, SecondsSpan(END, END))
                if series.labels["cluster"].startswith(f"{rule.name} ")
            }
            for rule in rules_of([RULES])
        }

    assert fired == {alert: {f"{alert} beyond"} for alert in ALERTS}


@pytest.mark.parametrize(
    ("changes", "windows", "is_holding"),
    [
        ({}, 3, 1),
        ({}, 2, 0),
        ({"n_released": 30, "n_tie": 10}, 6, 1),
        ({"n_released": 29, "n_tie": 11}, 6, 0),
        ({"n_released": MIN_REQUESTS, "n": MIN_REQUESTS, "held_sum_ms": MIN_REQUESTS * HOLDS_MS}, 6, 1),
        ({"n_released": MIN_REQUESTS - 1, "n": MIN_REQUESTS - 1}, 6, 0),
        ({"held_sum_ms": 40 * HOLDS_MS - 0.1}, 6, 0),
    ],
)
def test_a_follower_holds_produce_back_by_the_thresholds_of_the_page(tmp_path, changes, windows, is_holding):
    """Broker 9 is in no round trip, and follower 2 of another topic holds nothing back."""
    row = {"leader_id": 9, "follower_id": 1, "topic": "orders", "n": 40, "n_not_held": 0}
    held = row | {"n_released": 40, "n_tie": 0, "held_sum_ms": 40 * HOLDS_MS, **changes}
    quiet = row | {"n_released": 0, "n_tie": 40, "held_sum_ms": 0.0}
    rows = [
        (held if nth < windows else quiet) | {"window_start": at(END - 60 + 10 * nth)} for nth in range(6)
    ]
    others = [
        quiet | {"follower_id": 2, "topic": "b", "n": 400, "window_start": row["window_start"]}
        for row in rows
    ]
    gold_tables.fill(tmp_path, END)
    gold_tables.write(tmp_path, "produce_held", [*rows, *others])

    found = {
        dict(sample.labels)["follower"]: sample.value
        for sample in exported_from(tmp_path).samples([END])
        if sample.name == "plumbline_produce_holding" and dict(sample.labels)["leader"] == "9"
    }

    assert found == {"1": is_holding}


def test_the_rules_file_has_the_declared_expressions():
    assert RULES.read_text() == rules()
    assert {rule.name: rule.expr for rule in rules_of([RULES])} == ALERTS
