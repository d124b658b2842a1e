"""Records that Kafka lost before they were read, as sentences."""

from collections.abc import Sequence
from datetime import datetime

from answers import formats
from answers.gold.reader import GoldReader
from answers.gold.relations import FIRST
from schemas.rows import Row
from schemas.silver.not_kept import Loss

# Lines of a span can only be missing if the loss was found after the span began. A loss has no cluster.
LOSSES = """
    SELECT topic, reason, list(DISTINCT "partition" ORDER BY "partition") AS partitions,
           sum(lines)::BIGINT AS records, bool_or(lines IS NULL) AS is_unknown
    FROM silver.gaps WHERE found_at >= $since GROUP BY topic, reason ORDER BY topic, reason"""

BECAUSE = {
    Loss.RETENTION: "retention or DeleteRecords deleted them",
    Loss.COMPACTION: "log compaction removed them, or these offsets are markers of transactions",
    Loss.UNCLEAN_ELECTION: "an unclean leader election truncated the log, or its broker lost it",
    Loss.RECREATION: "the topic was deleted and created again",
}


def losses(gold: GoldReader, since: datetime = FIRST) -> list[str]:
    """Return a sentence about each topic and reason of `silver.gaps`, without a full stop."""
    return sentences(gold.rows(LOSSES, {"since": since}))


def sentences(rows: Sequence[Row]) -> list[str]:
    """
    Return a sentence about each row of `LOSSES`.

    >>> lost = {"topic": "t", "partitions": [0, 2], "records": 1234, "is_unknown": False}
    >>> sentences([lost | {"reason": "topic_recreation"}])[0].partition(": ")[0]
    'Kafka lost 1,234 records of t (partitions 0, 2) before they were read'
    """
    return [
        f"Kafka lost {_number(row)} of {row['topic']} ({_places(row['partitions'])}) before they were read: "
        f"{BECAUSE[Loss(row['reason'])]}"
        for row in rows
    ]


def _number(row: Row) -> str:
    if row["is_unknown"]:
        return "an unknown number of records"
    return "1 record" if row["records"] == 1 else f"{formats.count(row['records'])} records"


def _places(partitions: Sequence[int]) -> str:
    named = ", ".join(map(str, partitions))
    return f"partition {named}" if len(partitions) == 1 else f"partitions {named}"
