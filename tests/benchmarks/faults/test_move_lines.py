"""The move lines of the fault campaign make rows of every table about throttles and moves."""

from benchmarks.faults.lines.all_lines import rows_of_bronze
from benchmarks.faults.lines.client_lines import of_clients
from benchmarks.faults.lines.move_lines import of_moves
from engine.gold.inputs import WholeInputs, gold_of_all
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.throttles import CLUSTER_POLLS, MOVES
from tests.engine.ingest.parsed import parsed
from transforms.gold.throttle_compliance.build import BUILD

SECONDS = 95


def test_every_table_about_moves_has_rows(tmp_path):
    # Only the client lines have the topic's name.
    lines = [line for _, line in [*of_moves(SECONDS), *of_clients(SECONDS)]]
    silver, _ = parsed(rows_of_bronze(lines), tmp_path)
    inputs = WholeInputs(silver)
    gold = gold_of_all(BUILD, inputs)

    assert [table.name for table in (*MOVES, CLUSTER_POLLS) if not inputs.has(table)] == []
    assert [table.name for table, rows in gold.items() if not rows.num_rows] == []
    unread = silver[QUARANTINE].to_table()["position"].to_pylist()
    assert [position for position in unread if "of-moves" in position] == []
