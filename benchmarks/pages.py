"""Markdown pages of the benchmarks: text from templates; a section that a run could not redo stays."""

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conf.atomic_file import write_atomically

TEMPLATES = Environment(  # noqa: S701 (Markdown, not HTML)
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["as"] = format


def render(template: str, **figures: object) -> str:
    """Return the text of `templates/TEMPLATE.md.j2`; a missing figure is an error."""
    return TEMPLATES.get_template(f"{template}.md.j2").render(figures)


def find(text: str, name: str) -> str:
    """Return the section `name` of a page, or nothing."""
    found = re.search(f"<!-- {re.escape(name)} -->\n(.*?)<!-- /{re.escape(name)} -->\n", text, re.DOTALL)
    return found[1] if found else ""


def put(text: str, name: str, section: str) -> str:
    """Replace the section `name`, or add it at the end."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    block = f"{begin}{section.strip()}\n{end}"
    if begin not in text:
        return f"{text}\n{block}" if text else block
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.DOTALL)


def write(page: Path, sections: dict[str, str], head: str | None = None) -> None:
    """Write a page: its head and sections. An empty section stays; without a head, all else stays."""
    before = page.read_text() if page.exists() else ""
    text = before if head is None else head
    for name, section in sections.items():
        text = put(text, name, section or find(before, name))
    write_atomically(page, text)
    print(f"written: {page}")
