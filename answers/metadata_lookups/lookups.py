"""A6: what metadata lookups cost each client, and how the cost grows with its topics."""

from collections.abc import Sequence

from answers import listing
from answers.clients import UNNAMED, version_of, with_short_runs
from answers.formats import count
from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, NO_CLIENT, OF_CLIENT, WINDOW_END, GoldSelection
from answers.listing import Listing
from schemas.rows import Row

MIN_POINTS, MIN_TOPICS = 5, 16
"""The minimum number of windows with new topics, and of topics, for a growth exponent."""

SQUARE = 1.5
"""Above this growth exponent, each new topic costs the known topics again."""

_CLIENT = "cluster, client_id, software_version, run"
_PICKED = f"""
    SELECT * REPLACE (coalesce(client_id, {NO_CLIENT}) AS client_id,
                      coalesce(software_version, '') AS software_version, coalesce(run, '') AS run)
    FROM gold.metadata_lookup WHERE {IN_SPAN} AND {OF_CLIENT}"""
_SUMS = ", ".join(
    f"sum({name})::BIGINT AS {name}"
    for name in (
        "lookups",
        "all_topics_lookups",
        "topics_asked",
        "topics_answered",
        "response_bytes",
        "lookups_after_error",
    )
)
# Only windows with new topics are points, because refreshes grow with time and not with topics.
LOOKUPS = f"""
    WITH picked AS ({_PICKED}),
    topics_first AS (
        SELECT {_CLIENT}, topic, min(window_start) AS window_start
        FROM (SELECT {_CLIENT}, window_start, unnest(topics) AS topic FROM picked) GROUP BY ALL
    ),
    first AS (SELECT {_CLIENT}, window_start, count(*) AS new FROM topics_first GROUP BY ALL),
    points AS (
        SELECT {_CLIENT}, new, sum(new) OVER so_far AS x, sum(topics_asked) OVER so_far AS y
        FROM picked LEFT JOIN first USING ({_CLIENT}, window_start)
        WINDOW so_far AS (PARTITION BY {_CLIENT} ORDER BY window_start ROWS UNBOUNDED PRECEDING)
    ),
    growth AS (
        SELECT {_CLIENT}, CASE WHEN count(*) >= {MIN_POINTS} AND max(x) >= {MIN_TOPICS}
                               THEN regr_slope(ln(y), ln(x)) END AS growth_exponent
        FROM points WHERE new > 0 AND x > 1 AND y > 0 GROUP BY ALL
    ),
    sums AS (
        SELECT {_CLIENT}, max(arm) AS arm, min(window_start) AS since,
               max({WINDOW_END}) AS until,
               max(topics_asked_most) AS topics_asked_most, {_SUMS}
        FROM picked GROUP BY ALL
    ),
    new AS (SELECT {_CLIENT}, sum(new)::BIGINT AS new_topics FROM first GROUP BY ALL)
    SELECT sums.* REPLACE (
               nullif(sums.client_id, {NO_CLIENT}) AS client_id,
               nullif(sums.software_version, '') AS software_version, nullif(sums.run, '') AS run),
           coalesce(new_topics, 0) AS new_topics, growth_exponent,
           ratio(lookups, new_topics) AS lookups_per_new_topic,
           ratio(topics_asked, lookups - all_topics_lookups) AS topics_per_lookup,
           ratio(1000 * response_bytes, new_topics) AS bytes_per_1000_new_topics
    FROM sums LEFT JOIN new USING ({_CLIENT}) LEFT JOIN growth USING ({_CLIENT})
    ORDER BY client_id, software_version, run"""
TOPICS = f"""
    SELECT client_id, software_version, run, topics FROM gold.metadata_lookup
    WHERE {IN_SPAN} AND {OF_CLIENT} AND len(topics) > 0 ORDER BY window_start"""
WINDOWS = f"""
    SELECT * EXCLUDE (topics) FROM gold.metadata_lookup WHERE {IN_SPAN} AND {OF_CLIENT}
    ORDER BY window_start, client_id"""
STEPS = f"""
    SELECT client_id, software_version, run, max(arm) AS arm,
           time_bucket(to_seconds($step_s), window_start) AS window_start,
           sum(lookups)::BIGINT AS lookups, sum(all_topics_lookups)::BIGINT AS all_topics_lookups,
           sum(topics_asked)::BIGINT AS topics_asked
    FROM gold.metadata_lookup WHERE {IN_SPAN} AND {OF_CLIENT}
    GROUP BY client_id, software_version, run, time_bucket(to_seconds($step_s), window_start)
    ORDER BY window_start, client_id, software_version, run"""


