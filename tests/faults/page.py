"""docs/faults.md: what survives which fault, how that was found out, and what was not looked at."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from schemas.bronze import BRONZE
from schemas.gold import GOLD
from schemas.silver import SILVER
from tests.faults import kills, poller
from tests.faults.results import Result, bound, machine, table

HITS = "| job | place | n | in its start | inside a batch | batches done: median, most |"

ORACLES = {
    "ledger": """each record that a broker acknowledged is in bronze once, byte for byte and with its
  position, and nothing else is""",
    "account": "in silver each line of bronze is kept, quarantined or skipped, and exactly one of them",
    "logs": """the entries of the tables' logs are read as JSON, their files by delta-rs: no hole among the
  entries that are there, no batch twice among them, each file has its footer and as many rows as the log
  says""",
    "silver's twin": """every row of bronze and silver equals that of a twin, which read the same topics
  undisturbed, but for `ingested_at` and `batch_id`; of skipped lines the number by logger""",
    "gold's twin": "every row of gold equals that of the twin, but for the same two columns",
    "books": "each row of `gold.data_quality` is balanced",
    "reader": """a reader beside polls tables meanwhile: no count shrinks, no window goes, and what it sees
  ends where a batch of Spark's log does""",
}
"""What a warehouse is held against, and what each of these means."""

OF_TABLES = ("ledger", "account", "logs", "silver's twin")
OF_EDGE = ("ledger", "account", "logs", "books")
OF_KILLS = tuple(ORACLES)

AT_THE_EDGE = "topic and bronze against the log writer's own ledger; totals of gold's books"
NOT_ASKED = """how the ingest ended; no line of a producer came twice. Not asked: whether the stream goes on
before it is started again. `broker-stopped-while-all-are-away`: the topic alone""".replace("\n", " ")
STOPS = """gold's twin and books for gold's files; where the job must stop: exit code, words, that no file has
another size, and that all is well once the file was put back from a copy""".replace("\n", " ")
HELD: dict[str, tuple[tuple[str, ...], str]] = {
    "kill -9 of ingest or gold at a random moment": (OF_KILLS, "how each job ended"),
    "kill -9 at a named point": (OF_KILLS, "how each job ended"),
    "kill -9 at named points, and at random": (OF_KILLS, "how each job ended"),
    "topic replayed": (OF_EDGE, "silver has each line twice; gold but for its books is as it was before"),
    "late by hours": ((*OF_EDGE, "gold's twin"), "the twin read the same lines in order"),
    "broker faults": (
        OF_EDGE,
        f"{AT_THE_EDGE}; {NOT_ASKED}",
    ),
    "collector faults": (OF_EDGE, f"{AT_THE_EDGE}; exit code and words where it must stop"),
    "a torn, stale or missing file of the state": (
        OF_TABLES,
        STOPS,
    ),
    "retention passes the checkpoint": (
        OF_TABLES,
        "`silver.gaps` has what bronze lacks, once; what is gone or skipped is not held against the twin",
    ),
    "full-disk faults": (OF_TABLES, "the disk was full while the job ran; exit code and the folder's name"),
    "two drivers on one checkpoint": (
        OF_TABLES,
        "both were at work at once and one ended for the other; with the lease the second was refused",
    ),
    "a million mutated lines": (
        (),
        "digests kept beside the producer: bronze has each line once, silver one outcome; no batch stalls",
    ),
    "a gzip bomb of 1.5 GB": ((), "bytes in bronze, reasons in quarantine, memory of each program"),
    "drawn batches of spoiled lines": ((), "the parsers alone: each line has one outcome, none is made up"),
}
"""Of each group of faults: the oracles asked, and what else it is held against."""


def page(results: Sequence[Result], seed: int, before: Iterable[Result] = ()) -> str:
    """Make docs/faults.md; `before` are results of code that was changed since, they do not count."""
    seconds = sum(result.seconds for result in results)
    records, looks = (sum(getattr(result, name) for result in results) for name in ("records", "looks"))
    wrong = Counter(f"{result.fault} {result.nth}: {told}" for result in results for told in result.wrong)
    last = max((result.began_at for result in results), default=datetime.now(UTC).isoformat())[:10]
    commits = ", ".join(sorted({result.commit for result in results}))
    return PAGE.format(
        table=table(results),
        oracles="\n".join(f"- **{name}**: {meaning}." for name, meaning in ORACLES.items()),
        held=held_against(dict.fromkeys(result.group for result in results)),
        unpolled=", ".join(f"`{name}`" for name in unpolled()),
        unkilled=", ".join(f"`{point}`" for point in kills.NOT_IN_STEADY_WORK),
        places=places(results),
        starts=starts(results),
        before="\n".join(told_before(before)) or "None.",
        wrong="\n".join(f"- {told}" for told in wrong) or "Nothing.",
        warehouses=(n := sum(len(result.hits) > 0 for result in results if "random" in result.group)),
        by_warehouse=bound(n, 0),
        about=f"Seed {seed}, {machine()}, {last}, commit {commits}, {seconds / 60:.0f} minutes of runs.",
        read=f"{records:,} records published under steady kills; {looks:,} looks of the reader beside them.",
    )


