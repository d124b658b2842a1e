"""The part of docs/truth.md about clients: what the lab did, what was reported, and whether they agree."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from answers.leader_redirects.kip_951 import median_interval
from benchmarks.clients.judge import Deaths, PhaseRedirects, Row, Witnessed
from benchmarks.pages import render
from benchmarks.truth.judge import share

REPORTED_SHARE, HALF, WITNESS_MS = 0.9, 0.5, 2.0
WITHOUT_HINT = ("3.6.0", "3.6.2")
GROWTH = {"2.4.1": (1.8, 2.05)}
LINEAR = (0.95, 1.05)


def verdict(missed: Sequence[str]) -> str:
    r"""
    Return whether all aims of a section are met, else which are not.

    >>> verdict([]), verdict(["a: 2 of 5", "b"])
    ('All aims of this part are met.\n', '**Missed: a: 2 of 5; b.**\n')
    """
    return f"**Missed: {'; '.join(missed)}.**\n" if missed else "All aims of this part are met.\n"


def redirect_section(
    truth: Row,
    achieved_per_s: float,
    rows: Sequence[PhaseRedirects],
    pairs: Mapping[tuple[str, str, str], Sequence[Sequence[float]]],
    witness: Mapping[tuple[str, str], Sequence[Witnessed]],
) -> tuple[str, list[str]]:
    """Return each version's redirects by phase, by pair, and next to the clients' own logs; and missed aims."""
    lines = [
        f"| {row.phase} | {row.version} | {row.api} | {_codes(row.errors)} | {row.n} | {row.unfinished} | {row.p50_ms:.1f} | {row.p90_ms:.1f} | "
        f"{row.client_p50_ms:.1f} | {row.broker_p50_ms:.1f} | {row.hinted} | {row.wasted} |"
        for row in rows
    ]
    differences = [
        f"| {phase} | {api} | {name} | {_difference(of[0])} | {_difference(of[1]) if len(of) > 1 else '| |'} |"
        for (phase, api, name), of in pairs.items()
    ]
    seen = [_of_witness(phase, version, runs) for (phase, version), runs in witness.items()]
    text = render(
        "clients/redirects",
        since=truth["since"][:16],
        achieved_per_s=achieved_per_s,
        moves=_moves(truth),
        rows=lines,
        swamps=_swamps(rows),
        pairs=differences,
        consumers=_of_consumers(pairs),
        seen=seen,
    )
    one = {row.version: row for row in rows if row.phase == "one" and row.api == "PRODUCE"}
    apart = {version: _apart(runs) for (phase, version), runs in witness.items() if phase == "one"}
    return text, [*_missed_by_hints(one), *_missed_by_witness(apart)]


def _missed_by_hints(one: Mapping[str, PhaseRedirects]) -> list[str]:
    """Return the missed aims: responses have the new leader where they should, and these are faster."""
    hinted = {version: row for version, row in one.items() if version not in WITHOUT_HINT}
    missed = [
        f"no answer to {version} carries the new leader: {one[version].hinted} do"
        for version in WITHOUT_HINT
        if one[version].hinted
    ]
    missed += [
        f"each first answer to {version} carries the new leader: {row.hinted} of {row.n + row.unfinished}"
        for version, row in hinted.items()
        if row.hinted != row.n + row.unfinished
    ]
    slowest, oldest = max(row.p50_ms for row in hinted.values()), one[WITHOUT_HINT[0]].p50_ms
    quicker = f"medians of clients that get the hint are below that of {WITHOUT_HINT[0]}"
    return [*missed, *([] if slowest < oldest else [f"{quicker}: {slowest:.1f} against {oldest:.1f} ms"])]


def _missed_by_witness(apart_ms: Mapping[str, float]) -> list[str]:
    return [
        f"with one partition at a time `redirect_ms` lies within {WITNESS_MS:g} ms of {version}'s own log: "
        f"{apart:.2f} ms (median of the size)"
        for version, apart in apart_ms.items()
        if not apart <= WITNESS_MS
    ]


def _difference(values: Sequence[float]) -> str:
    if not values:
        return "0 | | "
    interval = median_interval(values)
    ends = f"{interval[0]:+.1f} to {interval[1]:+.1f}" if interval else "too few"
    return f"{len(values)} | {median(values):+.1f} | {ends}"


def _moves(truth: Row) -> str:
    counts = Counter(move["phase"] for move in truth["moves"])
    return ", ".join(f"{counts[phase]:,} ({phase})" for phase in ("one", "ten", "hundred"))


def _of_consumers(pairs: Mapping[tuple[str, str, str], Sequence[Sequence[float]]]) -> str:
    """Compare consumers with the proposal: the response to a FETCH has the new leader too."""
    intervals = {phase: median_interval(of[0]) for (phase, api, _), of in pairs.items() if api == "FETCH"}
    quicker = [phase for phase, interval in intervals.items() if interval and interval[1] < 0]
    slower = [phase for phase, interval in intervals.items() if interval and interval[0] > 0]
    return (
        f"Consumers: the newer one is quicker with {_listed(quicker)} at once, slower with {_listed(slower)} at once. A consumer's "
        "fetch waits until the one before has come back from the new leader, as a rule from its purgatory "
        "(`fetch.max.wait.ms`): that wait is in the client's part."
    )


def _listed(phases: Sequence[str]) -> str:
    return " and ".join(phases) if phases else "no number of partitions"


def _swamps(rows: Sequence[PhaseRedirects]) -> str:
    """Compare the case of 100 partitions with the expectation that the brokers are the bottleneck."""
    one, hundred = (
        [row for row in rows if (row.phase, row.api) == (phase, "PRODUCE")] for phase in ("one", "hundred")
    )
    if not one or not hundred:
        return "There are no redirects to compare."
    typical, shares, alone = (
        f"{min(values):{form}} to {max(values):{form}}"
        for values, form in (
            ([row.p50_ms for row in hundred], ",.0f"),
            ([row.broker_share for row in hundred], ".0%"),
            ([row.broker_share for row in one], ".0%"),
        )
    )
    does = "swamps" if all(row.broker_share > HALF for row in hundred) else "**does not wholly swamp**"
    return (
        f"With 100 partitions at once producers of these releases have medians of {typical} ms: the brokers' own part is {shares} of "
        f"the time ({alone} with one partition at a time) and {does} the clients'."
    )


def deaths_section(rows: Sequence[Deaths], wrong: int) -> tuple[str, list[str]]:
    """Return how many of the partitions that a client lost with a killed broker are reported as disconnects."""
    lines = [
        f"| {row.version} | {row.api} | {row.lost} | {row.reported} | {row.p50_ms:,.0f} | {row.max_ms:,.0f} |"
        for row in rows
    ]
    lost, reported = sum(row.lost for row in rows), sum(row.reported for row in rows)
    low, high = share(reported, lost)
    figures = {"rows": lines, "reported": reported, "lost": lost, "low": low, "high": high, "wrong": wrong}
    text = render("clients/deaths", **figures)
    aims = {
        f"no death of a leader is reported that did not happen: {wrong}": not wrong,
        f"{REPORTED_SHARE:.0%} of what clients lost to dead leaders is reported: {reported} of {lost}": reported
        >= REPORTED_SHARE * lost,
    }
    return text, [aim for aim, is_met in aims.items() if not is_met]


def metadata_section(truth: Row, found: Sequence[Row]) -> tuple[str, list[str]]:
    """Return what each release requested while it met new topics one after another."""
    of_client = {row["client_id"]: row for row in found}
    by_client: dict[str, list[Row]] = defaultdict(list)
    for run in truth["runs"]:
        name = run["client_version"] + (", forgets" if run["idle_ms"] else "")
        by_client[name] += [of_client[run["client_id"]]] if run["client_id"] in of_client else []
    lines, missed = [], list[str]()
    for client, rows in sorted(by_client.items()):
        growth = [row["growth_exponent"] for row in rows if row["growth_exponent"] is not None]
        lines.append(
            f"| {client} | {len(rows)} | {_range(rows, 'lookups')} | {_range(rows, 'topics_asked')} | "
            f"{_range(rows, 'response_bytes')} | {_range(rows, 'new_topics')} | {_range(rows, 'evicted_topics')} | "
            f"{min(growth, default=float('nan')):.2f} to {max(growth, default=float('nan')):.2f} |"
        )
        low, high = GROWTH.get(client, LINEAR)
        is_met = bool(growth) and all(low <= value <= high for value in growth)
        if not is_met and not client.endswith("forgets"):
            measured = ", ".join(f"{value:.2f}" for value in growth) or "not measured"
            missed.append(f"growth of {client} within {low} and {high}: {measured}")
    return render("clients/metadata", topics=truth["topics"], rows=lines), missed


def _codes(errors: Mapping[int, int]) -> str:
    return ", ".join(f"{n} x {code}" for code, n in sorted(errors.items()))


def _of_witness(phase: str, version: str, runs: Sequence[Witnessed]) -> str:
    signed = [value for run in runs for value in run.differences] or [float("nan")]
    sizes = sorted(abs(value) for value in signed)
    return (
        f"| {phase} | {version} | {sum(run.seen for run in runs)} | {sum(len(run.differences) for run in runs)} | "
        f"{median(signed):+.2f} | {median(sizes):.2f} | {sizes[int(0.95 * (len(sizes) - 1))]:.1f} |"
    )


def _apart(runs: Sequence[Witnessed]) -> float:
    """Return the median size of the differences: signs must not cancel."""
    return median([abs(value) for run in runs for value in run.differences] or [float("inf")])


def _range(rows: Sequence[Row], name: str) -> str:
    found = sorted(row[name] for row in rows)
    return f"{found[0]:,}" if found[0] == found[-1] else f"{found[0]:,} to {found[-1]:,}"
