"""Figures that are missing because the exporter's rules drop a metric, and the rule to add."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from answers import listing
from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.listing import Column, Listing
from schemas.rows import Row
from transforms.gold.metrics.facts import SERIES_COLUMNS, facts

FIRST = "Put this rule before all others: the exporter applies the first rule that matches an MBean."
UNBLOCK = (
    f"{FIRST} If blacklistObjectNames contains `kafka.server:type=*`, delete that line: it excludes the "
    "MBean."
)
EXPORT = (
    "The exporter's rules do not drop this metric. Check includeObjectNames and excludeObjectNames, and "
    "metric_relabel_configs of Prometheus."
)
KEEP = "MSK open monitoring exposes all of JMX. Check metric_relabel_configs of Prometheus."
OPEN_MONITORING = (
    "CloudWatch does not have this metric. Enable MSK open monitoring, which exposes all of JMX."
)

ALL_OF_JMX, LATE = ("exporter", "msk"), ("throttle_bean", "log_sizes")
"""Dialects that expose all MBeans, and figures whose MBeans exist only after the first replica."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededFacts:
    """A figure, the facts it needs as `meaning.part`, and the rule that exports each of them."""

    name: str
    needs: tuple[str, ...]
    rules: dict[str, str]


MEAN_RULE = """\
- pattern: kafka.network<type=RequestMetrics, name=(TotalTimeMs|RemoteTimeMs), request=(.+)><>(Mean|StdDev)
  name: kafka_network_requestmetrics_$1_$3
  type: GAUGE
  labels:
    request: "$2"
"""
COUNT_RULE = """\
- pattern: kafka.network<type=RequestMetrics, name=(TotalTimeMs|RemoteTimeMs), request=(.+)><>Count
  name: kafka_network_requestmetrics_$1_count
  type: COUNTER
  labels:
    request: "$2"
"""
THROTTLE_RULE = """\
- pattern: kafka.server<type=(Leader|Follower)Replication><>byte-rate
  name: kafka_server_$1replication_byte_rate
  type: GAUGE
"""
BYTES_RULE = """\
- pattern: kafka.server<type=BrokerTopicMetrics, name=(Replication|Reassignment)Bytes(In|Out)PerSec><>Count
  name: kafka_server_brokertopicmetrics_$1bytes$2
  type: COUNTER
"""
LOG_RULE = """\
- pattern: kafka.log<type=Log, name=(Size|LogEndOffset), topic=(.+), partition=(\\d+)><>Value
  name: kafka_log_log_$1
  type: GAUGE
  labels:
    topic: "$2"
    partition: "$3"
"""
START_RULE = """\
- pattern: java.lang<type=Runtime><>StartTime
  name: process_start_time_seconds
  type: GAUGE
  valueFactor: 0.001
"""

ANSWERS = (
    NeededFacts(
        name="leader_local_mean",
        needs=(
            "request_time_ms.total.count",
            "request_time_ms.total.mean",
            "request_time_ms.remote.count",
            "request_time_ms.remote.mean",
        ),
        rules={".mean": MEAN_RULE, ".count": COUNT_RULE},
    ),
    NeededFacts(name="throttle_bean", needs=("replication_byte_rate.leader",), rules={"": THROTTLE_RULE}),
    NeededFacts(
        name="byte_counters",
        needs=(
            "replication_bytes.in",
            "replication_bytes.out",
            "reassignment_bytes.in",
            "reassignment_bytes.out",
        ),
        rules={"": BYTES_RULE},
    ),
    NeededFacts(name="log_sizes", needs=("log_size_bytes", "log_end_offset"), rules={"": LOG_RULE}),
    NeededFacts(name="restarts", needs=("process_start_s",), rules={"": START_RULE}),
)

SERIES_TABLE = "silver.metric_series"
SERIES = f"SELECT {', '.join(SERIES_COLUMNS)} FROM {SERIES_TABLE} WHERE cluster = $cluster"


def missing_metrics(selection: GoldSelection) -> list[Row]:
    """
    Return `missing_metrics`: one row per broker node and figure that its series do not support.

    A node with no fact except its start is not a broker.
    """
    version = selection.gold.relations[SERIES_TABLE].version()
    return list(_missing_of(selection.gold, selection.cluster, version))


@lru_cache(maxsize=8)
def _missing_of(gold: GoldReader, cluster: str, version: str) -> tuple[Row, ...]:  # noqa: ARG001 (of the cache)
    known: dict[str, set[str]] = defaultdict(set)
    dialects: dict[str, str] = {}
    for row in facts(gold.arrow(SERIES, {"cluster": cluster})).to_pylist():
        known[row["node"]].add(_fact(row))
        if row["meaning"] != "process_start_s":
            dialects[row["node"]] = max(row["dialect"], dialects.get(row["node"], ""))
    return tuple(
        _missing(cluster, node, dialect, figure, missing)
        for node, dialect in sorted(dialects.items())
        for figure in sorted(ANSWERS, key=lambda one: one.name)
        if not (dialect in ALL_OF_JMX and figure.name in LATE)
        if (missing := sorted(set(figure.needs) - known[node]))
    )


def _fact(row: Row) -> str:
    """Return the name of a fact as `NeededFacts.needs` has it."""
    is_time = row["meaning"] == "request_time_ms"
    parts = (row["meaning"], row["time"], row["direction"], row["statistic"] if is_time else None)
    return ".".join(part for part in parts if part is not None)


def _missing(cluster: str, node: str, dialect: str, figure: NeededFacts, missing: list[str]) -> Row:
    advice = _advice(dialect, figure)
    rules = {next(rule for end, rule in figure.rules.items() if need.endswith(end)) for need in missing}
    return {
        "cluster": cluster,
        "node": node,
        "dialect": dialect,
        "answer": figure.name,
        "missing": missing,
        "advice": advice,
        "rule": "".join(sorted(rules)) if advice in {FIRST, UNBLOCK} else None,
    }


def _advice(dialect: str, figure: NeededFacts) -> str:
    of_dialect = {"cloudwatch": OPEN_MONITORING, "msk": KEEP, "exporter": EXPORT}
    if dialect == "confluent" and figure.name == "throttle_bean":
        return UNBLOCK
    return of_dialect.get(dialect, FIRST)


def doubts(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each figure that a node's metrics do not support."""
    return [
        f"{row['node']} ({row['dialect']}): {row['answer']} cannot be had from its metrics, which lack "
        f"{', '.join(row['missing'])}. {row['advice']}"
        for row in rows
    ]


LISTING = Listing(
    name="missing-metrics",
    title="Figures that the metrics do not support",
    columns=(
        listing.text("node", "node"),
        listing.text("dialect", "dialect"),
        listing.text("figure", "answer"),
        Column("missing", lambda row: ", ".join(row["missing"] or ()), "missing", is_text=True),
        listing.text("what to do", "advice", style="path"),
        listing.text("rule to add", "rule", style="pre", in_terminal=False),
    ),
)
