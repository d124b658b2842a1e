"""What became of every line: counts by source, quarantined lines, and skipped lines by logger."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from answers import formats, listing
from answers.gold.reader import QueryRows
from answers.gold.relations import now_of_answers
from answers.gold.selection import GoldSelection
from answers.listing import Column, Listing
from schemas.rows import Row

BALANCE = ("lines_read", "kept", "quarantined", "skipped", "duplicates")
"""The counts of lines; the first is the sum of the others."""

LATE_S = 30
"""A node whose newest line is this much older than that of another node is late."""

MOST_QUARANTINED = 0.01
"""The maximum share of lines in quarantine without a warning."""

PREVIEW_BYTES = 160
MOST_LISTED_A_REASON, MOST_REASONS = 50, 3

BY_SOURCE = "SELECT * FROM gold.data_quality WHERE cluster = $cluster ORDER BY kind, node, source"
QUARANTINED = f"""
    SELECT reason, kind, node, source, position, detail, value[1:{PREVIEW_BYTES}] AS preview
    FROM silver.quarantine WHERE cluster = $cluster
    QUALIFY row_number() OVER (PARTITION BY reason ORDER BY source, position) <= {MOST_LISTED_A_REASON}
    ORDER BY reason, source, position"""
MISPLACED = """
    SELECT DISTINCT source FROM silver.quarantine
    WHERE cluster = $cluster AND reason = 'node_is_another_replica' ORDER BY source"""
BY_REASON = """
    SELECT reason, count(DISTINCT position) AS lines FROM silver.quarantine WHERE cluster = $cluster
    GROUP BY reason ORDER BY reason"""
# The newest result of each rule and time range; a result has no cluster. `checked_at` may be after the span.
FAILED = """
    SELECT layer, table_name, rule, max(about) AS about, min(span_start) AS since, max(span_end) AS until,
           sum(rows_seen)::BIGINT AS rows_seen, sum(rows_failed)::BIGINT AS rows_failed,
           max(checked_at) AS checked_at, flatten(list(examples)) AS examples
    FROM (
        SELECT * FROM gold.quality_results
        WHERE (span_start IS NULL OR span_start < $end) AND (span_end IS NULL OR span_end > $begin)
        QUALIFY row_number() OVER (
            PARTITION BY layer, table_name, rule, span_start, span_end ORDER BY checked_at DESC) = 1
    )
    WHERE NOT is_passed GROUP BY layer, table_name, rule ORDER BY layer, table_name, rule"""
BY_LOGGER = """
    SELECT logger, reason, sum(lines)::BIGINT AS lines FROM silver.skipped WHERE cluster = $cluster
    GROUP BY logger, reason ORDER BY logger, reason"""
# Results of one check run have equal instants; the newest result of each rule and span counts.
RULE_RESULTS = """
    SELECT * FROM gold.quality_results
    WHERE span_start IS NULL OR (span_start < $until AND span_end > $since)
    QUALIFY row_number() OVER (
        PARTITION BY layer, table_name, rule, span_start, span_end ORDER BY checked_at DESC) = 1
    ORDER BY layer, table_name, rule, span_start"""


def by_source(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.data_quality`."""
    return selection.rows(BY_SOURCE)


def quarantined(selection: GoldSelection) -> list[Row]:
    """Return the first lines of each reason, with their first bytes as text."""
    return [{**row, "preview": preview(row["preview"])} for row in selection.rows(QUARANTINED)]


def misplaced_sources(selection: GoldSelection) -> QueryRows:
    """Return the sources with lines of another broker."""
    return selection.rows(MISPLACED)


def quarantined_by_reason(selection: GoldSelection) -> QueryRows:
    """Return the number of quarantined lines of each reason; a re-sent line counts once."""
    return selection.rows(BY_REASON)


def failed_rules(selection: GoldSelection) -> QueryRows:
    """Return the rules whose newest check failed for a part of the span, of all clusters."""
    return selection.rows(FAILED, begin=selection.since, end=selection.until)


def skipped_by_logger(selection: GoldSelection) -> QueryRows:
    """Return the number of skipped lines of each logger and reason."""
    return selection.rows(BY_LOGGER)


def rule_results(selection: GoldSelection) -> QueryRows:
    """Return the newest result of each rule between the layers, of spans that overlap."""
    return selection.rows(RULE_RESULTS)


def preview(value: bytes | None) -> str:
    r"""
    Return the first bytes of a line as text that no terminal or page executes.

    >>> preview(b"caf\xc3\xa9\tx\x00\xff")
    'café\\tx\\x00\\xff'
    """
    return formats.printable((value or b"").decode("utf-8", errors="backslashreplace"))


def totals_of(sources: Sequence[Row]) -> dict[str, int]:
    """Return the counts of all sources together."""
    return {name: sum(row.get(name) or 0 for row in sources) for name in BALANCE}


def is_balanced(totals: Mapping[str, int]) -> bool:
    """Return whether the counts add up."""
    return totals["lines_read"] == sum(totals[name] for name in BALANCE[1:])


