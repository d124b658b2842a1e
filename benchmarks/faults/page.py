"""Write docs/faults.md: the results of the fault campaign, its oracles, and its limits."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from benchmarks.faults import kills, poller
from benchmarks.faults.results import CODE, Result, bound, table
from benchmarks.pages import render
from schemas.bronze import BRONZE
from schemas.gold import GOLD
from schemas.silver import SILVER

NEMESIS = "nemesis"
"""The section that `make nemesis` writes; it stays when the campaign writes the page."""

HITS = "| job | place | n | in its start | inside a batch | batches done: median, most |"

ORACLES = {
    "ledger": """bronze has each record that a broker acknowledged exactly once, byte for byte and with its
  position, and no other records""",
    "account": "in silver each line of bronze is either kept, quarantined or skipped, exactly once",
    "logs": """the Delta log entries are read as JSON and the data files with delta-rs: no version is missing,
  no batch is committed twice, each file has its footer and the number of rows in the log""",
    "silver's twin": """every row of bronze and silver equals that of a twin, which reads the same topics
  undisturbed, except `ingested_at`, `batch_id` and `first_at`; skipped lines are compared by number and
  logger, and topics, brokers and listeners by their keys: their rows are of the first line that was read""",
    "gold's twin": "every row of gold equals that of the twin, except the same columns",
    "books": "each row of `gold.data_quality` is balanced",
    "reader": """a concurrent reader polls the tables: no count shrinks, no window disappears, and the visible
  rows always end at the end of a batch in Spark's offset log""",
}
"""The oracles, with their meaning."""

OF_TABLES = ("ledger", "account", "logs", "silver's twin")
OF_EDGE = ("ledger", "account", "logs", "books")
OF_KILLS = tuple(ORACLES)

AT_THE_EDGE = "topic and bronze against the log writer's ledger; totals of `gold.data_quality`"
NOT_CHECKED = """how the ingest ended; the producer duplicated no line. Not checked: whether the stream
continues without a restart. `broker-stopped-while-all-are-away`: only the topic""".replace("\n", " ")
STOPS = """gold's twin and books for gold's files; if the job must stop: exit code, message, unchanged file
sizes, and success after the file is restored from a copy""".replace("\n", " ")
CUTS = """after each cut the audit repairs what is left, and bronze has each line up to the offset at which the
ingest would continue; after some cuts ingest, gold and `maintain` start again""".replace("\n", " ")
HELD: dict[str, tuple[tuple[str, ...], str]] = {
    "kill -9 of ingest or gold at a random moment": (OF_KILLS, "how each job ended"),
    "kill -9 at a named point": (OF_KILLS, "how each job ended"),
    "power cuts": (
        OF_KILLS[:-1],
        CUTS,
    ),
    "kill -9 at named points, and at random": (OF_KILLS, "how each job ended"),
    "topic replayed": (OF_EDGE, "silver has each line twice; gold is unchanged except `gold.data_quality`"),
    "late by hours": ((*OF_EDGE, "gold's twin"), "the twin read the same lines in order"),
    "broker faults": (
        OF_EDGE,
        f"{AT_THE_EDGE}; {NOT_CHECKED}",
    ),
    "collector faults": (OF_EDGE, f"{AT_THE_EDGE}; exit code and message if it must stop"),
    "a torn, stale or missing file of the state": (
        OF_TABLES,
        STOPS,
    ),
    "retention passes the checkpoint": (
        OF_TABLES,
        "`silver.gaps` has each missing offset range once; deleted and skipped lines are not compared",
    ),
    "full-disk faults": (
        OF_TABLES,
        "the disk was full while the job ran; exit code; the message names the folder",
    ),
    "two drivers on one checkpoint": (
        OF_TABLES,
        "both worked at once and one ended because of the other; with the lease the second was refused",
    ),
    "a million mutated lines": (
        (),
        "the producer's digests: bronze has each line once, silver one outcome; no batch stalls",
    ),
    "a gzip bomb of 1.5 GB": ((), "bytes in bronze, reasons in quarantine, memory of each program"),
    "drawn batches of spoiled lines": ((), "only the parsers: each line has one outcome, none is invented"),
}
"""The oracles of each group of faults, and its additional checks."""


