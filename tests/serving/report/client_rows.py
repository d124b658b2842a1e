"""Gold rows about clients, by hand: two partitioners, two client versions, two ways to look topics up."""

from datetime import timedelta
from types import SimpleNamespace

from schemas.fields import Table
from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
from schemas.gold.metadata_lookup import METADATA_LOOKUP, METADATA_LOOKUP_SUMMARY
from schemas.gold.partition_skew import PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from schemas.gold.perf_runs import PERF_RUNS
from schemas.rows import Row
from tests.serving.report.gold_rows import at

SHARES = {"sticky": (0.7, 0.15, 0.15), "adaptive": (0.38, 0.31, 0.31)}
TOPIC = "orders"


def row(table: Table, **known: object) -> Row:
    return dict.fromkeys(table.schema.names) | {"cluster": "lab"} | known


def clients(**changes: object) -> SimpleNamespace:
    return SimpleNamespace(
        **{
            "partition_skew": [partition(arm, n) for arm in SHARES for n in range(3)],
            "partition_skew_summary": [skewed(arm) for arm in SHARES],
            "leader_redirect": [redirect(version, n) for version in ("3.6.0", "3.9.1") for n in range(8)],
            "leader_redirect_summary": [redirects("3.6.0", 104.0, 0.0), redirects("3.9.1", 6.6, 1.0)],
            "metadata_lookup": [lookups("2.4.1", 1.98), lookups("3.9.1", 1.0)],
            "metadata_lookup_windows": [window(v, n) for v in ("2.4.1", "3.9.1") for n in range(5)],
            "perf_summaries": [perf("sticky", []), perf("adaptive", ["invalid_rate"])],
            **changes,
        }
    )


def partition(arm: str, n: int) -> Row:
    known = {
        "topic": TOPIC,
        "partition": n,
        "leader_id": n + 1,
        "client_id": f"c-{arm}",
        "run": "r",
        "arm": arm,
    }
    return row(
        PARTITION_SKEW_SPAN, **known, method="request_log", share=SHARES[arm][n], bytes=1000, batches=10
    )


def skewed(arm: str) -> Row:
    known = {"topic": TOPIC, "client_id": f"c-{arm}", "run": "r", "arm": arm, "method": "request_log"}
    figures = {"partitions": 3, "batches": 5000, "bytes": 10**7, "max_over_mean": 2.1, "top_share": 0.7}
    figures |= {"coefficient_of_variation": 0.8, "gini": 0.4, "effective_partitions": 1.9, "chi_square": 12.0}
    slow = {"slowest_leader_id": 1, "slow_by": "batch_size", "slowest_ratio": 4.7, "slowest_batch_ratio": 3.4}
    told = {
        "degrees_of_freedom": 2,
        "bytes_per_batch_ratio": 3.4,
        "slowest_latency_ratio": 1.0,
        "partitioner": arm,
    }
    return row(PARTITION_SKEW_SUMMARY, **known, **figures, **slow, **told, quality_flags=[])


def redirect(version: str, n: int) -> Row:
    ms = (100.0 if version == "3.6.0" else 5.0) + n
    known = {"window_start": at(n), "errored_at": at(n), "topic": TOPIC, "partition": n, "api": "PRODUCE"}
    told = {"software_version": version, "redirect_ms": ms, "client_part_ms": ms - 1, "broker_part_ms": 1.0}
    return row(LEADER_REDIRECT, **known, **told, kind="redirect", hinted=version != "3.6.0")


def redirects(version: str, p50_ms: float, hinted: float) -> Row:
    told = {"redirect_p50_ms": p50_ms, "redirect_max_ms": 3 * p50_ms, "client_part_p50_ms": p50_ms - 1}
    told |= {"broker_part_p50_ms": 1.0, "hinted_share": hinted, "wasted_requests": 9, "n": 8, "unfinished": 0}
    told |= {"disconnects": 0}
    return row(LEADER_REDIRECT_SUMMARY, api="PRODUCE", software_version=version, **told)


def disconnect(version: str) -> Row:
    known = {"window_start": at(9), "errored_at": at(9), "topic": TOPIC, "partition": 3, "api": "FETCH"}
    told = {"software_version": version, "kind": "disconnect", "redirect_ms": 9_100.0}
    return row(LEADER_REDIRECT, **known, **told)


def disconnects(version: str) -> Row:
    told = {"n": 0, "unfinished": 0, "wasted_requests": 0, "disconnects": 2}
    told |= {"disconnect_p50_ms": 9_100.0, "disconnect_max_ms": 12_300.0}
    return row(LEADER_REDIRECT_SUMMARY, api="FETCH", software_version=version, **told)


def lookups(version: str, exponent: float) -> Row:
    told = {"lookups": 100, "all_topics_lookups": 0, "topics_asked": 5050, "topics_answered": 5050}
    told |= {"response_bytes": 10**6, "lookups_after_error": 0, "new_topics": 100, "evicted_topics": 3}
    client = {"client_id": f"m-{version}", "software_version": version}
    return row(METADATA_LOOKUP_SUMMARY, **client, **told, topics_per_lookup=50.5, growth_exponent=exponent)


def window(version: str, n: int) -> Row:
    told = {"lookups": 20, "all_topics_lookups": 0, "topics_asked": 20 * (n + 1)}
    return row(METADATA_LOOKUP, window_start=at(n), client_id=f"m-{version}", **told)


def perf(arm: str, flags: list[str]) -> Row:
    told = {"records": 1000, "records_per_s": 2040.5, "avg_ms": 3.0, "max_ms": 90.0, "is_steady_state": False}
    told |= {"p50_ms": 2.0, "p95_ms": 8.0, "p99_ms": 20.0, "p999_ms": 80.0, "asked_records_per_s": 2048.0}
    return row(
        PERF_RUNS, run="r", arm=arm, logged_at=at(3) + timedelta(seconds=1), quality_flags=flags, **told
    )