def freshness(sources: Sequence[Row]) -> list[Row]:
    """Return one row per node and kind: counts, and `behind_s`, its delay after the newest line of all."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in sources:
        groups.setdefault((row["node"] or "?", row["kind"] or "?"), []).append(row)
    ends, now = _instants(sources, "last_logged_at"), now_of_answers()
    # A line from the future is of a wrong clock: it does not make the lines of all other nodes late.
    newest = max((end for end in ends if end <= now), default=max(ends, default=None))
    return [
        {
            "node": node,
            "kind": kind,
            "first_logged_at": min(_instants(rows, "first_logged_at"), default=None),
            "last_logged_at": _newest(rows),
            "behind_s": _seconds(_newest(rows), newest),
            **totals_of(rows),
        }
        for (node, kind), rows in sorted(groups.items())
    ]


def doubts(
    sources: Sequence[Row],
    reasons: Sequence[Row],
    misplaced_rows: Sequence[Row],
    files: Sequence[Mapping[str, object]],
) -> list[str]:
    """Return a sentence about many quarantined lines, and for each misplaced and each empty file."""
    return [
        *many_quarantined(totals_of(sources), reasons),
        *misplaced(misplaced_rows).values(),
        *(f"{file['path']} is empty" for file in files if not file["lines"]),
    ]


def misplaced(rows: Sequence[Row]) -> dict[str, str]:
    """Return the sentence about each row of `misplaced_sources`, by source."""
    return {
        row["source"]: f"{row['source']} holds lines of another broker (node_is_another_replica), and its "
        "other lines are counted as this broker's; check the folder, or use --node PATTERN=ID"
        for row in rows
    }


def many_quarantined(totals: Mapping[str, int], reasons: Sequence[Row]) -> list[str]:
    """Return the sentence about the share of lines in quarantine, if it is above `MOST_QUARANTINED`."""
    lines, bad = totals["lines_read"], totals["quarantined"]
    if bad <= MOST_QUARANTINED * lines:
        return []
    most = sorted(reasons, key=lambda row: -row["lines"])[:MOST_REASONS]
    named = ", ".join(f"{row['reason']} {formats.count(row['lines'])}" for row in most)
    share = formats.percent(bad / max(lines, bad))
    return [f"{formats.count(bad)} of {formats.count(lines)} lines ({share}) are in quarantine: {named}"]


def _instants(rows: Sequence[Row], name: str) -> list[datetime]:
    return [row[name] for row in rows if row.get(name) is not None]


def _newest(rows: Sequence[Row]) -> datetime | None:
    return max(_instants(rows, "last_logged_at"), default=None)


def _seconds(last: datetime | None, newest: datetime | None) -> float | None:
    return None if last is None or newest is None else max(0.0, (newest - last).total_seconds())


def _failed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row["is_passed"]]


_QUARANTINED = listing.count("quarantined", "quarantined", is_alarm=lambda row: bool(row["quarantined"]))
NODES = Listing(
    name="nodes",
    title="Freshness of each node",
    rows=freshness,
    columns=(
        listing.text("node", "node"),
        listing.text("kind", "kind"),
        listing.instant("first line, UTC", "first_logged_at", in_terminal=False),
        listing.instant("last line, UTC", "last_logged_at"),
        listing.count("after the newest s", "behind_s", is_alarm=lambda row: (row["behind_s"] or 0) > LATE_S),
        listing.count("lines read", "lines_read"),
        listing.count("kept", "kept"),
        _QUARANTINED,
    ),
)
SOURCES = Listing(
    name="sources",
    is_folded=True,
    title="Sources",
    columns=(
        listing.text("source", "source", style="path mono"),
        listing.text("node", "node", in_terminal=False),
        listing.text("kind", "kind", in_terminal=False),
        listing.count("lines read", "lines_read"),
        listing.count("kept", "kept"),
        _QUARANTINED,
        listing.count("skipped", "skipped"),
        listing.count("duplicates", "duplicates"),
    ),
    about={
        "kept": "Lines that became a row.",
        "skipped": ("Lines of other loggers in the same file; never a line with `Completed request:`."),
        "duplicates": "Lines that were delivered twice.",
    },
    notes=("Quarantined lines could not be parsed; they are kept with their bytes and a reason.",),
)
FAILED_RULES = Listing(
    name="broken-rules",
    title="Failed rules between the layers",
    rows=_failed,
    columns=(
        Column(
            "table",
            lambda row: f"{formats.text(row['layer'])}.{formats.text(row['table_name'])}",
            is_text=True,
        ),
        listing.text("rule", "rule"),
        listing.instant("from, UTC", "span_start"),
        listing.instant("until, UTC", "span_end", in_terminal=False),
        listing.count("rows", "rows_seen"),
        listing.count("failed", "rows_failed", style="hot"),
        listing.text("expected", "about", style="path", in_terminal=False),
        Column(
            "example",
            lambda row: row["examples"][0] if row["examples"] else "",
            "examples",
            is_text=True,
            style="path mono",
            in_terminal=False,
        ),
    ),
)
REASONS = Listing(
    name="reasons",
    title="Quarantined lines by reason",
    columns=(listing.text("reason", "reason"), listing.count("lines", "lines")),
)
QUARANTINE = Listing(
    name="quarantined",
    title="Quarantined lines",
    columns=(
        listing.text("reason", "reason"),
        listing.text("detail", "detail", style="path"),
        listing.text("source", "source", style="path mono"),
        listing.text("position", "position", style="path mono"),
        listing.text("begins with", "preview", style="path mono", in_terminal=False),
    ),
)
SKIPPED = Listing(
    name="skipped",
    is_folded=True,
    title="Skipped lines by logger",
    columns=(
        listing.text("logger", "logger", style="path mono"),
        listing.text("reason", "reason"),
        listing.count("lines", "lines"),
    ),
)
NOT_UNDERSTOOD = Listing(
    name="not-understood",
    title="Files of unknown format",
    columns=(listing.text("file", "path", style="path mono"), listing.text("reason", "reason")),
)
