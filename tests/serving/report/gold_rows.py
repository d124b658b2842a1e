"""Gold of three brokers with known round trips: healthy, one slow link, one slow broker, a tie."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

from answers.gold.selection import GoldSelection
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.rows import Row
from tests.answers.made_gold import hist
from tests.answers.selected import selected

START = datetime(2026, 11, 21, 11, 3, 0, tzinfo=UTC)
WINDOWS = 18
ONSET = 8  # the window in which a fault begins: 11:04:20
WINDOW = timedelta(seconds=10)
LEVELS = {(1, 2): 0.66, (1, 3): 0.71, (2, 1): 0.69, (2, 3): 0.74, (3, 1): 0.64, (3, 2): 0.70}
NAMELESS: Row = {"culprit": None, "broker_id": None, "follower_id": None, "leader_id": None}
NO_CULPRIT = {**NAMELESS, "culprit": "none"}
LINK = {**NAMELESS, "culprit": "link", "follower_id": 3, "leader_id": 1}
BROKER = {**NAMELESS, "culprit": "broker", "broker_id": 2}
SIDES = [
    {"culprit": "follower_side", "broker_id": 2, "follower_id": 2, "leader_id": None},
    {"culprit": "leader_side", "broker_id": 3, "follower_id": None, "leader_id": 3},
]
TIE = {**NAMELESS, "culprit": "ambiguous", "tied": SIDES}


def at(nth: int) -> datetime:
    return START + nth * WINDOW


def tables(accused: set[tuple[int, int]], verdict: Row, added_ms: float = 20.0) -> dict[Any, list[Row]]:
    """Return the rows of a span in which the accused pairs are slower by `added_ms` from `ONSET` on."""
    windows = [
        (nth, pair, added_ms if pair in accused and nth >= ONSET else 0.0)
        for nth in range(WINDOWS)
        for pair in permutations((1, 2, 3), 2)
    ]
    return {
        BROKER_RTT: [_rtt(*window, method) for window in windows for method in ("paired", "passive")],
        BROKER_RTT_CULPRIT: culprits(verdict, added_ms),
        FETCH_LATENCY: [*(_fetch(*window) for window in windows), consumer("analytics-7")],
        STOCK_FETCH_TOTAL: [stock(leader) for leader in (1, 2, 3)],
        DATA_QUALITY: [quality(node) for node in (1, 2, 3)],
    }


def healthy(**more: Any) -> GoldSelection:
    return selected(tables(set(), NO_CULPRIT), **more)


def slow_link(extra: dict[Any, list[Row]] | None = None) -> GoldSelection:
    return selected(tables({(3, 1)}, LINK) | (extra or {}))


def slow_broker() -> GoldSelection:
    return selected(tables({(2, 1), (2, 3), (1, 2), (3, 2)}, BROKER, added_ms=9.8))


def tie() -> GoldSelection:
    return selected(tables({(2, 3)}, TIE, added_ms=6.0))


def empty() -> GoldSelection:
    return selected({})


def culprits(verdict: Row, added_ms: float = 20.0) -> list[Row]:
    return [_culprit(nth, verdict, added_ms) for nth in range(WINDOWS)]


def _figures(name: str, values: list[float]) -> Row:
    ordered = sorted(values)
    return {
        f"{name}_hist": hist(ordered),
        f"{name}_sum_ms": sum(ordered),
        f"{name}_min_ms": ordered[0],
        f"{name}_max_ms": ordered[-1],
        f"{name}_p50_ms": ordered[len(ordered) // 2],
        f"{name}_p99_ms": ordered[-1],
    }


def _rtt(nth: int, pair: tuple[int, int], added_ms: float, method: str) -> Row:
    # A wobble of a few hundredths, the same in every run.
    wobble = 0.03 * ((nth * 7 + pair[0] * 3 + pair[1]) % 5 - 2) / 2
    level = LEVELS[pair] + wobble + 0.24 * (method == "passive") + added_ms
    return {
        "cluster": "lab",
        "window_start": at(nth),
        "follower_id": pair[0],
        "leader_id": pair[1],
        "method": method,
        "n": 20,
        "blocks": 18,
        "estimator": "p50",
        "rtt_ms": level,
        "rtt_low_ms": level - 0.06,
        "rtt_high_ms": level + 0.07,
        "rtt_p10_ms": level - 0.01,
        **_figures("rtt", [level + 0.001 * k for k in range(20)]),
        "clock_resolution_ms": 1e-6,
        "is_settled": True,
    }


def _culprit(nth: int, verdict: Row, added_ms: float) -> Row:
    is_accused = verdict["culprit"] not in {"none", "not_enough_data"} and nth > ONSET
    named = verdict if is_accused else NO_CULPRIT
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


def _fetch(nth: int, pair: tuple[int, int], added_ms: float) -> Row:
    true_ms = LEVELS[pair] + 0.45 + added_ms
    return {
        "cluster": "lab",
        "window_start": at(nth),
        "leader_id": pair[1],
        "kind": "follower",
        "follower_id": pair[0],
        "client_id": f"broker-{pair[0]}-fetcher-0",
        "n": 20,
        "n_delayed": 20,
        "n_true": 20,
        **_figures("total", [500.0 + true_ms] * 20),
        **_figures("remote", [500.0] * 20),
        **_figures("leader_local", [0.61] * 20),
        **_figures("true", [true_ms] * 20),
        "is_settled": True,
    }


def consumer(client_id: str | None) -> Row:
    return {
        "cluster": "lab",
        "window_start": START,
        "leader_id": 1,
        "kind": "consumer",
        "follower_id": None,
        "client_id": client_id,
        "n": 20,
        "n_delayed": 20,
        "n_true": 0,
        **_figures("total", [500.9] * 20),
        **_figures("remote", [500.1] * 20),
        **_figures("leader_local", [0.52] * 20),
    }


def stock(leader: int) -> Row:
    return {
        "cluster": "lab",
        "scraped_at": at(WINDOWS - 1),
        "leader_id": leader,
        "mean_ms": 497.1,
        "p50_ms": 501.0,
        "p99_ms": 503.0 + leader,
        "count": 4000,
    }


def quality(node: int, **more: object) -> Row:
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
        **more,
    }


FAILED_RULE = {
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
