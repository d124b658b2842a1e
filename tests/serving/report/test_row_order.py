"""A report is the same text in whatever order gold has its rows, to the last digit of every sum."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.questions import whole_answer
from schemas.arrow import arrow_schema
from schemas.delta_log import open_log
from schemas.gold import GOLD
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver import SILVER
from serving.report.document import as_text, document
from tests.answers import made_gold
from tests.answers.made_gold import WINDOWS, at, skew, write

IS_SUMMED = ("_sum_ms", "_square_sum", "_per_s", "lag_records")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    root = made_gold.warehouse(tmp_path_factory.mktemp("order") / "warehouse")
    dice = np.random.default_rng(7)
    write(root, LEADER_LOCAL_MEAN, [mean(nth) for nth in range(WINDOWS)])
    write(root, PARTITION_SKEW, [skewed(nth, partition, dice) for nth in range(10) for partition in range(9)])
    folders = {table: root / table.layer / table.name for table in (*GOLD, *SILVER)}
    return {
        table: uneven(open_log(folder).to_pyarrow_dataset().to_table().cast(arrow_schema(table)), dice)
        for table, folder in folders.items()
        if (folder / "_delta_log").exists()
    }


def mean(nth):
    """Return a row of metrics: 40 requests of 12 ms, of which 2 are the leader's own work."""
    sums = {"n": 40, "n_remote": 40, "total_sum_ms": 480.0, "remote_sum_ms": 400.0}
    sums |= {"remote_square_sum": 4_000.0, "log_n": 40, "log_sum_ms": 80.0, "is_reset": False}
    of = {"cluster": "east", "node": "broker-1", "broker_id": 1, "request": "Produce"}
    return of | sums | {"window_start": at(nth + 1), "from_at": at(nth), "to_at": at(nth + 1)}


def skewed(nth, partition, dice):
    """Return a row of a topic with nine partitions on three brokers, each with bytes of its own."""
    size = int(dice.integers(100_000, 1_000_000))
    return skew(nth, partition % 3, slow=4) | {"partition": partition, "bytes": size, "share": size / 5e6}


def uneven(rows, dice):
    """Return rows whose sums depend on their order: whole and equal values add up exactly."""
    for nth, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type) and field.name.endswith(IS_SUMMED):
            factors = pa.array(dice.uniform(0.9, 1.1, rows.num_rows))
            rows = rows.set_column(nth, field, pc.multiply(rows.column(nth), factors))
    return rows


def report_of(tables):
    selection = GoldSelection(gold=GoldReader.of_rows(tables), cluster="east")
    return as_text(document(selection, whole_answer(selection).headline, selection.outside))


def test_order_of_rows_changes_no_digit(tables):
    in_order = report_of(tables)
    for seed in range(3):
        dice = np.random.default_rng(seed)
        shuffled = {table: rows.take(dice.permutation(rows.num_rows)) for table, rows in tables.items()}

        assert report_of(shuffled).splitlines() == in_order.splitlines()
