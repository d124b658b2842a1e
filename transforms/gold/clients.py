"""The clients of a window that have rows of their own in gold; the others are counted as `others`, as SQL."""

from typing import Literal

from duckdb import DuckDBPyConnection

from transforms.sql import text, window_s

MOST_CLIENTS = 1_000
"""The most clients of a cluster with rows of their own, in a window of a table."""

MOST_TOPICS = 10_000
"""The most topics of a METADATA request, and of a client in a window, that gold tells apart."""

OTHERS = "others"


def limit_clients(  # noqa: PLR0913 (which relation, which columns of it)
    db: DuckDBPyConnection,
    relation: str,
    kind: Literal["TABLE", "VIEW"],
    *,
    names: str = "client_id",
    at_us: str = "epoch_us(logged_at)",
    condition: str = "true",
) -> bool:
    """
    Rename the clients of a relation to `OTHERS`, except the `MOST_CLIENTS` with most rows in each window.

    So a client that makes an id for each request fills no table, and busy clients keep their names. `names`
    are the columns that tell clients apart; all but the client id become NULL. `condition` is met by the
    rows that may be renamed. Return whether any may have been; with fewer clients nothing is written.
    """
    every, window = f"every_{relation}", window_s(at_us)
    distinct = f"SELECT DISTINCT {names} FROM {relation} WHERE {condition}"
    ((clients,),) = db.sql(f"SELECT count(*) FROM ({distinct})").fetchall()
    if clients <= MOST_CLIENTS:
        return False
    columns = names.split(", ")
    same = " AND ".join(f"each.{name} IS NOT DISTINCT FROM known.{name}" for name in columns)
    shown = dict.fromkeys(columns, "NULL") | {"client_id": text(OTHERS)}
    renamed = ", ".join(
        f"CASE WHEN ({condition}) AND seen_in_s IS NULL THEN {shown[name]} ELSE each.{name} END AS {name}"
        for name in columns
    )
    db.execute(f"ALTER {kind} {relation} RENAME TO {every}")
    db.execute(f"""
        CREATE TEMP TABLE {relation} AS
        WITH counted AS (
            SELECT cluster AS known_cluster, {window} AS seen_in_s, {names}, count(*) AS n
            FROM {every} WHERE {condition} GROUP BY ALL
        ),
        known AS (
            FROM counted QUALIFY {MOST_CLIENTS} >= row_number() OVER (
                PARTITION BY known_cluster, seen_in_s ORDER BY n DESC, {names}
            )
        )
        SELECT each.* REPLACE ({renamed}) FROM {every} AS each
        LEFT JOIN known ON each.cluster = known_cluster AND {window} = seen_in_s AND {same}
    """)
    db.execute(f"DROP {kind} {every}")
    return True
