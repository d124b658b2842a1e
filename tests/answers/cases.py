"""Tests of answers that share one build of gold."""

from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import pytest

from tests.answers.selected import selected
from tests.transforms.gold.silver_rows import replaced


class Cases:
    """
    Tests that share one build: the silver rows of each are in a cluster of its own.

    Such a test yields its rows, by table or name, and receives the answer for its cluster.
    """

    def __init__(self, build, answer):
        """Begin without tests. `build` returns gold by table from silver; `answer` gets a selection."""
        self.silver = {}
        self._build, self._answer = build, answer

    def test(self, case):
        """Return the test that a generator function describes."""
        name = case.__name__
        self.silver[name] = next(case())

        def test():
            running = case()
            next(running)
            with suppress(StopIteration):
                running.send(self.answer(name))
                pytest.fail("a test yields once")

        test.__doc__ = case.__doc__
        return test

    def answer(self, name):
        """Return the answer for the cluster of a test."""
        return self._answer(replace(self.selection, cluster=name))

    @cached_property
    def selection(self):
        """The gold of all tests."""
        return selected(self._build(self.together()))

    def together(self):
        """Return the rows of all tests, by table or name."""
        found = {}
        for cluster, silver in self.silver.items():
            for name, rows in silver.items():
                found.setdefault(name, []).extend(_in_cluster(cluster, name, row) for row in rows)
        return found


def _in_cluster(cluster, table, row):
    return row | {"cluster": cluster} if isinstance(row, dict) else replaced(table, row, cluster=cluster)
