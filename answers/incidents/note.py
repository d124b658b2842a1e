"""An incident as a Markdown note for the channel of the incident."""

import re
from collections.abc import Sequence

from answers import formats
from answers.next_steps.steps import NextStep
from schemas.rows import Row

MARKUP = re.compile(r"([\\`*_\[\]<>~&])")
BEGINS_BLOCK = re.compile(r"^(\d*)([-+.)#])(?=[\s#]|$)")
"""The beginning of a list or a heading."""

HINT = "In the commands, replace the words in capitals, such as HOST:PORT."


def markdown(incident: Row, evidence: Sequence[str]) -> str:
    """Return the note: what was found, since when, effect, evidence, next steps, how it was measured."""
    steps = [line for nth, step in enumerate(incident["next_steps"], 1) for line in _step(nth, step)]
    parts = [
        f"**{escaped(incident['found'])}**",
        "\n".join(f"- {name}: {escaped(text)}" for name, text in _facts(incident)),
        "\n".join(["**Evidence**", "", *(f"- {escaped(line)}" for line in evidence)]) if evidence else "",
        "\n".join(["**Next steps**", "", *steps]),
        HINT,
        f"**How it was measured**: {escaped(incident['measured'])}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _facts(incident: Row) -> list[tuple[str, str]]:
    end = "open" if incident["until"] is None else f"ended at {formats.instant(incident['until'])} UTC"
    since = "" if incident["since"] is None else f"since {formats.instant(incident['since'])} UTC, "
    return [
        ("Cluster", incident["cluster"]),
        ("Time", f"{since}{end}"),
        ("Effect", incident["effect"]),
        ("Incident", incident["incident"]),
    ]


def _step(number: int, step: NextStep) -> list[str]:
    text = f"{number}. {escaped(step.text)}"
    return [text] if step.command is None else [text, *_block(step.command, indent=" " * len(f"{number}. "))]


def _block(command: str, indent: str) -> list[str]:
    """Return a command as a block of code; it is on one line, so no text of a user can end the block."""
    return [f"{indent}{line}" for line in ("```sh", formats.printable(command), "```")]


def escaped(text: str) -> str:
    r"""
    Return a text that Markdown shows as it is, on one line.

    >>> print(escaped("<b>`x`\n# *y*"), escaped("1. a_b"), escaped("- 20.0 ms"), escaped("20.0 ms"))
    \<b\>\`x\`\\n# \*y\* 1\. a\_b \- 20.0 ms 20.0 ms
    """
    return BEGINS_BLOCK.sub(r"\1\\\2", MARKUP.sub(r"\\\1", formats.printable(text).strip()))
