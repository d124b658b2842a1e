"""Counts of read, kept, quarantined and skipped lines per kind, node and source file, by SQL."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from schemas.gold.data_quality import DATA_QUALITY
from transforms.sql import RowSource, connect, rows_of

RECORD = ("topic", "partition", "offset")
BRONZE_COLUMNS = ("cluster", "kind", "node", "source", *RECORD)
LINE = ("cluster", "node", "source", "position", *RECORD, "logged_at")
"""Columns that every silver row of a line has."""

QUARANTINE_COLUMNS = ("cluster", "kind", "node", "source", "position", "chunk", *RECORD)
SKIPPED_COLUMNS = ("cluster", "kind", "node", "source", "lines")

OF_A_SCRAPE = r"#\d+$"
"""The end of the position of a rejected scrape line. The scrape itself is counted, not its lines."""

KEY = "cluster, kind, node, source"
_COUNTS = ("lines_read", "kept", "quarantined", "skipped", "duplicates")

# Re-sent lines share it. A record without a position is unique.
_IDENTITY = "coalesce(position, concat_ws('/', topic, partition, \"offset\"))"


def data_quality(
    bronze: Sequence[RowSource],
    silver: Mapping[str, Sequence[RowSource]],
    quarantine: RowSource,
    skipped: RowSource,
    *,
    is_cut: bool = False,
) -> pa.Table:
    """
    Count the lines of bronze, and independently the lines in silver, in quarantine and skipped.

    `bronze` contains the lines of all parsed kinds; `silver` contains the rows by kind, one per line. A
    re-sent line counts once as kept or quarantined and once as a duplicate, even if its file was renamed.
    With `is_cut` bronze lacks lines, and rows of these lines do not count.
    """
    kept = [(kind, rows) for kind, tables in silver.items() for rows in tables]
    named = {"quarantine": quarantine, "skipped": skipped}
    named |= {f"bronze_{n}": rows for n, rows in enumerate(bronze)}
    named |= {f"kept_{n}": rows for n, (_, rows) in enumerate(kept)}
    with connect(named) as db:
        lines = " UNION ALL ".join(f"FROM bronze_{n}" for n in range(len(bronze)))
        db.execute(f"CREATE TEMP {'TABLE' if is_cut else 'VIEW'} bronze AS {lines}")
        known = 'SEMI JOIN bronze USING (topic, partition, "offset")' if is_cut else ""
        rows = " UNION ALL ".join(_kept(f"kept_{n}", kind, known) for n, (kind, _) in enumerate(kept))
        parts = f"""
            SELECT {KEY}, count(*) AS lines_read FROM bronze GROUP BY ALL
            UNION ALL BY NAME ({_once(rows, "kept")})
            UNION ALL BY NAME ({_once(_rejected(known), "quarantined")})
            UNION ALL BY NAME SELECT {KEY}, sum(lines) AS skipped FROM skipped GROUP BY ALL
        """
        counts = ", ".join(f"coalesce(sum({name}), 0)::BIGINT AS {name}" for name in _COUNTS)
        found = db.sql(f"""
            SELECT *, lines_read = kept + quarantined + skipped + duplicates AS is_balanced
            FROM (
                SELECT {KEY}, {counts}, min(first_us) AS first_logged_us, max(last_us) AS last_logged_us
                FROM ({parts}) GROUP BY {KEY}
            )
        """)
        return rows_of(DATA_QUALITY, found.to_arrow_table())


def _kept(rows: str, kind: str, known: str) -> str:
    return f"""
        SELECT cluster, '{kind}' AS kind, node, source, {_IDENTITY} AS identity, epoch_us(logged_at) AS at_us
        FROM {rows} {known}
    """


def _rejected(known: str) -> str:
    # The parts of an oversized value share a position. Each is a row of bronze, so each counts.
    return f"""
        SELECT {KEY}, concat_ws('#', {_IDENTITY}, chunk) AS identity, NULL::BIGINT AS at_us
        FROM quarantine {known}
        WHERE NOT coalesce(kind = 'metrics' AND regexp_matches(position, '{OF_A_SCRAPE}'), false)
    """


def _once(rows: str, outcome: str) -> str:
    """Count the first row of an identity as `outcome` and the others as duplicates, each for its source."""
    return f"""
        WITH lines AS MATERIALIZED (
            SELECT {KEY}, identity, count(*) AS n, min(at_us) AS at_us FROM ({rows}) GROUP BY ALL
        ),
        firsts AS (
            SELECT cluster, kind, node, min((source, at_us)) AS line FROM lines
            GROUP BY cluster, kind, node, identity
        )
        SELECT {KEY}, sum(n) AS duplicates FROM lines GROUP BY ALL
        UNION ALL BY NAME
        SELECT
            cluster, kind, node, line[1] AS source, count(*) AS {outcome}, -count(*) AS duplicates,
            min(line[2]) AS first_us, max(line[2]) AS last_us
        FROM firsts GROUP BY cluster, kind, node, source
    """
