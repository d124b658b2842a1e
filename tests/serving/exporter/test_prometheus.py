"""A real Prometheus scrapes the exporter; every panel's and every rule's query gives series with numbers."""

import json
import math
import time
from dataclasses import asdict
from urllib.parse import urlsplit

import pytest

from answers.exported.gold import ExportedGold
from answers.gold.reader import GoldReader
from conf.export import Export
from conf.metrics_endpoint import metrics_endpoint
from conf.settings import PROJECT
from serving.exporter.backtest_cli import RULES
from serving.exporter.rules import rules_of, selectors
from serving.exporter.serve import registry_of
from tests.collectors.real_prometheus import RealPrometheus
from tests.serving.exporter import gold_tables

DASHBOARD = json.loads((PROJECT / "serving" / "grafana" / "plumbline.json").read_text())
PANELS = [
    target["expr"].replace("$cluster", ".*")
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", [])
]
ASKED = [selector for rule in rules_of([RULES]) for selector in selectors(rule.expr)]
WAITS_S = 60


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """Give a server that has scraped gold of this minute, with rows in all tables, and has the rules."""
    root = tmp_path_factory.mktemp("gold")
    gold_tables.fill(root, int(time.time()) // 10 * 10)
    gold = ExportedGold(GoldReader.of_warehouse(root), asdict(Export()))
    with metrics_endpoint(registry_of(gold), 0, "port") as url:
        scrape = f"""
rule_files: [{RULES}]
scrape_configs:
  - job_name: plumbline
    scrape_interval: 5s
    scrape_timeout: 5s
    static_configs: [{{targets: ["{urlsplit(url).netloc}"]}}]
"""
        prometheus = RealPrometheus(tmp_path_factory.mktemp("prometheus"), scrape=scrape)
        try:
            prometheus.start()
            wait_for(lambda: prometheus.ask("plumbline_gold_settled_timestamp_seconds", time.time()))
            yield prometheus
        finally:
            prometheus.stop()


def wait_for(found):
    give_up_at = time.monotonic() + WAITS_S
    while not (what := found()):
        assert time.monotonic() < give_up_at
        time.sleep(0.2)
    return what


@pytest.mark.parametrize("query", sorted({*PANELS, *ASKED}))
def test_every_query_of_panels_and_rules_gives_numbers(prometheus, query):
    series = prometheus.ask(query, time.time())

    assert [one for one in series if not math.isnan(float(one["value"][1]))]


@pytest.mark.parametrize("rule", rules_of([RULES]), ids=lambda rule: rule.name)
def test_every_rule_can_be_evaluated(prometheus, rule):
    assert isinstance(prometheus.ask(rule.expr, time.time()), list)


def test_the_slow_link_fires_with_its_effect(prometheus):
    (fired,) = wait_for(
        lambda: prometheus.ask('ALERTS{alertname="PlumblineSlowLink",alertstate="firing"}', time.time())
    )

    assert (fired["metric"]["follower"], fired["metric"]["leader"]) == ("1", "3")


def test_provisioning_names_the_data_source_of_the_panels():
    told = (PROJECT / "serving/grafana/provisioning/datasources/plumbline.yml").read_text()
    sources = {panel["datasource"]["uid"] for panel in DASHBOARD["panels"] if "datasource" in panel}

    assert sources == {"plumbline"}
    assert "uid: plumbline" in told
