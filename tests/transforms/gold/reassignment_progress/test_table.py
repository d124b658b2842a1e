"""How far a move is, on made moves whose end is known."""

from schemas.arrow import arrow_schema
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from tests.transforms.gold.move_rows import LIMIT, WHOLE, case
from tests.transforms.gold.silver_rows import objects
from tests.transforms.gold.throttle_rows import MB, gold, idle, size


def test_sizes_of_logs_stand_in_where_offsets_do_not_tell():
    """Answers without a high watermark tell nothing of a lag."""
    silver = case(until=61, ended=False)
    blind = [
        line | {"partitions": [part | {"high_watermark": None} for part in line["partitions"]]}
        for line in silver["requests"][8:]
    ]
    silver["requests"] = silver["requests"][:8] + blind
    silver["requests"] += [idle(second) for second in range(0, 140, 10)]
    silver["sizes"] = [size(135, WHOLE, 1), size(135, 400 * MB, 2)]
    windows = objects(gold(**silver)[REASSIGNMENT_PROGRESS])
    rows = {row.window_start.second + 60 * row.window_start.minute: row for row in windows}

    assert (rows[130].to_go_by, rows[130].bytes_to_go) == ("log_sizes", 200 * MB)
    assert (rows[0].to_go_by, rows[100].to_go_by) == ("offsets", "offsets")


def test_lines_that_come_again_late_or_in_another_order_change_nothing():
    silver = case(until=41, ended=False)
    once = objects(gold(**silver)[REASSIGNMENT_PROGRESS])
    again = {name: rows[::-1] + rows for name, rows in silver.items()}

    assert objects(gold(**again)[REASSIGNMENT_PROGRESS]) == once
    assert len(once) == 5


def test_rows_without_an_instant_or_a_topic_tell_nothing():
    silver = case(until=41, ended=False)
    once = objects(gold(**silver)[REASSIGNMENT_PROGRESS])
    nothing = {"cluster": "lab", "position": "null"}
    silver = {name: [*rows, nothing] for name, rows in silver.items()}

    assert objects(gold(**silver)[REASSIGNMENT_PROGRESS]) == once


def test_without_moves_there_is_nothing():
    built = gold()[REASSIGNMENT_PROGRESS]

    assert built.schema == arrow_schema(REASSIGNMENT_PROGRESS)
    assert built.num_rows == 0


def test_destination_that_was_not_scraped_in_a_window_is_not_empty_there():
    sizes = [size(second + 5, WHOLE, 1) for second in range(0, 120, 30)]
    sizes += [size(second + 15, LIMIT * (second + 14), 2) for second in range(0, 120, 30)]
    rows = objects(gold(**case(ended=False), sizes=sizes)[REASSIGNMENT_PROGRESS])
    to_go = [row.bytes_to_go for row in rows if row.bytes_to_go is not None]

    assert len(to_go) > 10
    assert to_go == sorted(to_go, reverse=True)
