"""The move lines of the fault campaign make rows of every table about throttles and moves."""

from benchmarks.faults.lines.all_lines import rows_of_bronze
from benchmarks.faults.lines.client_lines import of_clients
from benchmarks.faults.lines.move_lines import of_moves
from conf.settings import Settings
from engine.gold.inputs import WholeInputs, gold_of_all
from engine.ingest.parsed_files import parse_into
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.throttles import CLUSTER_POLLS, MOVES
from transforms.gold.throttle_compliance.build import BUILD

SECONDS = 95


def test_every_table_about_moves_has_rows(spark, tmp_path):
    # Only the client lines have the topic's name.
    lines = [line for _, line in [*of_moves(SECONDS), *of_clients(SECONDS)]]
    silver, _ = parse_into(rows_of_bronze(spark, lines), tmp_path / "silver", Settings())
    inputs = WholeInputs.of_frames(silver)
    gold = gold_of_all(BUILD, inputs)

    assert [table.name for table in (*MOVES, CLUSTER_POLLS) if not inputs.has(table)] == []
    assert [table.name for table, rows in gold.items() if not rows.num_rows] == []
    assert not silver[QUARANTINE].filter("position LIKE '%of-moves%'").count()
