"""The part of docs/truth.md about clients: what the lab did, what was said of it, and whether they agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.clients.judge import Redirects, Row, Skew, in_order, named
from benchmarks.truth.judge import share

RIGHT_SHARE, OF_FIVE, WITNESS_MS = 0.7, 0.8, 2.0


def skew_section(runs: Sequence[Skew]) -> tuple[str, bool]:
    """Set each arm's share of the slow broker beside the KIP's claim; tell whether all aims are met."""
    arms: dict[tuple[str, float], list[Skew]] = defaultdict(list)
    for run in runs:
        arms[run.arm, run.records_per_s].append(run)
    lines = []
    for (arm, rate), of in arms.items():
        ratios = sorted(run.slow_ratio for run in of)
        right = sum(run.said == run.partitioner for run in of)
        wrong = sum(run.said not in (None, run.partitioner) for run in of)
        lines.append(
            f"| {arm} | {rate:,.0f} | {len(of)} | {median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} | "
            f"{median(run.repeat_ratio or 0 for run in of):.2f} | {of[0].partitioner or 'none: keys'} | {right} | "
            f"{len(of) - right - wrong} | {wrong} |"
        )
    order = in_order(runs)
    thrice, sorted_right = (sum(pair[at] for pair in order.values()) for at in (0, 1))
    right, wrong, n = named(runs)
    low, high = share(right, n)
    is_met = (
        thrice >= OF_FIVE * len(order)
        and sorted_right >= OF_FIVE * len(order)
        and right >= RIGHT_SHARE * n
        and not wrong
    )
    text = (
        "## Clients: partition skew beside a slow broker\n\n"
        "`plumbline lab run skew`: three brokers, three partitions, 512-byte records, linger 0, one broker whose "
        "responses are held 20 ms one after another (KIP-794's set-up). The slow broker's share of a run's bytes "
        "over the mean of the others; 1 is even.\n\n"
        "| arm | records/s | n | share ratio, median | lowest to highest | same again | partitioner | named right | undecided "
        "| wrong |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(lines)
        + "\n\n"
        f"Sticky sent the slow broker at least 3 times the others' share in {thrice} of {len(order)} rounds, and "
        f"sticky > uniform > adaptive held in {sorted_right} of {len(order)}. Named right: {right} of {n} runs "
        f"(95 % interval {low:.0%} to {high:.0%}), wrongly: {wrong}.\n"
    )
    return text, is_met


def redirect_section(
    rows: Sequence[Redirects], pairs: Mapping[str, Sequence[float]], witness: Mapping[str, Sequence[float]]
) -> tuple[str, bool]:
    """Tell each version's redirects by phase, pair by pair, and beside the clients' own logs."""
    lines = [
        f"| {row.phase} | {row.version} | {row.api} | {_codes(row.errors)} | {row.n} | {row.unfinished} | {row.p50_ms:.1f} | {row.p90_ms:.1f} | "
        f"{row.client_p50_ms:.1f} | {row.broker_p50_ms:.1f} | {row.hinted} | {row.wasted} |"
        for row in rows
    ]
    told = []
    for name, values in pairs.items():
        low, high = median_interval(values)
        told.append(
            f"| {name} | {len(values)} | {median(values):+.1f} | {low:+.1f} to {high:+.1f} |"
            if values
            else ""
        )
    seen = [
        f"| {version} | {len(values)} | {median(values):+.2f} | {_spread(values)} |"
        for version, values in witness.items()
        if values
    ]
    one = {row.version: row for row in rows if row.phase == "one" and row.api == "PRODUCE"}
    with_hint = [row for row in one.values() if row.version not in ("3.6.0", "3.6.2")]
    without = [row for row in one.values() if row.version in ("3.6.0", "3.6.2")]
    is_met = (
        all(row.hinted == 0 for row in without)
        and all(row.hinted == row.n + row.unfinished for row in with_hint)
        and max(row.p50_ms for row in with_hint)
        < min(row.p50_ms for row in without if row.version == "3.6.0")
        and all(abs(median(values)) <= WITNESS_MS for values in witness.values() if values)
    )
    text = (
        "## Clients: leader redirects\n\n"
        "`plumbline lab run redirect`: four releases produce to one topic at once while preferred elections move "
        "leaders: one partition at a time, ten at a time, 100 at once with acks=all. ms from the old leader's first "
        "error to the first request that the new one serves.\n\n"
        "| partitions at once | client | API | first errors | n | no end | p50 | p90 | client's part p50 | broker's part p50 | hinted "
        "| wasted requests |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(lines)
        + "\n\nPaired by move, one partition at a time, ms:\n\n| difference | n | median | 95 % interval |\n"
        "| --- | --- | --- | --- |\n" + "\n".join(filter(None, told)) + "\n\n"
        "Against a second witness, the producer's own log (error received to the sending of what was served): "
        "`redirect_ms` minus the client's, ms.\n\n| client | n | median | p5 to p95 |\n| --- | --- | --- | --- |\n"
        + "\n".join(seen)
        + "\n"
    )
    return text, is_met


def metadata_section(truth: Row, found: Sequence[Row]) -> tuple[str, bool]:
    """Tell what each release asked for while it met new topics one after another."""
    of_client = {row["client_id"]: row for row in found}
    by_client: dict[str, list[Row]] = defaultdict(list)
    for run in truth["runs"]:
        name = run["client_version"] + (", forgets" if run["idle_ms"] else "")
        by_client[name] += [of_client[run["client_id"]]] if run["client_id"] in of_client else []
    lines, is_met = [], True
    for client, rows in sorted(by_client.items()):
        growth = [row["growth_exponent"] for row in rows if row["growth_exponent"] is not None]
        lines.append(
            f"| {client} | {len(rows)} | {_range(rows, 'lookups')} | {_range(rows, 'topics_asked')} | "
            f"{_range(rows, 'response_bytes')} | {_range(rows, 'new_topics')} | {_range(rows, 'evicted_topics')} | "
            f"{min(growth, default=float('nan')):.2f} to {max(growth, default=float('nan')):.2f} |"
        )
        if not client.endswith("forgets"):
            wanted = (1.8, 2.05) if client == "2.4.1" else (0.95, 1.05)
            is_met &= bool(growth) and all(wanted[0] <= value <= wanted[1] for value in growth)
    n = truth["topics"]
    text = (
        "## Clients: metadata lookups\n\n"
        f"`plumbline lab run metadata`: producers meet {n} topics one after another; 2.4.1 asks for all it has at "
        "each, since 2.5 for the new one alone (KIP-526). The last client forgets topics that it leaves alone for "
        "5 s. Growth: topics asked in total ~ new topics to that power.\n\n"
        "| client | rounds | lookups | topics asked | bytes answered | new topics | let go | growth |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(lines) + "\n"
    )
    return text, is_met


def _codes(errors: Mapping[int, int]) -> str:
    return ", ".join(f"{n} x {code}" for code, n in sorted(errors.items()))


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """
    Give the 95 % interval of the median by order statistics, whatever the distribution.

    >>> median_interval([float(n) for n in range(1, 31)])
    (10.0, 21.0)
    """
    ordered, n = sorted(values), len(values)
    if not n:
        return float("nan"), float("nan")
    reach = 0.98 * n**0.5
    low, high = max(0, int(n / 2 - reach - 0.5) + 1), min(n - 1, int(n / 2 + reach + 0.5) - 1)
    return ordered[min(low, high)], ordered[max(low, high)]


def _spread(values: Sequence[float]) -> str:
    ordered = sorted(values)
    return f"{ordered[int(0.05 * (len(ordered) - 1))]:+.2f} to {ordered[int(0.95 * (len(ordered) - 1))]:+.2f}"


def _range(rows: Sequence[Row], name: str) -> str:
    found = sorted(row[name] for row in rows)
    return f"{found[0]:,}" if found[0] == found[-1] else f"{found[0]:,} to {found[-1]:,}"
