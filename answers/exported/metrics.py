"""All exported questions, and what follows from them: metrics, alerts, and the columns of gold to read."""

import re
from collections import defaultdict

from answers.exported import fetches, freshness, lookups, produce, redirects, round_trips, skew, throttles
from schemas.fields import Table
from schemas.gold import GOLD

QUESTIONS = tuple(
    module.QUESTION
    for module in (freshness, fetches, round_trips, produce, skew, redirects, lookups, throttles)
)
METRICS = tuple(metric for question in QUESTIONS for each in question.exported for metric in each.metrics)
ALERTS = {name: expression for question in QUESTIONS for name, expression in question.alerts.items()}

_NAMED = re.compile(r"\b(latest|rare|remembered)\.(\w+)")
_TABLES = {table.name: table for table in GOLD}
WINDOWED = {_TABLES[name] for _, name in _NAMED.findall(freshness.QUESTION.prepared["settled"])}
"""The tables whose windows say how far gold has come."""


def read_columns() -> dict[Table, dict[str, list[str]]]:
    """Return the columns that queries name of each table, by the schema that the name begins with."""
    words: dict[tuple[str, str], set[str]] = defaultdict(set)
    for query in (query for question in QUESTIONS for query in question.queries):
        for found in set(_NAMED.findall(query)):
            words[found] |= set(re.findall(r"\w+", query))
    columns: dict[Table, dict[str, list[str]]] = defaultdict(dict)
    for (reach, name), named in sorted(words.items()):
        columns[_TABLES[name]][reach] = [column for column in _TABLES[name].schema.names if column in named]
    return dict(columns)
