"""Gold rows of a cluster of three brokers, made by hand: healthy, one slow link, one slow broker, a tie."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

from schemas.rows import Row
from serving.report.answers import Answers

START = datetime(2026, 11, 21, 11, 3, 0, tzinfo=UTC)
WINDOWS = 18
ONSET = 8  # the window in which a fault begins: 11:04:20
WINDOW = timedelta(seconds=10)
LEVELS = {(1, 2): 0.66, (1, 3): 0.71, (2, 1): 0.69, (2, 3): 0.74, (3, 1): 0.64, (3, 2): 0.70}
NAMELESS: Row = {"culprit": None, "broker_id": None, "follower_id": None, "leader_id": None}
NOBODY = {**NAMELESS, "culprit": "none"}


def at(nth: int) -> datetime:
    return START + nth * WINDOW


def answers(
    accused: set[tuple[int, int]], verdict: Row, *, added_ms: float = 20.0, **changes: Any
) -> Answers:
    """Make the answers of a span in which `added_ms` lies on the accused pairs from `ONSET` on."""
    rtt = [
        _rtt(pair, method, nth, added_ms if pair in accused and nth >= ONSET else 0.0)
        for nth in range(WINDOWS)
        for pair in permutations((1, 2, 3), 2)
        for method in ("paired", "passive")
    ]
    during = [row for row in rtt if row["window_start"] >= at(ONSET)]
    before = [row for row in rtt if row["window_start"] < at(ONSET)]
    latency = [_latency(row) for row in rtt if row["method"] == "paired"]
    rows: dict[str, Any] = {
        "broker_rtt": rtt,
        "broker_rtt_summary": _summary(rtt, 0, WINDOWS),
        "broker_rtt_accused": _summary(during, ONSET, WINDOWS) if accused else [],
        "broker_rtt_quiet": _summary(before, 0, ONSET) if accused else [],
        "broker_rtt_culprit": [_culprit(nth, verdict, added_ms) for nth in range(WINDOWS)],
        "fetch_latency": latency,
        "fetch_latency_accused": _latest(latency) if accused else [],
        "fetch_latency_summary": [*_latest(latency), consumer("analytics-7")],
        "stock_fetch_total": [stock(leader) for leader in (1, 2, 3)],
        "data_quality": [quality(node) for node in (1, 2, 3)],
        "inputs": {"from": "logs", "files": [], "not_understood": [], "time_zone": "UTC"},
    }
    return Answers(**{**rows, **changes})


def healthy() -> Answers:
    return answers(set(), NOBODY)


def slow_link() -> Answers:
    verdict = {"culprit": "link", "broker_id": None, "follower_id": 3, "leader_id": 1}
    return answers({(3, 1)}, verdict)


def slow_broker() -> Answers:
    verdict = {"culprit": "broker", "broker_id": 2, "follower_id": None, "leader_id": None}
    return answers({(2, 1), (2, 3), (1, 2), (3, 2)}, verdict, added_ms=9.8)


def tie() -> Answers:
    sides = [
        {"culprit": "follower_side", "broker_id": 2, "follower_id": 2, "leader_id": None},
        {"culprit": "leader_side", "broker_id": 3, "follower_id": None, "leader_id": 3},
    ]
    return answers({(2, 3)}, {**NAMELESS, "culprit": "ambiguous", "tied": sides}, added_ms=6.0)


def _rtt(pair: tuple[int, int], method: str, nth: int, added_ms: float) -> Row:
    # A wobble of a few hundredths, the same in every run.
    level = (
        LEVELS[pair] + 0.03 * ((nth * 7 + pair[0] * 3 + pair[1]) % 5 - 2) / 2 + 0.24 * (method == "passive")
    )
    return {
        "cluster": "lab",
        "window_start": at(nth),
        "follower_id": pair[0],
        "leader_id": pair[1],
        "method": method,
        "n": 20,
        "blocks": 18,
        "estimator": "p50",
        "rtt_ms": level + added_ms,
        "rtt_low_ms": level + added_ms - 0.06,
        "rtt_high_ms": level + added_ms + 0.07,
        "rtt_p10_ms": level + added_ms - 0.12,
        "rtt_p50_ms": level + added_ms,
        "rtt_p99_ms": level + added_ms + 1.9,
        "is_settled": True,
    }


def _summary(rows: list[Row], first: int, end: int) -> list[Row]:
    last = {(row["follower_id"], row["leader_id"], row["method"]): row for row in rows}
    return [
        {**row, "since": at(first), "until": at(end), "windows": end - first, "n": 20 * (end - first)}
        for row in last.values()
    ]


def _culprit(nth: int, verdict: Row, added_ms: float) -> Row:
    is_accused = verdict["culprit"] not in {"none", "not_enough_data"} and nth > ONSET
    named = verdict if is_accused else {**NAMELESS, "culprit": "none"}
    return {
        "cluster": "lab",
        "window_start": at(nth),
        **named,
        "effect_ms": added_ms if is_accused else None,
        "effect_low_ms": added_ms - 0.3 if is_accused else None,
        "effect_high_ms": added_ms + 0.3 if is_accused else None,
        "since": at(ONSET) if is_accused else None,
        "evidence": 14.0 * (nth - ONSET) if is_accused else 0.0,
        "runner_up": {**NAMELESS, "culprit": "broker", "broker_id": 3} if is_accused else None,
        "runner_up_margin": 11.5 if is_accused else None,
        "method": "paired",
        "baseline": "own",
        "pairs_seen": 6,
        "pairs_expected": 6,
        "is_settled": True,
    }


def _latency(rtt: Row) -> Row:
    true_ms = rtt["rtt_p50_ms"] + 0.45
    return {
        "cluster": "lab",
        "window_start": rtt["window_start"],
        "leader_id": rtt["leader_id"],
        "kind": "follower",
        "follower_id": rtt["follower_id"],
        "client_id": f"broker-{rtt['follower_id']}-fetcher-0",
        "n": 20,
        "n_delayed": 20,
        "n_true": 20,
        "total_p50_ms": 501.2,
        "total_p99_ms": 503.9,
        "remote_p50_ms": 500.5,
        "remote_p99_ms": 501.8,
        "leader_local_p50_ms": 0.61,
        "leader_local_p99_ms": 2.2,
        "true_p50_ms": true_ms,
        "true_p99_ms": true_ms + 2.1,
        "is_settled": True,
    }


def _latest(latency: list[Row]) -> list[Row]:
    return list({(row["leader_id"], row["follower_id"]): row for row in latency}.values())


def consumer(client_id: str | None) -> Row:
    return {
        "cluster": "lab",
        "window_start": START,
        "leader_id": 1,
        "kind": "consumer",
        "follower_id": None,
        "client_id": client_id,
        "n": 3210,
        "n_delayed": 3000,
        "n_true": 0,
        "total_p50_ms": 500.9,
        "total_p99_ms": 502.4,
        "remote_p50_ms": 500.1,
        "remote_p99_ms": 500.8,
        "leader_local_p50_ms": 0.52,
        "leader_local_p99_ms": 1.9,
        "true_p50_ms": None,
        "true_p99_ms": None,
    }


def stock(leader: int) -> Row:
    return {
        "cluster": "lab",
        "scraped_at": at(WINDOWS),
        "leader_id": leader,
        "mean_ms": 497.1,
        "p50_ms": 501.0,
        "p99_ms": 503.0 + leader,
        "count": 4000,
    }


def quality(node: int) -> Row:
    return {
        "cluster": "lab",
        "kind": "request-log",
        "node": f"broker-{node}",
        "source": f"broker-{node}/kafka-request.log",
        "lines_read": 1000,
        "kept": 990,
        "quarantined": 1,
        "skipped": 8,
        "duplicates": 1,
        "first_logged_at": START,
        "last_logged_at": at(WINDOWS),
        "is_balanced": True,
    }


BROKEN_RULE = {
    "checked_at": datetime(2026, 11, 21, 12, 5, tzinfo=UTC),
    "layer": "silver",
    "table_name": "requests",
    "rule": "times_add_up",
    "about": "the parts add up",
    "span_start": datetime(2026, 11, 21, 11, tzinfo=UTC),
    "span_end": datetime(2026, 11, 21, 12, tzinfo=UTC),
    "is_passed": False,
    "rows_seen": 41,
    "rows_failed": 1,
    "examples": ['{"n": 1}'],
    "table_version": 3,
}
