"""The writer of Markdown pages: what a run could not redo stays."""

import pytest
from jinja2 import UndefinedError

from benchmarks import pages


def test_a_section_that_a_run_could_not_redo_stays(tmp_path):
    page = tmp_path / "page.md"
    pages.write(page, {"drawn": "old", "recorded": "of 40 runs"}, head="# Head\n")
    pages.write(page, {"drawn": "new", "recorded": ""}, head="# Other head\n")

    text = page.read_text()
    assert text.startswith("# Other head\n")
    assert [pages.find(text, name) for name in ("drawn", "recorded")] == ["new\n", "of 40 runs\n"]


def test_without_a_head_the_rest_of_the_page_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Head\n\n<!-- a -->\n1\n<!-- /a -->\n\nWritten by hand.\n")
    pages.write(page, {"a": "2", "b": "3"})

    assert page.read_text() == (
        "# Head\n\n<!-- a -->\n2\n<!-- /a -->\n\nWritten by hand.\n\n<!-- b -->\n3\n<!-- /b -->\n"
    )


def test_a_missing_figure_is_an_error():
    with pytest.raises(UndefinedError, match="n_one"):
        pages.render("sizing", low=1.0, high=1.0, ratio=1.0)
