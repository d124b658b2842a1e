"""A gold warehouse with the real schemas and rows with known values, written without Spark."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from math import ceil, log

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.produce_held import PRODUCE_HELD
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.run_comparison import RUN_COMPARISON
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.histogram import LN_GAMMA, OFFSET
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.transforms.gold.held_rows import AT, TOPIC_ID, produce, replicated

START = datetime(2026, 11, 21, 11, 0, tzinfo=UTC)
WINDOWS, SLOW_FROM = 30, 12
BROKERS = (1, 2, 3)
SLOW = (3, 1)  # follower 3 fetching from leader 1
HOSTILE = '<img src=x onerror="alert(1)">\' OR 1=1 --'


def at(nth):
    return START + nth * timedelta(seconds=10)


def hist(values):
    return dict(sorted(Counter(ceil(log(value) / LN_GAMMA) + OFFSET for value in values).items()))


def write(root, table, rows, mode="overwrite"):
    """Write rows of a table; columns that a row lacks are NULL."""
    names = table.schema.names
    made = [{name: row.get(name) for name in names} for row in rows]
    assert not {name for row in rows for name in row} - set(names)
    schema = to_arrow_schema(table.schema, timezone="UTC")
    arrow = pa.Table.from_pylist([_pairs(row) for row in made], schema=schema)
    write_deltalake(str(root / table.layer / table.name), arrow, mode=mode)


def _pairs(row):
    return {
        name: list(cell.items()) if isinstance(cell, dict) and "hist" in name else cell
        for name, cell in row.items()
    }


def rtt(  # noqa: PLR0913, PLR0917 (facts of a row)
    nth, follower, leader, method="paired", cluster="east", extra_ms=0.0
):
    is_slow = (follower, leader) == SLOW and nth >= SLOW_FROM
    values = [1.0 + 0.01 * k + extra_ms + (20.0 if is_slow else 0.0) for k in range(40)]
    ordered = sorted(values)
    return {
        "cluster": cluster,
        "window_start": at(nth),
        "follower_id": follower,
        "leader_id": leader,
        "method": method,
        "n": len(values),
        "blocks": len(values),
        "estimator": "p10",
        "rtt_ms": ordered[3],
        "rtt_low_ms": ordered[0],
        "rtt_high_ms": ordered[8],
        "rtt_p10_ms": ordered[3],
        "rtt_p50_ms": ordered[19],
        "rtt_p99_ms": ordered[39],
        "rtt_sum_ms": sum(values),
        "rtt_min_ms": ordered[0],
        "rtt_max_ms": ordered[-1],
        "rtt_hist": hist(values),
        "relative_error": 0.01,
        "clock_resolution_ms": 1e-6,
        "is_settled": True,
    }


def fetch(nth, follower, leader, cluster="east", client=None):
    is_slow = (follower, leader) == SLOW and nth >= SLOW_FROM
    true = [1.5 + 0.01 * k + (20.0 if is_slow else 0.0) for k in range(40)]
    of = {
        "total": [500.0 + v for v in true],
        "remote": [499.0] * 40,
        "leader_local": [0.8] * 40,
        "true": true,
    }
    row = {
        "cluster": cluster,
        "window_start": at(nth),
        "leader_id": leader,
        "kind": "consumer" if follower is None else "follower",
        "follower_id": follower,
        "client_id": client or f"broker-{follower}-fetcher-0",
        "n": 40,
        "n_delayed": 40,
        "n_true": 40,
    }
    for name, values in of.items():
        row |= {f"{name}_hist": hist(values), f"{name}_sum_ms": sum(values)}
        row |= {f"{name}_min_ms": min(values), f"{name}_max_ms": max(values)}
        row |= {f"{name}_p50_ms": sorted(values)[19], f"{name}_p99_ms": sorted(values)[39]}
    return row


def held(nth, leader, follower, n=40):
    """Return a row: follower 3 holds the requests to broker 1 back, all others are ties."""
    is_slow = (follower, leader) == SLOW and nth >= SLOW_FROM
    of = {"held": [20.0 if is_slow else 0.2] * n, "busy": [0.0] * n, "serve": [0.3] * n, "take": [0.4] * n}
    of["network"] = [1.0 + (20.0 if is_slow else 0.0) + 0.01 * k for k in range(n)]
    of["remote"] = [0.7 + ms for ms in of["network"]]
    row = {"cluster": "east", "window_start": at(nth), "leader_id": leader, "follower_id": follower}
    row |= {"topic": "orders", "n": n, "n_released": n * is_slow, "n_tie": n * (not is_slow)}
    row |= dict.fromkeys(("n_unmatched", "n_isr_change", "n_failed", "n_not_held"), 0)
    for name, values in of.items():
        row |= {f"{name}_hist": hist([ms for ms in values if ms]) or {0: n}, f"{name}_sum_ms": sum(values)}
        row |= {f"{name}_min_ms": min(values), f"{name}_max_ms": max(values)}
    return row


def held_requests(nth):
    """Return a request that follower 3 held back in a window, with the fetches of its followers."""
    later = at(nth) + timedelta(seconds=5) - AT
    lines = [*replicated(2, 3.2), *replicated(3, 21.2), produce(0.0, 21.5)]
    apart = {"cluster": "east", "correlation_id": 100}  # of the ids of `fetch_of`
    return [
        line
        | apart
        | {"logged_at": line["logged_at"] + later}
        | ({"correlation_id": 100 + line["correlation_id"]} if line["api"] == "FETCH" else {})
        for line in lines
    ]


def culprit(nth, cluster="east"):
    is_slow = nth >= SLOW_FROM
    return {
        "cluster": cluster,
        "window_start": at(nth),
        "culprit": "link" if is_slow else "none",
        "follower_id": SLOW[0] if is_slow else None,
        "leader_id": SLOW[1] if is_slow else None,
        "effect_ms": 20.0 if is_slow else None,
        "effect_low_ms": 19.0 if is_slow else None,
        "effect_high_ms": 21.0 if is_slow else None,
        "since": at(SLOW_FROM) if is_slow else None,
        "evidence": float(nth) if is_slow else None,
        "method": "paired",
        "baseline": "own",
        "pairs_seen": 6,
        "pairs_expected": 6,
    }


def skew(nth, partition, *, client="orders-app", topic="orders", slow=1):
    """Return a row: broker 1's partition has a third of the batches and five times the latency."""
    batches = 40 if partition else 40 // slow
    produce_ms = [2.0] * batches if partition else [10.0] * batches
    return {
        "cluster": "east",
        "window_start": at(nth),
        "topic": topic,
        "partition": partition,
        "leader_id": partition + 1,
        "client_id": client,
        "software_version": "4.3.1",
        "batches": batches,
        "bytes": batches * 16_000,
        "records": batches * 100,
        "batches_counted": batches,
        "retried": 0,
        "followed": batches,
        "repeats": batches // 2,
        "largest_batch_bytes": 16_384,
        "produce_n": batches,
        "produce_sum_ms": sum(produce_ms),
        "produce_hist": hist(produce_ms),
    }


