"""Write the expressions in conf/alerts/plumbline.yml: `python -m benchmarks.reference.alerts [--check]`."""

import re
import sys

from answers.exported.metrics import ALERTS
from conf.settings import PROJECT

RULES = PROJECT / "conf" / "alerts" / "plumbline.yml"

_EXPRESSION = re.compile(r"(- alert: (\w+)\n +expr: ).*?(?=\n +(?:for|labels): )", re.DOTALL)


def rules() -> str:
    """Return the file with the declared expressions; names, `for`, labels and annotations stay."""
    return _EXPRESSION.sub(lambda found: found[1] + ALERTS[found[2]], RULES.read_text())


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        RULES.write_text(rules())
    elif RULES.read_text() != rules():
        sys.exit(f"{RULES.name} is stale: run `make docs`")
