"""The word list of `make lint`."""

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


def test_plain_words_are_not_found(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text('"""Read a log."""\n\n\ndef parse(line):\n    """Return the row."""\n')

    assert list(findings(file)) == []