def page(results: Sequence[Result], seed: int, before: Iterable[Result] = ()) -> str:
    """Return docs/faults.md; `before` are results of older code, which do not count."""
    seconds = sum(result.seconds for result in results)
    records, looks = (sum(getattr(result, name) for result in results) for name in ("records", "looks"))
    wrong = Counter(
        f"{result.fault} {result.number}: {failure}" for result in results for failure in result.wrong
    )
    return render(
        "faults",
        table=table(results),
        oracles="\n".join(f"- **{name}**: {meaning}." for name, meaning in ORACLES.items()),
        held=held_against(dict.fromkeys(result.group for result in results)),
        unpolled=", ".join(f"`{name}`" for name in unpolled()),
        unkilled=", ".join(f"`{point}`" for point in kills.NOT_IN_STEADY_WORK),
        places=places(results),
        starts=starts(results),
        before="\n".join(failures_before(before)) or "None.",
        wrong="\n".join(f"- {failure}" for failure in wrong) or "Nothing.",
        warehouses=(n := sum(len(result.hits) > 0 for result in results if "random" in result.group)),
        by_warehouse=bound(n, 0),
        about=f"Seed {seed}, {len(results)} runs, {seconds / 60:.0f} minutes of runs, {at_once(results)} at once.",
        origins="\n".join(origins(results)),
        code=", ".join(f"`{name}`" for name in CODE),
        read=f"{records:,} records were published under steady kills; the reader polled {looks:,} times.",
    )


def origins(results: Iterable[Result]) -> list[str]:
    """Return a line for each commit and machine that results come from, the newest last."""
    runs = defaultdict[tuple[str, str], list[Result]](list)
    for result in sorted(results, key=lambda result: result.began_at):
        runs[result.commit, result.machine].append(result)
    return [
        f"- Commit {commit}: {len(made)} runs, {_dates(made)}{machine and f', on {machine}'}."
        for (commit, machine), made in runs.items()
    ]


def _dates(results: Sequence[Result]) -> str:
    first, last = results[0].began_at[:10], results[-1].began_at[:10]
    return first if first == last else f"{first} to {last}"


def at_once(results: Iterable[Result]) -> str:
    """Return how many runs shared the machine, the least and the most."""
    counts = {result.at_once for result in results} or {1}
    return f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"


def failures_before(results: Iterable[Result]) -> list[str]:
    """Return a line for each failed run that does not count: its fault, its commit and its first failure."""
    return [
        f"- {result.fault} {result.number}, commit {result.commit}: `{' '.join(result.wrong[0].split())[-200:]}`"
        for result in results
        if result.wrong
    ]


def starts(results: Iterable[Result]) -> str:
    """Return how many random kills hit a job at work, and the bound that they support."""
    hits = [hit for result in results for hit in result.hits if hit["how"] == "random"]
    early = sum(map(is_in_start, hits))
    n = len(hits) - early
    return STARTS.format(all=len(hits), early=early, n=n, bound=bound(n, 0), working_s=f"{kills.WORKING_S:g}")


def is_in_start(hit: dict[str, Any]) -> bool:
    """Return whether a random kill hit before the job's first batch was finished."""
    return bool(hit["how"] == "random" and not hit["batches"])


def held_against(groups: Iterable[str]) -> str:
    """Return the table of the oracles and checks of each group of faults."""
    header = ("fault", *ORACLES, "and")
    rows = [
        (group, *("x" if name in oracles else "" for name in ORACLES), more)
        for group, (oracles, more) in ((group, HELD[group]) for group in groups if group in HELD)
    ]
    lines = [header, ("---", *[":---:"] * len(ORACLES), "---"), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def unpolled() -> list[str]:
    """Return the tables that the concurrent reader does not poll."""
    polled = {*poller.RECORDS, *poller.WINDOWS}
    return [f"{table.layer}.{table.name}" for table in (*BRONZE, *SILVER, *GOLD) if table not in polled]


def places(results: Iterable[Result]) -> str:
    """Return the table of the places of the kills."""
    hits = [hit for result in results for hit in result.hits]
    by_how = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for hit in hits:
        by_how[hit["word"], hit["how"]].append(hit)
    lines = [HITS, f"|---|---|{'---:|' * (HITS.count('|') - 3)}"]
    for (word, how), group in sorted(by_how.items()):
        batches = [hit["batches"] for hit in group]
        early = sum(map(is_in_start, group))
        within = sum(hit["is_in_batch"] and not is_in_start(hit) for hit in group)
        done = f"{median(batches):g}, {max(batches)}"
        lines.append(f"| {word} | {how} | {len(group)} | {early} | {within} | {done} |")
    return "\n".join(lines)


STARTS = """Of {all} random kills, {early} hit a job that was still starting. The other {n} came within
{working_s} s of its first finished batch; the bound of these alone is {bound}."""
