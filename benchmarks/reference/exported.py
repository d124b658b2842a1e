"""Write the table in docs/prometheus-export.md: `python -m benchmarks.reference.exported [--check]`."""

import sys

from answers.exported.metrics import METRICS
from benchmarks.pages import put
from conf.settings import PROJECT

PAGE = PROJECT / "docs" / "prometheus-export.md"
SECTION = "exported"


def page() -> str:
    """Return the page with the table of the declared metrics."""
    rows = "".join(
        f"| `{metric.name}` | {', '.join(metric.labels)} | {metric.help} | `gold.{metric.source}` |\n"
        for metric in METRICS
    )
    table = f"| metric | labels | meaning | from |\n| --- | --- | --- | --- |\n{rows}"
    return put(PAGE.read_text(), SECTION, table)


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"{PAGE.name} is stale: run `make docs`")