def redirect(nth, version, ms, kind="redirect", topic="orders"):
    return {
        "cluster": "east",
        "window_start": at(nth),
        "topic": topic,
        "partition": nth,
        "api": "PRODUCE",
        "kind": kind,
        "client_id": "orders-app",
        "software_version": version,
        "old_leader_id": 1,
        "new_leader_id": 2,
        "hinted": None if kind == "disconnect" else version == "4.3.1",
        "errored_at": at(nth),
        "succeeded_at": at(nth) + timedelta(milliseconds=ms),
        "redirect_ms": ms,
        "client_part_ms": ms / 4,
        "broker_part_ms": ms * 3 / 4,
        "errors_at_old_leader": 1,
        "metadata_requests": 1,
    }


def lookup(nth, version="2.4.1", client="many-topics"):
    """Return a row of a client that requests all known topics again with every eight new ones."""
    topics = list(range(8 * (nth + 1)))
    return {
        "cluster": "east",
        "window_start": at(nth),
        "client_id": client,
        "software_version": version,
        "lookups": 1,
        "all_topics_lookups": 0,
        "topics_asked": len(topics),
        "topics_asked_most": len(topics),
        "topics_answered": len(topics),
        "response_bytes": 100 * len(topics),
        "lookups_after_error": 0,
        "topics": topics,
    }


