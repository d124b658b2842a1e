"""The sentence at the top of a report: what a scenario asked about clients, else who is slow."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from answers.slow_links.culprits import Headline


def opening(
    links: Headline, clients: Mapping[str, str], scenarios: set[str | None], throttles: Sequence[str] = ()
) -> Headline:
    """
    Return the headline of a report.

    `clients` are the sentences about clients by the scenario that asks for them (empty: nothing found). They
    come first if such a scenario was run, or if no link is slow; then the sentence about links is the second.
    The sentences about throttles are part of the small print.
    """
    if throttles:
        mood = "unsure" if links.mood == "calm" else links.mood
        links = replace(links, mood=mood, small_print=[*links.small_print, *also_found(throttles)])
    names = sorted((name for name in clients if clients[name]), key=lambda name: name not in scenarios)
    sentences = [clients[name] for name in names]
    if not sentences:
        return links
    if links.finding and scenarios.isdisjoint(names):
        return replace(links, small_print=[*links.small_print, *also_found(sentences)])
    return Headline(
        sentence=f"{sentences[0]} {links.sentence}",
        mood="alarm" if links.finding else "unsure",
        small_print=[*also_found(sentences[1:]), *links.small_print],
        finding=links.finding,
    )


def also_found(sentences: Sequence[str]) -> list[str]:
    """Return the sentences of other findings as lines of the small print."""
    return [f"Also found: {sentence}" for sentence in sentences]
