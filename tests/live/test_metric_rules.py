"""The rules that the report asks for are run: the real exporter takes them, and nothing is missing then."""

import re
import time

import pytest

from answers.data_quality.missing_metrics import missing_metrics
from collectors.scrape import scrape
from conf.settings import ScrapedEndpoint
from schemas.silver.metrics import METRIC_SERIES
from tests.answers.selected import selected
from tests.transforms.gold.metric_rows import series_row

pytestmark = pytest.mark.live

# What files of rules in wide use come to: the counts under names of their own, and no Mean.
COUNTS = """\
- pattern: kafka.(\\w+)<type=(.+), name=(.+)PerSec><>Count
  name: kafka_$1_$2_$3_total
  type: COUNTER
- pattern: kafka.(\\w+)<type=(.+), name=(.+), request=(.+)><>Count
  name: kafka_$1_$2_$3_count
  type: COUNTER
  labels:
    request: "$4"
"""
LITTLE = """\
- pattern: kafka.server<type=ReplicaManager, name=ReassigningPartitions><>Value
  name: kafka_server_replicamanager_reassigningpartitions
"""
RULES = {
    "counts": (COUNTS, {"leader_local_mean", "log_sizes", "throttle_bean"}),
    "little": (LITTLE, {"byte_counters", "leader_local_mean", "log_sizes", "throttle_bean"}),
}
LINE = re.compile(r"^(?!#)(\w+(?:\{.*\})?) \S+$", re.MULTILINE)


@pytest.fixture
def exporter(lab):
    """Give a broker's exporter to set rules for; it reads its file anew when that has changed."""
    broker = lab.brokers[0]
    file = lab.state / f"broker-{broker.id}" / "exporter.yaml"
    before = file.read_text()

    def lines(rules):
        time.sleep(1.1)  # a file is as new as its time of change tells, in whole seconds on some systems
        file.write_text(rules)
        page = scrape(ScrapedEndpoint(url=broker.exporter_url, node="broker-1"), timeout_s=60)
        return LINE.findall(page.value.decode())

    yield lines
    time.sleep(1.1)
    file.write_text(before)


@pytest.mark.parametrize("case", RULES)
def test_rule_that_is_asked_for_brings_what_is_missing(exporter, case):
    kept, dropped = RULES[case]

    def missing(added):
        rows = [series_row(line) for line in exporter(f"lowercaseOutputName: true\nrules:\n{added}{kept}")]
        return {row["answer"]: row["rule"] for row in missing_metrics(selected({METRIC_SERIES: rows}))}

    told = missing("")

    assert set(told) == dropped
    assert missing("".join(rule for _, rule in sorted(told.items()))) == {}


def test_start_of_the_process_is_there_without_any_rule(exporter):
    assert "process_start_time_seconds" in exporter("rules:\n- pattern: nothing\n  name: nothing\n")
