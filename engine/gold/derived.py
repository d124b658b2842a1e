"""Results of functions of whole tables, which are kept until the files of the table change."""

from collections.abc import Callable, Sequence
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.snapshot import Snapshot

Function = Callable[[pa.RecordBatchReader], pa.Table]

_Key = tuple[str, Function]
_Days = dict[date | None, tuple[set[str], pa.Table]]  # the files of each day, and the result of their rows


class DerivedRows:
    """
    The results of functions of tables, day by day; a day is computed again when its files change.

    The rows of the newest day are kept by file, because each new row is in a new file of that day.
    """

    def __init__(self) -> None:
        """Create it without results."""
        self._results: dict[_Key, _Days] = {}
        self._files: dict[_Key, dict[str, pa.Table]] = {}

    def results(
        self,
        snapshot: Snapshot,
        columns: Sequence[str],
        function: Function,
        where: pc.Expression | None = None,
    ) -> pa.Table:
        """
        Return the results of the days of a table, or the result of all rows of a table without days.

        `where` is a condition of the rows, always the same for a function.
        """
        key, days = (snapshot.table.name, function), snapshot.paths_by_day()
        known, newest = self._results.get(key, {}), max(filter(None, days), default=None)
        found: _Days = {}
        for day, paths in days.items():
            if day in known and known[day][0] == paths:
                found[day] = known[day]
            else:
                by_file = self._files.setdefault(key, {}) if day and day == newest else None
                found[day] = (paths, function(_rows(snapshot, paths, columns, where, by_file)))
        self._results[key] = found
        return pa.concat_tables([result for _, result in found.values()])


def _rows(
    snapshot: Snapshot,
    paths: set[str],
    columns: Sequence[str],
    where: pc.Expression | None,
    known: dict[str, pa.Table] | None,
) -> pa.RecordBatchReader:
    """Return the rows of files; with `known`, keep the rows of each file there, and no others."""
    if known is None:
        return snapshot.rows_in(paths, columns, where)
    for path in known.keys() - paths:
        del known[path]
    for path in paths - known.keys():
        known[path] = snapshot.rows_in([path], columns, where).read_all()
    # DuckDB takes four times as long for thousands of small batches.
    return pa.concat_tables(known.values()).combine_chunks().to_reader()