def told_before(results: Iterable[Result]) -> list[str]:
    """Tell of each run that does not count and was wrong: which, its commit, the end of what was found."""
    return [
        f"- {result.fault} {result.nth}, commit {result.commit}: `{' '.join(result.wrong[0].split())[-200:]}`"
        for result in results
        if result.wrong
    ]


def starts(results: Iterable[Result]) -> str:
    """Say how many random kills met a job at work, and what bound these support."""
    hits = [hit for result in results for hit in result.hits if hit["how"] == "random"]
    early = sum(map(is_in_start, hits))
    n = len(hits) - early
    return STARTS.format(all=len(hits), early=early, n=n, bound=bound(n, 0), working_s=f"{kills.WORKING_S:g}")


def is_in_start(hit: dict[str, Any]) -> bool:
    """Tell of a kill by the clock whether it came before the job's first batch was done."""
    return bool(hit["how"] == "random" and not hit["batches"])


def held_against(groups: Iterable[str]) -> str:
    """Make the table of what each group of faults is held against."""
    header = ("fault", *ORACLES, "and")
    rows = [
        (group, *("x" if name in asked else "" for name in ORACLES), more)
        for group, (asked, more) in ((group, HELD[group]) for group in groups if group in HELD)
    ]
    lines = [header, ("---", *[":---:"] * len(ORACLES), "---"), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def unpolled() -> list[str]:
    """Name the tables that the reader beside does not look at."""
    polled = {*poller.RECORDS, *poller.WINDOWS}
    return [f"{of.layer}.{of.name}" for of in (*BRONZE, *SILVER, *GOLD) if of not in polled]


def places(results: Iterable[Result]) -> str:
    """Make the table of where the kills hit."""
    hits = [hit for result in results for hit in result.hits]
    by_how = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for hit in hits:
        by_how[hit["word"], hit["how"]].append(hit)
    lines = [HITS, f"|---|---|{'---:|' * (HITS.count('|') - 3)}"]
    for (word, how), of in sorted(by_how.items()):
        batches = [hit["batches"] for hit in of]
        early = sum(map(is_in_start, of))
        within = sum(hit["is_in_batch"] and not is_in_start(hit) for hit in of)
        told = f"{median(batches):g}, {max(batches)}"
        lines.append(f"| {word} | {how} | {len(of)} | {early} | {within} | {told} |")
    return "\n".join(lines)


STARTS = """Of {all} random kills {early} met a job that was still starting. The {n} others came within
{working_s} s of the first batch that it finished: the bound of these alone is {bound}."""

PAGE = """# What survives which fault

Generated by `make faults`: do not edit. {about}

{table}

n counts the faults, not the runs: a run of kills does several to one warehouse. The columns count what an
oracle found wrong: lines lost, lines doubled, totals that differ, anything else (a job that does not come
back, a table that a second reader cannot open, half of a batch seen by the reader beside). A fault that
itself destroys lines (retention, a file deleted unread) loses these: what counts is that the job tells. A
line that is published again is another record: bronze and silver have both, gold counts a duplicate.

Without a failure in n tries the share of tries that would do harm is below 3/n with 95 % confidence (rule
of three), if the tries are drawn at random and do not depend on one another. The random kills come closest
to that, though 20 of them share a warehouse; {warehouses} warehouses without a failure, taken as the unit,
support no more than {by_warehouse}. Named points, torn files, brokers, collectors and disks were chosen and
not drawn: their bound says how few tries there were, and nothing of faults that nobody thought of. All
together are a mix of our choice, so there is no bound of it.

## How it is found
{oracles}

Which of these a fault is held against:

{held}

The reader beside does not look at {unpolled}. None of the kills falls at {unkilled}: only a job that
deletes old days comes there, and no twin holds what it deletes.

The twin runs the same code: a bug that both have is not seen by it. Tables without a row on both sides are
let pass where a run makes none: `gold.broker_rtt_baseline`, and, but for kills in steady work,
`silver.topics`, `bronze.metrics` and all tables about clients: only there lines are published that tell of
producers, leaders that move and performance tests.

Each oracle in the table was shown to catch a fault planted on purpose (`tests/faults/test_oracles.py`,
`tests/faults/test_poller.py`). The run of each line above stands in `docs/faults.jsonl`.

## What was not tried
A power failure: a killed process leaves what it has written to the operating system. More than one fault at
a time. Kills at more than 60 lines/s, or of jobs that have worked for hours. At a named point the Python
process is killed, or the Python worker of a task; at random moments the job, its JVM or both. Disks that
fill up under gold, replay or maintenance. An object store.

## Where the kills hit
{places}

{starts}

{read}

## What was wrong
{wrong}

## Runs that were wrong and do not count
Product or harness were changed since, and the fault was tried again:

{before}
"""
