"""The word list of `make lint`."""

import pytest

from tests.words import findings


def test_dialect_is_found_in_text_docstrings_and_names(tmp_path):
    file = tmp_path / "dialect.py"
    file.write_text(
        '"""What is told."""\n\n\ndef asked(given):\n    """Give it."""\n\n\nclass _Of:\n    pass\n'
    )

    found = {finding.split(":", 1)[1] for finding in findings(file)}

    assert found == {
        "1: `told`: write reported, read, set, known",
        "4: `asked` names nothing: use a noun of the field",
        "4: `given` names nothing: use a noun of the field",
        "4: docstring begins with `Give`: write Return",
    }


@pytest.mark.parametrize(
    "code",
    [
        "class Touch:\n    of: str\n",
        "class Part:\n    pass\n",
        "def parse(of, /):\n    pass\n",
        "def parse(*given):\n    pass\n",
        "def parse(**asked):\n    pass\n",
        "key = lambda of: of.name\n",
    ],
)
def test_a_name_is_found_in_fields_and_in_arguments_of_each_kind(tmp_path, code):
    file = tmp_path / "names.py"
    file.write_text(code)

    (finding,) = findings(file)
    assert finding.endswith("names nothing: use a noun of the field")


@pytest.mark.parametrize("name", ["page.md", "page.md.j2"])
def test_pages_and_templates_have_words_of_their_own(tmp_path, name):
    page = tmp_path / name
    page.write_text("# Page\n\nWhat ours shows beside it.\n")

    assert [finding.split(":", 1)[1] for finding in findings(page)] == [
        "3: `beside`: write next to",
        "3: `ours`: write our, Plumbline's",
    ]


def test_plain_words_are_not_found(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text('"""Read a log."""\n\n\ndef parse(line):\n    """Return the row."""\n')

    assert list(findings(file)) == []
