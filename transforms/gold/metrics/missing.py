"""Figures that are missing because the exporter's rules drop a metric, and the rule to add."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from schemas.gold.leader_local_mean import MISSING_METRICS
from transforms.frames import frame_of, frame_of_arrow
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

NEEDS = StructType(
    [
        StructField("answer", StringType()),
        StructField("need", StringType()),
        StructField("need_rule", StringType()),
    ]
)


def missing_metrics(series: DataFrame) -> DataFrame:
    """
    Return one row per broker node and figure that its series do not support.

    `series` are rows of `metric_series`. A node with no fact except its start is not a broker.
    """
    rows = series.select(*SERIES_COLUMNS).toArrow()
    known = frame_of_arrow(series.sparkSession, facts(rows))
    is_all = F.col("dialect").isin(*ALL_OF_JMX)
    parts = [F.col(name) for name in ("meaning", "time", "direction")]
    is_time = F.col("meaning") == "request_time_ms"
    part = F.when(is_time, F.concat_ws(".", *parts, "statistic")).otherwise(F.concat_ws(".", *parts))
    had = known.select("cluster", "node", part.alias("need")).distinct()
    brokers = (
        known.filter("meaning != 'process_start_s'")
        .groupBy("cluster", "node")
        .agg(F.max("dialect").alias("dialect"))
    )
    wanted = brokers.crossJoin(F.broadcast(frame_of(series.sparkSession, _needs(), NEEDS)))
    return (
        wanted.join(had, on=["cluster", "node", "need"], how="left_anti")
        .filter(~(is_all & F.col("answer").isin(*LATE)))
        .groupBy("cluster", "node", "dialect", "answer")
        .agg(
            F.array_sort(F.collect_set("need")).alias("missing"),
            F.array_join(F.array_sort(F.collect_set("need_rule")), "").alias("rules"),
        )
        .withColumn("advice", _advice())
        .withColumn("rule", F.when(F.col("advice").isin(FIRST, UNBLOCK), F.col("rules")))
        .select(*MISSING_METRICS.schema.names)
    )


def _needs() -> list[dict[str, str]]:
    return [
        {
            "answer": answer.name,
            "need": need,
            "need_rule": next(rule for end, rule in answer.rules.items() if need.endswith(end)),
        }
        for answer in ANSWERS
        for need in answer.needs
    ]


def _advice() -> Column:
    dialect, is_throttle = F.col("dialect"), F.col("answer") == "throttle_bean"
    return (
        F.when(dialect == "cloudwatch", F.lit(OPEN_MONITORING))
        .when(dialect == "msk", F.lit(KEEP))
        .when(dialect == "exporter", F.lit(EXPORT))
        .when((dialect == "confluent") & is_throttle, F.lit(UNBLOCK))
        .otherwise(F.lit(FIRST))
    )
