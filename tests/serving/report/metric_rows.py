"""Gold rows made from metrics, by hand: means beside the log's, refusals, rules that drop what is needed."""

from types import SimpleNamespace

from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN, LEADER_LOCAL_MEAN_SUMMARY, MISSING_METRICS
from schemas.rows import Row
from tests.serving.report.client_rows import row
from tests.serving.report.gold_rows import at

RULE = "- pattern: kafka.network<type=RequestMetrics>\n  name: x\n"


def mean(request: str, local: float | None, reason: str | None = None, **more: object) -> Row:
    known = {"node": "broker-1", "broker_id": 1, "request": request, "n": 4_000, "n_remote": 4_000}
    known |= {"total_mean_ms": 500.0 + (local or 0.0), "remote_mean_ms": 500.0, "resets": 1, "intervals": 6}
    known |= {"leader_local_mean_ms": local, "reason": reason, "since": at(0), "until": at(6)}
    return row(LEADER_LOCAL_MEAN_SUMMARY, **known | more)


def metrics(**changes: object) -> SimpleNamespace:
    near = {"log_n": 3_998, "log_leader_local_mean_ms": 12.1, "difference_ms": -0.1, "is_within": True}
    near |= {"covered_n": 4_000, "covered_leader_local_mean_ms": 12.0}
    far = {"log_n": 4_000, "log_leader_local_mean_ms": 9.0, "difference_ms": 3.0, "is_within": False}
    far |= {"covered_n": 4_000, "covered_leader_local_mean_ms": 12.0}
    return SimpleNamespace(
        **{
            "leader_local_mean": [row(LEADER_LOCAL_MEAN, window_start=at(0), node="broker-1", n=10)],
            "leader_local_mean_summary": [
                mean("Metadata", None, "too_few", n=3),
                mean("Produce", 12.0, **far),
                mean("FetchFollower", 12.0, **near),
                mean("FetchConsumer", None, "below_resolution"),
                mean("Heartbeat", 4.0),
            ],
            "missing_metrics": [
                row(
                    MISSING_METRICS,
                    node="broker-2",
                    dialect="kafka_example",
                    answer="leader_local_mean",
                    missing=["request_time_ms.total.mean"],
                    advice="Put this rule before all others.",
                    rule=RULE,
                )
            ],
            **changes,
        }
    )
