"""Throttle settings without the polls that repeat the poll before, as SQL."""

import pyarrow as pa
import pyarrow.compute as pc

from schemas.silver.throttles import POLL
from transforms.sql import connect

CHANGES_COLUMNS = (
    *("cluster", "resource", "resource_name", "config", "operation", "rate_bytes_per_s", "replicas"),
    *("is_wildcard", "is_applied", "told_by", "logged_at", "position"),
)

IS_APPLIED = pc.field("logged_at").is_valid() & (pc.field("is_applied").is_null() | pc.field("is_applied"))
"""
The condition of changes that took effect; one without a logged answer counts as applied. Others are not read,
because a client without rights can send any number.
"""

_SETTING = f"hash({', '.join(CHANGES_COLUMNS[1:8])})"
"""A number of 64 bits for a setting, because its comparison takes a fifth of the time."""

# A request in a log has no settings here, so the poll after it never equals it.
_REPEATED = f"""
    SELECT cluster, position, logged_at FROM (
        SELECT
            cluster, position, logged_at,
            list_sort(list(DISTINCT {_SETTING}) FILTER (told_by = '{POLL}')) AS settings
        FROM changes GROUP BY cluster, position, logged_at
    ) QUALIFY settings = lag(settings) OVER (PARTITION BY cluster ORDER BY logged_at, position)
"""


def without_repeated_polls(changes: pa.RecordBatchReader) -> pa.Table:
    """
    Return the changes (`CHANGES_COLUMNS`) without those of polls that have no effect.

    A poll has no effect if it found the same settings as the poll before, and no request changed a setting of
    the cluster in between. A cluster is polled every 30 s for months, with two rows for each broker.
    """
    with connect({"rows": changes}) as db:
        db.execute("CREATE TEMP TABLE changes AS FROM rows")
        return db.sql(
            f"FROM changes ANTI JOIN ({_REPEATED}) USING (cluster, position, logged_at)"
        ).to_arrow_table()
