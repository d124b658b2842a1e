"""What became of every line, and whether the metrics suffice: how far the other answers can be trusted."""

from collections.abc import Sequence

from answers.answer import (
    FILLED_BY_GOLD,
    Answer,
    AnswerRows,
    Block,
    Headline,
    Missing,
    Question,
    Section,
    Sentences,
)
from answers.data_quality import counts, missing_metrics
from answers.data_quality.counts import BALANCE, is_balanced, totals_of
from answers.data_quality.losses import losses
from answers.formats import count
from answers.gold.selection import GoldSelection
from schemas.gold.leader_local_mean import MISSING_METRICS
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.rows import Row


def answer(selection: GoldSelection) -> Answer:
    """Return the balance of all lines, the doubts, and the tables about bad lines and missing metrics."""
    sources, reasons = counts.by_source(selection), counts.quarantined_by_reason(selection)
    missing, rules = missing_metrics.missing_metrics(selection), counts.rule_results(selection)
    quarantine = counts.quarantined(selection)
    files = selection.outside.get("not_understood", ())
    tables = [
        counts.NODES.listed(sources),
        counts.SOURCES.listed(sources),
        counts.FAILED_RULES.listed(rules),
        missing_metrics.LISTING.listed(missing),
        counts.REASONS.listed(reasons),
        counts.QUARANTINE.listed(quarantine),
        counts.SKIPPED.listed(counts.skipped_by_logger(selection)),
        counts.NOT_UNDERSTOOD.listed(files),
    ]
    blocks: list[Block] = [Sentences([balance_of(sources), *_of_rules(rules), *passed_over(selection)])]
    doubted = doubts(selection)
    if doubted:
        blocks.append(Sentences(doubted, is_bad=True))
    if not sources:
        blocks = [*blocks[1:], Missing("no line was read.", FILLED_BY_GOLD)]
    section = Section(
        name="quality", title="Data quality", blocks=[*blocks, *(one for one in tables if one.rows)]
    )
    lost = losses(selection.gold, selection.since)
    return Answer(headline=_headline(sources, doubted, lost), make_sections=lambda: [section])


def doubts(selection: GoldSelection) -> list[str]:
    """Return the reasons to doubt the figures: lost and bad lines, wrong or empty files, missing metrics."""
    return [
        *losses(selection.gold, selection.since),
        *counts.doubts(
            counts.by_source(selection),
            counts.quarantined_by_reason(selection),
            counts.misplaced_sources(selection),
            selection.outside.get("files", ()),
        ),
        *missing_metrics.doubts(missing_metrics.missing_metrics(selection)),
        *(row["reason"] for row in selection.outside.get("run_changes_missing", ())),
    ]


def passed_over(selection: GoldSelection) -> list[str]:
    """Return one sentence that names the files that were not read, because they contain no telemetry."""
    others = selection.outside.get("passed_over", ())
    named = ", ".join(f"{row['what']} ({row['files']})" for row in others)
    return [f"Files skipped: no telemetry in the first 16 MiB: {named}."] if others else []


def balance_of(sources: Sequence[Row]) -> str:
    """Return the counts of lines as a sum."""
    totals = totals_of(sources)
    parts = " + ".join(f"{count(totals[name])} {name}" for name in BALANCE[1:])
    adds_up = "adds up" if is_balanced(totals) else "does not add up"
    return f"{count(totals['lines_read'])} lines read = {parts}: {adds_up}."


def _of_rules(rules: Sequence[Row]) -> list[str]:
    """Return the sentence about the rules between the layers."""
    if not rules:
        return []
    failed = sum(not row["is_passed"] for row in rules)
    if not failed:
        return [f"{count(len(rules))} checks of rules between the layers: all passed."]
    return [
        f"{count(len(rules))} checks of rules between the layers: {count(failed)} failed.",
        "Gold of hours of silver with a failed check is not built until a check passes.",
    ]


def _headline(sources: Sequence[Row], doubted: Sequence[str], lost: Sequence[str]) -> Headline:
    if lost:
        return Headline(sentence=f"{lost[0]}.", mood="alarm", evidence=doubted)
    if not sources:
        return Headline(sentence="No line was read.", mood="unsure")
    if not all(row["is_balanced"] is not False for row in sources):
        return Headline(sentence="The counts of lines do not add up.", mood="alarm", evidence=doubted)
    if doubted:
        things = "1 thing makes" if len(doubted) == 1 else f"{len(doubted)} things make"
        return Headline(
            sentence=f"Every line is accounted for, but {things} figures doubtful.",
            mood="unsure",
            evidence=doubted,
        )
    return Headline(sentence="Every line is accounted for.", mood="calm")


QUESTION = Question(
    name="quality",
    word="Data quality",
    title="Data quality",
    filters=(),
    answer=answer,
    rows={
        "missing_metrics": AnswerRows(MISSING_METRICS, missing_metrics.missing_metrics),
        "quality_results": AnswerRows(QUALITY_RESULTS, counts.rule_results),
    },
)
