"""What to do about lines that were not read as they should be, and about failed rules."""

from answers.next_steps.steps import SETTINGS, NextStep, quoted
from schemas.rows import Row, iso


def of_quarantine() -> list[NextStep]:
    """Return what to do about many quarantined lines."""
    return [
        NextStep("See the reasons in the report, under data quality. docs/quarantine.md says what to do."),
        NextStep(
            "After an update that can read the lines: see how many come back, then run it without --dry-run.",
            f"plumbline replay {SETTINGS} --dry-run",
        ),
    ]


def of_misplaced(source: str) -> list[NextStep]:
    """Return what to do about a source with lines of another broker."""
    return [
        NextStep("See whether the collector that reads this source has the node of another broker."),
        NextStep(
            "With log files: name the broker that wrote these.",
            f"plumbline report --from DIR --node={quoted(source)}=BROKER_ID",
        ),
    ]


def of_failed_rule(row: Row) -> list[NextStep]:
    """Return how to check a failed rule again."""
    words = [f"plumbline check-quality --layer {row['layer']} {SETTINGS}"]
    words += [f"--since {iso(row['since'])}"] if row["since"] else []
    words += [f"--until {iso(row['until'])}"] if row["until"] else []
    held = " Gold is not built for this time until the check passes." if row["layer"] == "silver" else ""
    return [
        NextStep(f"Find the cause with the examples of the rows, then check again.{held}", " ".join(words))
    ]
