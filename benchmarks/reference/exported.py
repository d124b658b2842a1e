"""Write the table in docs/prometheus-export.md: `python -m benchmarks.reference.exported [--check]`."""

import sys

from conf.settings import PROJECT
from exporter.catalog import METRICS

PAGE = PROJECT / "docs" / "prometheus-export.md"
MARK = "<!-- made by `make docs` from exporter/catalog.py -->\n"


def page() -> str:
    """Return the page with the table as the catalogue has it now."""
    rows = "".join(
        f"| `{metric.name}` | {', '.join(metric.labels)} | {metric.help} | `gold.{metric.source}` |\n"
        for metric in METRICS
    )
    head = PAGE.read_text().split(MARK)[0]
    return f"{head}{MARK}\n| metric | labels | meaning | from |\n| --- | --- | --- | --- |\n{rows}"


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"{PAGE.name} is stale: run `make docs`")