def lookups(selection: GoldSelection) -> QueryRows:
    """Return `metadata_lookup_summary`: one row per client."""
    evicted, rows = evicted_topics(selection.rows(TOPICS)), selection.rows(LOOKUPS)
    return rows.replaced({**row, "evicted_topics": evicted.get(_client(row), 0)} for row in rows)


def windows(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.metadata_lookup` without the topics."""
    return selection.rows(WINDOWS)


def over_time(selection: GoldSelection) -> QueryRows:
    """Return each client's lookups step by step."""
    return selection.rows(STEPS)


def evicted_topics(windows: Sequence[Row]) -> dict[tuple[str | None, ...], int]:
    """
    Return the number of evicted topics of each client, from a simulation of its metadata cache.

    A window that requests a cached topic is a refresh, and the topics that it omits were evicted. A window
    that requests only unknown topics adds them to the cache.
    """
    cached: dict[tuple[str | None, ...], set[int]] = {}
    evicted: dict[tuple[str | None, ...], int] = {}
    for row in windows:
        before, topics = cached.get(_client(row), set()), set(row["topics"])
        is_refresh = bool(before & topics)
        evicted[_client(row)] = evicted.get(_client(row), 0) + (len(before - topics) if is_refresh else 0)
        cached[_client(row)] = topics if is_refresh else before | topics
    return evicted


def growing(rows: Sequence[Row]) -> list[Row]:
    """Return the clients that ask for known topics again with each new one."""
    return [row for row in rows if (row["growth_exponent"] or 0.0) >= SQUARE]


def headline(rows: Sequence[Row]) -> str:
    """Return the sentence about clients that ask for known topics again; empty if there are none."""
    found = growing(rows)
    if not found:
        return ""
    versions = sorted({version_of(row) for row in found})
    most = max(row["growth_exponent"] for row in found)
    clients = "1 client asks" if len(found) == 1 else f"{count(len(found))} clients ask"
    return (
        f"{clients} for known topics again with each new one ({', '.join(versions)}): topics asked grow like "
        f"new topics to the power of {most:.2f}."
    )


def quiet(rows: Sequence[Row]) -> str:
    """Return the sentence of a page without a headline."""
    if not rows:
        return "No client looked metadata up in this span."
    n = sum(row["lookups"] for row in rows)
    return f"No client asks for known topics again and again: {count(n)} lookups in all."


def sentences(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each client, in the order of the listing."""
    return [_of_client(row) for row in with_short_runs(rows)]


def _of_client(row: Row) -> str:
    client = ", ".join([version_of(row), *([row["run_name"]] if row["run"] else [])])
    start = f"{row['client_id'] or UNNAMED} ({client}): {count(row['lookups'])} lookups"
    grows = ""
    if row["growth_exponent"] is not None:
        grows = f"; topics asked grow like new topics to the power of {row['growth_exponent']:.2f}"
    each = f", {row['topics_per_lookup']:.1f} topics each" if row["topics_per_lookup"] is not None else ""
    evicted = f"; {count(row['evicted_topics'])} topics were evicted" if row["evicted_topics"] else ""
    return f"{start}{each}, {count(row['new_topics'])} new topics{grows}{evicted}"


def _client(row: Row) -> tuple[str | None, ...]:
    return row["client_id"], row["software_version"], row["run"]


LISTING = Listing(
    name="lookup-table",
    title="What metadata lookups cost",
    lead="METADATA requests by client (KIP-526): a client that asks for all its topics at each new one "
    "pays for the square of their number.",
    rows=with_short_runs,
    columns=(
        listing.text("client", "client_id"),
        listing.text("run", "run_name", whole="run"),
        listing.text("version", "software_version"),
        listing.count("lookups", "lookups"),
        listing.count("for all topics", "all_topics_lookups", in_terminal=False),
        listing.count("after an error", "lookups_after_error", in_terminal=False),
        listing.count("topics asked", "topics_asked", in_terminal=False),
        listing.count("topics answered", "topics_answered", in_terminal=False),
        listing.decimal("topics per lookup", "topics_per_lookup"),
        listing.megabytes("MB answered", "response_bytes"),
        listing.count("new topics", "new_topics"),
        listing.count("evicted topics", "evicted_topics", in_terminal=False),
        listing.megabytes("MB per 1,000 new topics", "bytes_per_1000_new_topics", in_terminal=False),
        listing.decimal("growth exponent", "growth_exponent"),
    ),
    about={
        "evicted topics": ("Topics that the client's metadata cache forgot, and that it asked for again."),
        "growth exponent": ("Topics asked grow like new topics to this power: 1 is linear, 2 is the square."),
    },
)
