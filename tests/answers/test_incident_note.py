"""The note of an incident, as a Markdown renderer reads it."""

import pytest
from markdown_it import MarkdownIt

from answers.incidents.note import escaped, markdown
from answers.next_steps.clients import of_redirect
from answers.next_steps.steps import NextStep, look_closer, quoted
from tests.answers.made_gold import HOSTILE, at

NAMES = [
    HOSTILE,
    "<b>bold</b>",
    "`code` ```",
    "a\n\n# heading\n- item\n```\nfence",
    "[link](http://x) ![image](y)",
    "**bold** __x__ ~~y~~ <http://z> &lt;",
    "back\\slash\\",
    "'\"$(reboot)",
    "1. list",
    "- list",
    "> quote",
    "# heading",
    "***",
]


def incident(found="Broker 3 is slow.", steps=(), **more):
    known = {"incident": "culprit-1", "cluster": "east", "found": found, "effect": "20.0 ms per round trip"}
    known |= {"since": at(0), "until": None, "measured": "Round trips.", "next_steps": list(steps)}
    return known | more


def parsed(note):
    """Return the tokens of a note, with those inside of lines."""
    blocks = MarkdownIt("commonmark").enable(["strikethrough", "table"]).parse(note)
    return [token for block in blocks for token in (block, *(block.children or ()))]


def shown(note):
    """Return the text that people see, without commands."""
    return "\n".join(
        "".join(child.content for child in token.children) for token in parsed(note) if token.type == "inline"
    )


def test_note_has_what_since_effect_evidence_steps_and_method():
    step = NextStep("Measure it.", "ping -c 20 BROKER_1_HOST")

    assert markdown(incident(steps=[step]), ["Ratio: 44.1."]) == (
        "**Broker 3 is slow.**\n"
        "\n"
        "- Cluster: east\n"
        "- Time: since 2026-11-21 11:00:00 UTC, open\n"
        "- Effect: 20.0 ms per round trip\n"
        "- Incident: culprit-1\n"
        "\n"
        "**Evidence**\n"
        "\n"
        "- Ratio: 44.1.\n"
        "\n"
        "**Next steps**\n"
        "\n"
        "1. Measure it.\n"
        "   ```sh\n"
        "   ping -c 20 BROKER_1_HOST\n"
        "   ```\n"
        "\n"
        "In the commands, replace the words in capitals, such as HOST:PORT.\n"
        "\n"
        "**How it was measured**: Round trips.\n"
    )


def test_note_of_an_ended_incident_has_both_times_and_one_without_evidence_no_heading():
    note = markdown(incident(until=at(6)), [])

    assert "- Time: since 2026-11-21 11:00:00 UTC, ended at 2026-11-21 11:01:00 UTC\n" in note
    assert "Evidence" not in note
    assert "- Time: open\n" in markdown(incident(since=None), [])


@pytest.mark.parametrize("name", NAMES)
def test_names_of_users_are_shown_as_they_are(name):
    """They are neither markup nor blocks; a line break is shown as an escape."""
    visible = name.replace("\n", "\\n")
    row = {"api": "FETCH", "topic": name, "client_id": name, "software_version": name}
    row |= {"partitions": [0], "is_hinted": False}
    steps = [*of_redirect(row), look_closer(name, None, None)]
    plain = [*of_redirect(row | {"topic": "t", "client_id": "c", "software_version": "v"}), steps[-1]]

    note = markdown(incident(name, steps, cluster=name, effect=name), [name])

    expected = markdown(incident("x", plain, cluster="c", effect="e"), ["y"])
    assert [token.type for token in parsed(note)] == [token.type for token in parsed(expected)]
    lines = shown(note).splitlines()
    assert lines[0] == visible
    assert f"Cluster: {visible}" in lines
    assert f"Effect: {visible}" in lines
    assert visible in lines
    assert any(f"Upgrade {visible} (version {visible})" in line for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_blocks_of_code_as_they_are(name):
    steps = [NextStep("Do it.", f"echo {quoted(name)}"), NextStep("Or this."), NextStep("And that.", "ls")]

    fences = [token for token in parsed(markdown(incident(steps=steps), [])) if token.type == "fence"]

    assert [fence.content for fence in fences] == [f"echo {quoted(name)}\n", "ls\n"]


def test_a_command_with_ten_or_more_steps_before_it_stays_in_its_step():
    steps = [NextStep(f"Step {nth}.", f"echo {nth}") for nth in range(12)]

    tokens = [token.type for token in parsed(markdown(incident(steps=steps), []))]

    assert tokens.count("ordered_list_open") == 1
    assert tokens.count("fence") == 12


def test_figures_are_not_escaped():
    assert escaped("20.0 ms (95 % interval), 3-1, a.b") == "20.0 ms (95 % interval), 3-1, a.b"


def test_spaces_around_a_text_are_no_block_of_code():
    assert escaped("     text ") == "text"
    assert not any(token.type == "code_block" for token in parsed(markdown(incident(), ["     text"])))
