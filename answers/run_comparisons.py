"""Comparisons of runs that `plumbline compare --save` has kept."""

from answers.gold import GoldReader
from schemas.rows import Row

NEWEST = """
    SELECT * FROM gold.run_comparison WHERE cluster IS NOT DISTINCT FROM $cluster
    QUALIFY compared_at IS NOT DISTINCT FROM
        max(compared_at) OVER (PARTITION BY scenario, baseline, contender)
    ORDER BY contender, baseline, is_deciding DESC NULLS LAST, metric"""


def newest(gold: GoldReader, cluster: str | None) -> list[Row]:
    """Return the newest comparison of each two arms: one row per metric, the deciding metric first."""
    return gold.rows(NEWEST, {"cluster": cluster})