def throttle(nth, by_s, limit=1_000_000, **more):
    return {
        "cluster": "east",
        "window_start": at(nth),
        "broker_id": 1,
        "direction": "leader",
        "limit_bytes_per_s": limit,
        "limited_from": START,
        "is_listed": True,
        "throttled_bytes": sum(by_s),
        "catching_up_bytes": sum(by_s),
        "in_sync_bytes": 0,
        "unlisted_bytes": 0,
        "throttled_by_s": by_s,
        "catching_up_by_s": by_s,
        "peers": [2],
        **more,
    }


def move(nth, done, **more):
    return {
        "cluster": "east",
        "window_start": at(nth),
        "moved_at": START,
        "moved_by": "admin",
        "source_id": 1,
        "destination_id": 3,
        "partitions": 10,
        "partitions_done": done,
        "copies": 10,
        "copies_done": done,
        "bytes_moved": 10_000_000,
        "bytes_to_go": float(50_000_000 - 10_000_000 * (nth + 1)),
        "is_superseded": False,
        **more,
    }


def compared(baseline, contender, metric="p99_ms", verdict="improved", **more):
    return {
        "cluster": "east",
        "scenario": None,
        "compared_at": at(5),
        "baseline": baseline,
        "contender": contender,
        "metric": metric,
        "unit": "ms",
        "is_lower_better": True,
        "is_deciding": True,
        "verdict": verdict,
        "reason": "all of its interval lies below",
        "is_within_run_only": False,
        "change": -0.2,
        "change_low": -0.25,
        "change_high": -0.15,
        "n_baseline": 8,
        "n_contender": 8,
        "baseline_median": 100.0,
        "contender_median": 80.0,
        "tolerance": 0.05,
        "cautions": [],
        **more,
    }


def quality(broker, cluster="east"):
    return {
        "cluster": cluster,
        "kind": "request-log",
        "node": f"broker-{broker}",
        "source": f"/logs/{broker}",
        "lines_read": 1000,
        "kept": 990,
        "quarantined": 4,
        "skipped": 5,
        "duplicates": 1,
        "first_logged_at": START,
        "last_logged_at": at(WINDOWS),
        "is_balanced": True,
    }


def fetch_of(nth, *, cluster="east", follower=3, leader=1):
    """Return a fetch as logged by the leader, and the two log lines of its follower."""
    logged = at(SLOW_FROM) + timedelta(seconds=nth)
    of = {
        "cluster": cluster,
        "client_id": "broker-3-fetcher-0",
        "correlation_id": nth,
        "logged_date": logged.date(),
    }
    served = of | {
        "broker_id": leader,
        "follower_id": follower,
        "kind": "follower",
        "logged_at": logged,
        "total_ms": 500.0,
        "remote_ms": 499.0 - nth,
        "position": f"broker-{leader}/f/{nth}",
    }
    event = of | {"node_id": follower, "destination_id": leader, "api": "FETCH"}
    sent = event | {"direction": "sent", "logged_at": logged - timedelta(seconds=0.5), "logged_mono_ns": 0}
    got = event | {"direction": "received", "logged_at": logged + timedelta(seconds=0.02)}
    got |= {"logged_mono_ns": 520_500_000}
    return served, [sent, got]


