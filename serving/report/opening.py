"""The sentence that a report opens with: who is slow, or what became of clients where that was asked."""

from collections.abc import Sequence
from dataclasses import replace

from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.clients.rows import FEW, measured, version_of, who, with_disconnects, with_redirects
from serving.report.findings import Headline, headline
from serving.report.page_text import count, ms

MIN_BATCHES = 300
"""As for the partitioner: of fewer batches no leader is called slow on top of a page."""

SQUARE = 1.5
"""Topics asked for that grow by more than this power of the new ones: each new one costs the others again."""


def opening(answers: Answers) -> Headline:
    """
    Put what was asked first: clients where runs of a client scenario say so or no link is accused.

    The links' verdict stays, as the second sentence; without a finding about clients it is the only one.
    """
    links = headline(answers.broker_rtt_culprit, answers.broker_rtt_accused, answers.broker_rtt_quiet)
    asked = {row["scenario"] for row in answers.perf_summaries}
    told = of_clients(answers)
    found = [told[name] for name in sorted(told, key=lambda name: name not in asked)]
    if not found:
        return links
    if links.finding and not asked & told.keys():
        return replace(links, small_print=[*links.small_print, *(f"Also found: {one}" for one in found)])
    others = [f"Also found: {one}" for one in found[1:]]
    return Headline(
        sentence=f"{found[0]} {links.sentence}",
        mood="alarm" if links.finding else "unsure",
        small_print=[*others, *links.small_print],
        finding=links.finding,
    )


def of_clients(answers: Answers) -> dict[str, str]:
    """Give a sentence for each question with a finding, by the scenario that asks it."""
    told = {
        "redirect": _of_redirects(with_redirects(answers), with_disconnects(answers)),
        "skew": _of_skew(measured(answers.partition_skew_summary)),
        "metadata": _of_lookups(answers.metadata_lookup),
    }
    return {name: sentence for name, sentence in told.items() if sentence}


def _of_redirects(moved: Sequence[Row], died: Sequence[Row]) -> str:
    parts = []
    if moved:
        n = sum(row["n"] + row["unfinished"] for row in moved)
        parts.append(f"Clients lost a leader that moved {_times(n)}{_range(moved)}")
    if died:
        begin = "; and" if parts else "Clients lost"
        longest = ms(max(row["disconnect_max_ms"] for row in died))
        lost = sum(row["disconnects"] for row in died)
        parts.append(f"{begin} a leader that died {_times(lost)}, for up to {longest} ms")
    return f"{''.join(parts)}." if parts else ""


def _range(moved: Sequence[Row]) -> str:
    """Tell how long the quickest and the slowest version were lost: of producers, else of consumers."""
    typical = [row for row in moved if row["n"] >= FEW and row["redirect_p50_ms"] is not None]
    of_producers = [row for row in typical if row["api"] == "PRODUCE"]
    whose, rows = ("producers", of_producers) if of_producers else ("consumers", typical)
    if not rows:
        return ""
    ends = [pick(rows, key=lambda row: row["redirect_p50_ms"]) for pick in (min, max)]
    told = " to ".join(dict.fromkeys(map(_of_version, ends)))
    return f", {whose} for {told} at the median"


def _of_version(row: Row) -> str:
    return f"{ms(row['redirect_p50_ms'])} ms ({version_of(row)}, n = {count(row['n'])})"


def _of_skew(rows: Sequence[Row]) -> str:
    judged = [row for row in rows if (row["batches"] or 0) >= MIN_BATCHES]  # NULL without a request log
    slow = [row for row in judged if row["slow_by"] is not None and row["slowest_ratio"] is not None]
    if not slow:
        return ""
    brokers = sorted({row["slowest_leader_id"] for row in slow})
    least, most = (pick(slow, key=lambda row: row["slowest_ratio"]) for pick in (min, max))
    got = f"{least['slowest_ratio']:.2f} ({who(least)})"
    if most is not least:
        got += f" to {most['slowest_ratio']:.2f} ({who(most)})"
    named = f"Broker {brokers[0]} is" if len(brokers) == 1 else f"Brokers {_listed(brokers)} are"
    of = f"{len(slow)} of {len(judged)} producers' spreads"
    return f"{named} slow for {of} over partitions, and got {got} times the others' share."


def _of_lookups(rows: Sequence[Row]) -> str:
    growing = [row for row in rows if (row["growth_exponent"] or 0.0) >= SQUARE]
    if not growing:
        return ""
    versions = sorted({version_of(row) for row in growing})
    asked = max(row["growth_exponent"] for row in growing)
    clients = "1 client asks" if len(growing) == 1 else f"{count(len(growing))} clients ask"
    return (
        f"{clients} for known topics again with each new one ({', '.join(versions)}): topics asked grow like "
        f"new topics to the power of {asked:.2f}."
    )


def _listed(ids: Sequence[int]) -> str:
    return " and ".join(", ".join(map(str, part)) for part in (ids[:-1], ids[-1:]))


def _times(n: int) -> str:
    return "once" if n == 1 else f"{count(n)} times"
