"""Delta tables of gold by hand, with rows in all of them: five quiet minutes, two with a slow link."""

import json
import math
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema, write_deltalake

from schemas.fields import Table
from schemas.gold import GOLD

QUIET_WINDOWS, SLOW_WINDOWS = 30, 12
PAIRS = [(f, leader) for f in (1, 2, 3) for leader in (1, 2, 3) if f != leader]
SLOW = (1, 3)
GAMMA = 1.01 / 0.99


def bucket(ms):
    """Give the key of a value's bucket, as docs/methods.md has it."""
    return math.ceil(math.log(ms) / math.log(GAMMA)) + 1 - math.ceil(math.log(1e-6) / math.log(GAMMA))


def arrow_schema(table: Table) -> pa.Schema:
    """Give a table's true schema, as Delta writes it."""
    told = json.loads(table.schema.json())["fields"]
    return pa.schema(Schema([Field.from_json(json.dumps(field)) for field in told]).to_arrow())


def write(root, name, rows, mode="overwrite"):
    """Write rows of a table; what a row does not tell is NULL."""
    (table,) = (table for table in GOLD if table.name == name)
    kinds = arrow_schema(table)
    whole = [dict.fromkeys(kinds.names) | {"cluster": "lab"} | row for row in rows]
    write_deltalake(root / "gold" / name, pa.Table.from_pylist(whole, schema=kinds), mode=mode)


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


def latest(root, name):
    return DeltaTable(root / "gold" / name).version()


def fill(root, end, *, quiet=QUIET_WINDOWS, silent=None, silent_windows=0, quarantined=0):  # noqa: PLR0913 (a word a fault)
    """Make gold that ends at `end`, a whole ten seconds; a broker may have been silent at its end."""
    starts = [end - 10 * (n + 1) for n in range(quiet + SLOW_WINDOWS)][::-1]
    settled = {"nodes_expected": 3, "nodes_reporting": 3, "is_settled": True}
    rtt, fetches, verdicts = [], [], []
    for nth, start in enumerate(starts):
        is_slow = nth >= quiet
        for pair in PAIRS:
            ms = 21.0 if is_slow and pair == SLOW else 1.0
            one = {"window_start": at(start), "follower_id": pair[0], "leader_id": pair[1]} | settled
            rtt.append(one | {"method": "paired", "n": 20, "rtt_p50_ms": ms, "rtt_hist": [(bucket(ms), 20)]})
            if pair[1] == silent and nth >= len(starts) - silent_windows:
                continue
            hist = [(bucket(ms), 20)]
            hists = {"total_hist": [(bucket(500.0), 20)], "leader_local_hist": hist, "true_hist": hist}
            fetches.append(one | hists | {"kind": "follower", "n": 20, "client_id": f"broker-{pair[0]}"})
        for nth_client in range(3):
            ms = 5.0 + nth_client
            hists = {"total_hist": [(bucket(ms), 5)], "leader_local_hist": [(bucket(ms), 5)]}
            told = {"window_start": at(start), "leader_id": 1, "kind": "consumer", "n": 5}
            client = {"client_id": f'app-{nth_client} "x"', "leader_local_p99_ms": ms}
            fetches.append(told | client | hists | settled)
        ms = 4.0
        hists = {"total_hist": [(bucket(400.0), 5)], "leader_local_hist": [(bucket(ms), 5)]}
        share = {"leader_id": 1, "kind": "share", "n": 5, "client_id": 'app-0 "x"', "leader_local_p99_ms": ms}
        fetches.append({"window_start": at(start)} | share | hists | settled)
        onset = {"follower_id": 1, "leader_id": 3, "effect_ms": 20.0, "effect_low_ms": 19.0,
                 "effect_high_ms": 21.0, "since": at(starts[quiet])}  # fmt: skip
        named = {"culprit": "link"} | onset if is_slow else {"culprit": "none"}
        verdicts.append({"window_start": at(start)} | named | settled)
    write(root, "broker_rtt", rtt)
    write(root, "fetch_latency", fetches)
    write(root, "broker_rtt_culprit", verdicts)
    hours = sorted({start // 3600 * 3600 for start in starts})
    write(root, "broker_rtt_baseline", [
        {"hour": at(hour), "follower_id": f, "leader_id": leader, "method": "paired", "p10_ms": 0.9,
         "p50_ms": 1.0}
        for hour in hours for f, leader in PAIRS])  # fmt: skip
    last = starts[-1]
    _fill_rest(root, last, quarantined)


def _fill_rest(root, last, quarantined):
    """Rows of the last window: a throttle left over, a move, a redirect of 3 s, skew, lookups."""
    here = {"window_start": at(last)}
    write(root, "stock_fetch_total", [
        {"scraped_at": at(last + 5), "leader_id": 1, "p50_ms": 500.0, "p99_ms": 510.0}])  # fmt: skip
    write(root, "leader_local_mean", [
        here | {"node": "broker-1", "broker_id": 1, "request": "FetchFollower", "to_at": at(last + 5),
                "leader_local_mean_ms": 1.5}])  # fmt: skip
    write(root, "partition_skew", [
        here | {"topic": "orders", "partition": n, "batches": 100, "bytes": 9_000 if n == 0 else 1_500}
        for n in range(3)])  # fmt: skip
    hist = [(bucket(1.5), 20)]
    write(root, "produce_held", [
        here | {"leader_id": 3, "follower_id": 1, "topic": "orders", "n": 20, "n_released": 20, "n_tie": 0,
                "n_not_held": 0, "held_sum_ms": 30.0, "held_hist": hist, "remote_hist": hist}])  # fmt: skip
    write(root, "leader_redirect", [
        here | {"kind": kind, "errored_at": at(last + 1), "redirect_ms": 3_000.0}
        for kind in ("redirect", "disconnect")])  # fmt: skip
    write(root, "metadata_lookup", [
        here | {"client_id": "old", "lookups": 30, "topics_asked": 3_000,
         "response_bytes": 600_000}])  # fmt: skip
    write(root, "throttle_compliance", [
        here | {"window_start": at(last - 60), "broker_id": 1, "direction": "leader", "moving_partitions": 2,
                "busy_until": at(last - 55), "limit_bytes_per_s": 1_000_000, "on_until": at(last - 50)},
        here | {"broker_id": 1, "direction": "leader", "limit_bytes_per_s": 1_000_000, "is_listed": True,
                "on_until": at(last + 10), "throttled_bytes": 600, "catching_up_bytes": 0,
                "unlisted_bytes": 0, "throttled_by_s": [60] * 10, "catching_up_by_s": [0] * 10},
        here | {"broker_id": 2, "direction": "follower", "limit_bytes_per_s": 1_000, "is_listed": True,
                "busy_until": None, "on_until": at(last + 10), "throttled_bytes": 90_000,
                "catching_up_bytes": 90_000, "unlisted_bytes": 0, "throttled_by_s": [9_000] * 10,
                "catching_up_by_s": [9_000] * 10}])  # fmt: skip
    write(root, "reassignment_progress", [
        here | {"moved_at": at(last - 90), "source_id": 1, "destination_id": 2, "bytes_moved": 6_000,
                "bytes_to_go": 5_000.0}])  # fmt: skip
    write(root, "data_quality", [
        {"kind": "request-log", "node": f"broker-{n}", "lines_read": 1_000, "quarantined": quarantined,
         "first_logged_at": at(last - 500), "source": "x"} for n in (1, 2, 3)])  # fmt: skip