def warehouse(root):
    """Write gold and its silver for two clusters: `east`, and `west` with a hostile client id."""
    pairs = [(f, lead) for f in BROKERS for lead in BROKERS if f != lead]
    write(
        root,
        BROKER_RTT,
        [
            *(
                rtt(n, *pair, method)
                for n in range(WINDOWS)
                for pair in pairs
                for method in ("paired", "passive")
            ),
            *(rtt(n, 2, 1, cluster="west") for n in range(3)),
        ],
    )
    consumers = [fetch(n, None, 2, client="app") for n in range(WINDOWS)]
    hostile = [fetch(n, None, 1, cluster="west", client=HOSTILE) for n in range(3)]
    write(root, FETCH_LATENCY, [*(fetch(n, *p) for n in range(WINDOWS) for p in pairs), *consumers, *hostile])
    write(root, BROKER_RTT_CULPRIT, [culprit(n) for n in range(WINDOWS)])
    not_held = held(0, 1, None) | {"n_tie": 0, "n_not_held": 40}
    not_held |= {name: None for name in not_held if name.endswith(("_ms", "_hist"))}
    pairs_of_produce = [(1, 3), (2, 1), (3, 1)]
    held_back = [held(n, *pair) for n in range(WINDOWS) for pair in pairs_of_produce]
    write(root, PRODUCE_HELD, [*held_back, not_held])
    baselines = [
        {
            "cluster": "east",
            "hour": START,
            "follower_id": f,
            "leader_id": lead,
            "method": "paired",
            "windows": 60,
        }
        | {"p10_ms": 1.03, "p50_ms": 1.2}
        for f, lead in pairs
    ]
    write(root, BROKER_RTT_BASELINE, baselines)
    stock = [
        {"cluster": "east", "scraped_at": at(5), "leader_id": b, "p99_ms": 510.0, "mean_ms": 499.0}
        for b in BROKERS
    ]
    write(root, STOCK_FETCH_TOTAL, stock)
    write(root, DATA_QUALITY, [*map(quality, BROKERS), quality(1, "west")])
    write(root, PARTITION_SKEW, [skew(n, p, slow=4) for n in range(10) for p in range(3)])
    events = [redirect(n, "3.6.0", 400.0 + n) for n in range(6)] + [
        redirect(n, "4.3.1", 100.0) for n in range(6)
    ]
    write(root, LEADER_REDIRECT, [*events, redirect(9, "4.3.1", 2000.0, "disconnect", topic="audit")])
    write(root, METADATA_LOOKUP, [lookup(n) for n in range(8)])
    write(root, THROTTLE_COMPLIANCE, [throttle(n, [2_000_000 if n == 2 else 900_000] * 10) for n in range(4)])
    write(root, REASSIGNMENT_PROGRESS, [move(n, 2 * n) for n in range(4)])
    outdated = compared("old", "new", verdict="regressed", reason="of the night before", compared_at=at(1))
    arms = [
        outdated,
        compared("old", "new"),
        compared("old", "new", "avg_ms", "equivalent", is_deciding=False),
    ]
    write(root, RUN_COMPARISON, [*arms, compared("old", "newer", verdict="regressed", change=0.3)])
    served, seen = zip(*(fetch_of(n) for n in range(20)), strict=True)
    write(root, REQUESTS, [*served, fetch_of(30, cluster="west")[0], *held_requests(SLOW_FROM)])
    named = {"cluster": "east", "topic_id": TOPIC_ID, "topic_name": "orders", "seen_at": START}
    write(root, TOPICS, [named])
    write(root, CLIENT_EVENTS, [event for events in seen for event in events])
    return root


def text_of(page):
    """Return all texts of a page as JSON."""
    return json.dumps(
        [part.to_plotly_json() for part in page],
        default=lambda part: part.tolist() if isinstance(part, np.ndarray) else part.to_plotly_json(),
        ensure_ascii=False,
    )
