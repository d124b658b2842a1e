"""Results that builds derive from whole tables, such as the facts of metric series, and what they read."""

import uuid
from datetime import timedelta
from itertools import product

import pytest
from deltalake import DeltaTable

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.derived import DerivedRows
from engine.gold.inputs import WarehouseTables
from schemas.silver.metrics import METRIC_SERIES
from schemas.silver.throttles import THROTTLE_CHANGES
from tests.transforms.gold.metric_rows import series_row
from tests.transforms.gold.silver_rows import arrow
from tests.transforms.gold.throttle_rows import AT, rate
from transforms.gold.throttle_compliance.polls import IS_APPLIED


class Derived:
    """The names or positions in a table, with the calls of the function and the files that are read."""

    def __init__(self, warehouse, table, column):
        """Use a table, which need not exist."""
        self.warehouse, self.table, self.column = warehouse, table, column
        self.calls, self._known = [], WarehouseTables(warehouse, DerivedRows())
        self.where = None

    def function(self, reader):
        """Return the rows, and note how many there are."""
        rows = reader.read_all()
        self.calls.append(rows.num_rows)
        return rows

    def arrive(self, rows):
        """Append rows, one file per day."""
        tables.append_rows(arrow(self.table, rows), self.warehouse, self.table, txn_app_id=str(uuid.uuid4()))

    def values(self):
        """Return the values of the column, in order."""
        found = self._known.derived(self.table, (self.column,), self.function, self.where)
        return sorted(found[self.column].to_pylist())


@pytest.fixture
def files_read(monkeypatch):
    """Return the number of files of each read."""
    counts, rows_in = [], Snapshot.rows_in

    def counted(self, paths, *more):
        counts.append(len(paths))
        return rows_in(self, paths, *more)

    monkeypatch.setattr(Snapshot, "rows_in", counted)
    return counts


def change(day, second):
    at = AT + timedelta(days=day, seconds=second)
    return rate(0, 5, logged_at=at, logged_date=at.date(), position=f"{day}/{second:03}", replicas=None)


def test_a_result_is_kept_until_its_table_changes(tmp_path):
    names = Derived(tmp_path, METRIC_SERIES, "name")
    names.arrive([series_row("a")])
    assert (names.values(), names.values(), names.calls) == (["a"], ["a"], [1])

    names.arrive([series_row("b")])
    assert (names.values(), names.calls) == (["a", "b"], [1, 2])


def test_a_new_row_reads_one_file_and_computes_its_day_alone(tmp_path, files_read):
    """Two days of ten files each: then a row of today, a late one of yesterday, and the first of tomorrow."""
    found = Derived(tmp_path, THROTTLE_CHANGES, "position")
    for day, second in product((0, 1), range(10)):
        found.arrive([change(day, second)])
    found.values()

    reads = {}
    for new in ((1, 10), (0, 10), (2, 0)):
        files_read.clear()
        found.calls.clear()
        found.arrive([change(*new)])
        found.values()
        reads[new] = (files_read.copy(), found.calls.copy())

    assert reads == {(1, 10): ([1], [11]), (0, 10): ([11], [11]), (2, 0): ([1], [1])}
    assert len(found.values()) == 23


def test_rows_that_are_deleted_or_merged_are_computed_again(tmp_path):
    found = Derived(tmp_path, THROTTLE_CHANGES, "position")
    for day, second in product((0, 1), range(3)):
        found.arrive([change(day, second)])
    before = found.values()

    log = DeltaTable(str(tmp_path / "silver" / "throttle_changes"))
    log.optimize.compact()
    assert found.values() == before
    log.delete("position = '0/001'")
    assert found.values() == [position for position in before if position != "0/001"]


def test_rows_that_do_not_count_are_not_kept(tmp_path):
    """A client without rights can send any number of changes; gold keeps the rows of the newest day."""
    found = Derived(tmp_path, THROTTLE_CHANGES, "position")
    found.where = IS_APPLIED
    found.arrive(
        [change(0, n) | {"is_applied": is_applied} for n, is_applied in enumerate((True, None, False))]
    )

    assert (found.values(), found.calls) == (["0/000", "0/001"], [2])


def test_a_table_without_rows_has_a_result_too(tmp_path):
    tables.make(tmp_path, THROTTLE_CHANGES)

    assert Derived(tmp_path, THROTTLE_CHANGES, "position").values() == []
