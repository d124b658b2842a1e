"""Results that builds derive from whole tables, such as the facts of metric series."""

from engine.delta import tables
from engine.gold.inputs import WindowInputs
from schemas.silver.metrics import METRIC_SERIES
from tests.engine.gold.gold_lab import append
from tests.transforms.gold.metric_rows import series_row
from transforms.frames import frame_of
from transforms.gold.leader_local_mean.table import BUILD


def test_a_result_is_kept_until_its_table_changes(spark, tmp_path):
    tables.ensure(spark, tmp_path, METRIC_SERIES)
    kept, calls = {}, []

    def names(reader):
        calls.append(1)
        return reader.read_all()

    def derived():
        snapshots = {METRIC_SERIES.name: tables.snapshot(tmp_path, METRIC_SERIES)}
        inputs = WindowInputs(BUILD, snapshots, None, [], kept)
        return inputs.derived(METRIC_SERIES, ("name",), names)["name"].to_pylist()

    def arrive(name):
        append(frame_of(spark, [series_row(name)], METRIC_SERIES.schema), tmp_path, METRIC_SERIES)

    arrive("a")
    assert (derived(), derived(), len(calls)) == (["a"], ["a"], 1)
    arrive("b")
    assert (sorted(derived()), len(calls)) == (["a", "b"], 2)
