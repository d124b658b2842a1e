"""Comparisons of runs that `plumbline compare --save` has kept."""

from collections.abc import Sequence

from answers import formats, listing
from answers.gold.reader import GoldReader, QueryRows
from answers.listing import Column, Listing
from schemas.rows import Row
from verdicts.verdict import WITHIN_RUN

NEWEST = """
    SELECT * FROM gold.run_comparison WHERE cluster IS NOT DISTINCT FROM $cluster
    QUALIFY compared_at IS NOT DISTINCT FROM
        max(compared_at) OVER (PARTITION BY scenario, baseline, contender)
    ORDER BY contender, baseline, is_deciding DESC NULLS LAST, metric"""


def newest(gold: GoldReader, cluster: str | None) -> QueryRows:
    """Return the newest comparison of each two arms: one row per metric, the deciding metric first."""
    return gold.rows(NEWEST, {"cluster": cluster})


def name_of(row: Row) -> str:
    """Return the name of a comparison."""
    within = f" in {row['scenario']}" if row["scenario"] else ""
    return f"{row['contender']} against {row['baseline']}{within}"


def deciding(rows: Sequence[Row]) -> Row:
    """Return the row of the deciding metric of a comparison."""
    return next((row for row in rows if row["is_deciding"]), rows[0])


def headline(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """Return the verdict of a comparison as a sentence, and its reasons."""
    row = deciding(rows)
    change = f", {formats.change(row['change'])}" if row["change"] is not None else ""
    sentence = f"{_verdict(row).capitalize()}: {name_of(row)}, {row['metric']}{change}."
    return sentence, [row["reason"], *(f"Caution: {caution}" for caution in row["cautions"] or ())]


def _metric(row: Row) -> str:
    return f"{formats.text(row['metric'])}{' *' if row['is_deciding'] else ''}"


def _verdict(row: Row) -> str:
    return f"{formats.text(row['verdict'])}{f' ({WITHIN_RUN})' if row['is_within_run_only'] else ''}"


LISTING = Listing(
    name="comparison-table",
    title="Metric by metric",
    lead="The unit is the run. Intervals cover 95 %; p is adjusted for all metrics together.",
    is_marked=lambda row: row["verdict"] == "regressed",
    columns=(
        Column("metric", _metric, "metric", is_text=True),
        Column("verdict", _verdict, "verdict", is_text=True),
        listing.change("change", "change"),
        listing.interval("95 % interval", "change_low", "change_high", formats.change),
        listing.change("change of means", "change_of_means", in_terminal=False),
        listing.milliseconds("baseline", "baseline_median"),
        listing.milliseconds("contender", "contender_median"),
        listing.text("unit", "unit", in_terminal=False),
        Column(
            "runs",
            lambda row: f"{formats.count(row['n_baseline'])} / {formats.count(row['n_contender'])}",
            in_terminal=False,
        ),
        listing.small("p", "p_adjusted"),
        listing.count("runs to decide", "more_runs", in_terminal=False),
        listing.text("why", "reason", style="path", in_terminal=False),
    ),
    about={"metric": "The metric with * decides."},
)
