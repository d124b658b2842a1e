"""The sentence at the top of a report: what a scenario asked about clients, else who is slow."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from answers.answer import Headline


def opening(
    links: Headline,
    clients: Mapping[str, Sequence[str]],
    scenarios: set[str | None],
    others: Sequence[str] = (),
    *,
    is_accused: bool,
) -> Headline:
    """
    Return the verdict of a report.

    `clients` are the sentences about clients by the scenario that asks for them. They come first if such a
    scenario was run, or if no link `is_accused`; then the sentence about links is the second. `others`, the
    sentences about produce and throttles, are part of the evidence.
    """
    if others:
        mood = "unsure" if links.mood == "calm" else links.mood
        links = replace(links, mood=mood, evidence=[*links.evidence, *also_found(others)])
    names = sorted((name for name in clients if clients[name]), key=lambda name: name not in scenarios)
    sentences = [sentence for name in names for sentence in clients[name]]
    if not sentences:
        return links
    if is_accused and scenarios.isdisjoint(names):
        return replace(links, evidence=[*links.evidence, *also_found(sentences)])
    return Headline(
        sentence=f"{sentences[0]} {links.sentence}",
        mood="alarm" if is_accused else "unsure",
        evidence=[*also_found(sentences[1:]), *links.evidence],
        steps=links.steps,
    )


def also_found(sentences: Sequence[str]) -> list[str]:
    """Return the sentences of other findings as lines of evidence."""
    return [f"Also found: {sentence}" for sentence in sentences]
