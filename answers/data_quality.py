"""What became of every line: counts by source, quarantined lines, and skipped lines by logger."""

from answers.selection import GoldSelection
from schemas.rows import Row

PREVIEW_BYTES = 160
MOST_LISTED_A_REASON = 50

BY_SOURCE = "SELECT * FROM gold.data_quality WHERE cluster = $cluster ORDER BY kind, node, source"
QUARANTINED = f"""
    SELECT reason, kind, node, source, position, detail, value[1:{PREVIEW_BYTES}] AS preview
    FROM silver.quarantine WHERE cluster = $cluster
    QUALIFY row_number() OVER (PARTITION BY reason ORDER BY source, position) <= {MOST_LISTED_A_REASON}
    ORDER BY reason, source, position"""
BY_REASON = """
    SELECT reason, count(DISTINCT position) AS lines FROM silver.quarantine WHERE cluster = $cluster
    GROUP BY reason ORDER BY reason"""
BY_LOGGER = """
    SELECT logger, reason, sum(lines)::BIGINT AS lines FROM silver.skipped WHERE cluster = $cluster
    GROUP BY logger, reason ORDER BY logger, reason"""


def by_source(selection: GoldSelection) -> list[Row]:
    """Return the rows of `gold.data_quality`."""
    return selection.rows(BY_SOURCE)


def quarantined(selection: GoldSelection) -> list[Row]:
    """Return the first lines of each reason, with their first bytes as text."""
    return [{**row, "preview": preview(row["preview"])} for row in selection.rows(QUARANTINED)]


def quarantined_by_reason(selection: GoldSelection) -> list[Row]:
    """Return the number of quarantined lines of each reason; a re-sent line counts once."""
    return selection.rows(BY_REASON)


def skipped_by_logger(selection: GoldSelection) -> list[Row]:
    """Return the number of skipped lines of each logger and reason."""
    return selection.rows(BY_LOGGER)


def preview(value: bytes | None) -> str:
    r"""
    Return the first bytes of a line as text that no terminal or page executes.

    >>> preview(b"caf\xc3\xa9\tx\x00\xff")
    'café\\tx\\x00\\xff'
    """
    text = (value or b"").decode("utf-8", errors="backslashreplace")
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
