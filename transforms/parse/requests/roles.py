"""The rows of `silver.listeners`: each role of a listener once per process and date."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from transforms.parse.columns import row_type
from transforms.parse.record import PARSER_VERSION, Kept, Outcome, Record
from transforms.parse.requests.partitions import is_metadata
from transforms.parse.requests.row import Request

CLIENT, FOLLOWER = "client", "follower"
"""`schemas.silver.listeners` has the same values."""

MOST_SETTLED = 10_000
"""A writer of a telemetry topic can invent names of APIs, so the memory of them has a limit."""

_FACTS = itemgetter(*map(Request._fields.index, ("cluster", "listener", "logged_date", "kind", "api")))
"""What the role of a request and the key of its row depend on."""

ListenerRow = row_type("ListenerRow", "cluster listener role logged_date parser_version")


class RoleParser:
    """A parser of request lines with a memory of roles, which saves rows and changes no other row."""

    def __init__(self, parse: Callable[[Record], Outcome]) -> None:
        """Start with an empty memory."""
        self._parse = parse
        self._seen = set[tuple[Any, ...]]()
        self._settled = set[tuple[Any, ...]]()  # requests like these give no listener a new role

    def parse(self, record: Record) -> Outcome:
        """Parse one line; add a row of `listeners` if its request gives a listener a new role."""
        outcome = self._parse(record)
        if type(outcome) is not Kept:
            return outcome
        row = outcome.rows["requests"][0]
        if (facts := _FACTS(row)) in self._settled:  # one look-up, for almost all lines
            return outcome
        role = _role(row)
        key = (row.cluster, row.listener, role, row.logged_date)
        if role is None or key in self._seen:
            if len(self._settled) < MOST_SETTLED:
                self._settled.add(facts)
            return outcome
        if not _is_served(row):
            return outcome
        self._seen.add(key)
        rows = {**outcome.rows, "listeners": [ListenerRow(*key, PARSER_VERSION)]}
        return outcome._replace(rows=rows)


def _role(row: Any) -> str | None:  # noqa: ANN401 (a type made at run time)
    if row.kind == "follower":
        return FOLLOWER
    return CLIENT if row.kind == "consumer" or row.api == "PRODUCE" else None


def _is_served(row: Any) -> bool:  # noqa: ANN401 (a type made at run time)
    """Return whether a broker served a request: a refused one gives no listener a role."""
    if row.kind == "follower":
        return row.error_code in {0, None}
    # A client of a controller can fetch the metadata topic alone, which no broker serves.
    return any(
        partition.error_code == 0 and not is_metadata(partition.topic_id, partition.topic_name)
        for partition in row.partitions or ()
    )
