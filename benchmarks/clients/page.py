"""The part of docs/truth.md about clients: what the lab did, what was said of it, and whether they agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.clients.judge import Deaths, Redirects, Row, Skew, Witnessed, above_all, in_order, named
from benchmarks.truth.judge import share
from reports.clients import median_interval

RIGHT_SHARE, OF_FIVE, TOLD_SHARE, HALF, WITNESS_MS = 0.7, 0.8, 0.9, 0.5, 2.0


CALIBRATION = "2026-11-23T00:40"
"""When the recording began on which the bands that name partitioners were set."""


def skew_section(runs: Sequence[Skew], since: str) -> tuple[str, bool]:
    """Tell what each arm sent to the slow broker and which partitioner was named; and whether all aims are met."""
    is_calibration = since.startswith(CALIBRATION)
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
            f"{median(run.repeat_ratio or 0 for run in of):.2f} | {median(run.stay_ratio or 0 for run in of):.2f} | "
            f"{of[0].partitioner or 'none: keys'} | {right} | "
            f"{len(of) - right - wrong} | {wrong} |"
        )
    order = in_order(runs)
    rates = sorted({rate for _, rate in order})
    held = {rate: [pair for (_, of), pair in order.items() if of == rate] for rate in rates}
    right, wrong, n = named(runs)
    low, high = share(right, n)
    is_met = all(
        sum(pair[at] for pair in of) >= OF_FIVE * len(of) for of in held.values() for at in (0, 1)
    ) and (is_calibration or (right >= RIGHT_SHARE * n and not wrong))
    text = (
        f"## Clients: partition skew beside a slow broker, recorded {since[:16]} UTC\n\n"
        "`plumbline lab run skew`: three brokers, three partitions, 512-byte records, linger 0, one broker whose "
        "responses are held 20 ms one after another (KIP-794's set-up). The slow broker's share of a run's bytes "
        "over the mean of the others; 1 is even.\n\n"
        "| arm | records/s | n | share ratio, median | lowest to highest | same again | stay | partitioner | named right "
        "| undecided | wrong |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(lines)
        + "\n\n"
        + "".join(
            f"At {rate:,.0f} records/s sticky sent the slow broker at least 3 times the others' share in "
            f"{sum(pair[0] for pair in of)} of {len(of)} rounds, and sticky > uniform > adaptive held in "
            f"{sum(pair[1] for pair in of)} (uniform above all three adaptive arms in {above_all(runs, rate)}). "
            for rate, of in held.items()
        )
        + f"Named right: {right} of {n} runs (95 % interval {low:.0%} to {high:.0%}), wrongly: {wrong}. "
        + (
            "The bands were set on this recording, so what is named here tells nothing of others.\n"
            if is_calibration
            else "The bands were set on another recording.\n"
        )
    )
    return text, is_met


def redirect_section(
    rows: Sequence[Redirects],
    pairs: Mapping[str, Sequence[float]],
    witness: Mapping[tuple[str, str], Sequence[Witnessed]],
) -> tuple[str, bool]:
    """Tell each version's redirects by phase, pair by pair, and beside the clients' own logs."""
    lines = [
        f"| {row.phase} | {row.version} | {row.api} | {_codes(row.errors)} | {row.n} | {row.unfinished} | {row.p50_ms:.1f} | {row.p90_ms:.1f} | "
        f"{row.client_p50_ms:.1f} | {row.broker_p50_ms:.1f} | {row.hinted} | {row.wasted} |"
        for row in rows
    ]
    told = []
    for name, values in pairs.items():
        if values:
            low, high = median_interval(values)
            told.append(f"| {name} | {len(values)} | {median(values):+.1f} | {low:+.1f} to {high:+.1f} |")
    seen = [_of_witness(phase, version, runs) for (phase, version), runs in witness.items()]
    one = {row.version: row for row in rows if row.phase == "one" and row.api == "PRODUCE"}
    with_hint = [row for row in one.values() if row.version not in ("3.6.0", "3.6.2")]
    without = [row for row in one.values() if row.version in ("3.6.0", "3.6.2")]
    is_met = (
        all(row.hinted == 0 for row in without)
        and all(row.hinted == row.n + row.unfinished for row in with_hint)
        and max(row.p50_ms for row in with_hint)
        < min(row.p50_ms for row in without if row.version == "3.6.0")
        and all(_apart(runs) <= WITNESS_MS for (phase, _), runs in witness.items() if phase == "one")
    )
    text = (
        "## Clients: leader redirects\n\n"
        "`plumbline lab run redirect`: four releases produce to one topic at once while preferred elections move "
        "leaders: one partition at a time, ten at a time, 100 at once with acks=all. ms from the old leader's first "
        "error to the first answer with which the new one serves.\n\n"
        "| partitions at once | client | API | first errors | n | no end | p50 | p90 | client's part p50 | broker's part p50 | hinted "
        "| wasted requests |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(lines)
        + f"\n\n{_swamps(rows)}\n\nPaired by move, one partition at a time, ms:\n\n| difference | n | median | 95 % interval |\n"
        "| --- | --- | --- | --- |\n" + "\n".join(filter(None, told)) + "\n\n"
        "Against a second witness, the producer's own log (error received to success received): "
        "`redirect_ms` minus the client's, ms.\n\n| partitions at once | client | events of the client's log | found | median "
        "difference | median of its size | p95 of its size |\n| --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(seen)
        + "\n"
    )
    return text, is_met


def _swamps(rows: Sequence[Redirects]) -> str:
    """Hold the case of 100 partitions against what is expected of it: that the brokers are waited for."""
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
        f"With 100 partitions at once the releases have medians of {typical} ms: the brokers' own part is {shares} of "
        f"the time ({alone} with one partition at a time) and {does} the clients'."
    )


def deaths_section(rows: Sequence[Deaths], wrong: int) -> tuple[str, bool]:
    """Tell how many of the partitions that a client lost with a killed broker are told as disconnects."""
    lines = [
        f"| {row.version} | {row.api} | {row.lost} | {row.told} | {row.p50_ms:,.0f} | {row.max_ms:,.0f} |"
        for row in rows
    ]
    lost, told = sum(row.lost for row in rows), sum(row.told for row in rows)
    low, high = share(told, lost)
    text = (
        "### Leaders that die\n\n"
        "In the last part of each round a broker is killed (kill -9) under the same clients. Each client loses the "
        "partitions that it led; ms from its last answer to the first of its successor.\n\n"
        "| client | API | lost | told | p50 | longest |\n| --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(lines)
        + f"\n\nTold: {told} of {lost} (95 % interval {low:.0%} to {high:.0%}); told of partitions that nobody lost: "
        f"{wrong}. The partitions of a round share one death, so the "
        "interval is narrower than so many deaths would give.\n"
    )
    return text, not wrong and told >= TOLD_SHARE * lost


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
        f"`plumbline lab run metadata`: producers meet {n:,} topics one after another; 2.4.1 asks for all it has at "
        "each, since 2.5 for the new one alone (KIP-526). The last client forgets topics that it leaves alone for "
        "5 s. Growth: topics asked in total ~ new topics to that power.\n\n"
        "| client | rounds | lookups | topics asked | bytes answered | new topics | let go | growth |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(lines) + "\n"
    )
    return text, is_met


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
    """Give the median size of the differences: signs must not cancel."""
    return median([abs(value) for run in runs for value in run.differences] or [float("inf")])


def _range(rows: Sequence[Row], name: str) -> str:
    found = sorted(row[name] for row in rows)
    return f"{found[0]:,}" if found[0] == found[-1] else f"{found[0]:,} to {found[-1]:,}"
