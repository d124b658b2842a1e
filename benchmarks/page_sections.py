"""Sections of a Markdown page between two comments: a program replaces its own and keeps all others."""

import re
from pathlib import Path


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


def write(page: Path, name: str, section: str) -> None:
    """Replace the section `name` of a page, or add it at the end."""
    page.write_text(put(page.read_text() if page.exists() else "", name, section))
    print(f"written: {page}")
