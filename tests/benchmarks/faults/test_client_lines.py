"""The client lines of the fault campaign make rows of every table about clients."""

from benchmarks.faults.lines.all_lines import rows_of_bronze
from benchmarks.faults.lines.client_lines import CLIENTS, MOVES_EVERY_S, PARTITIONS, of_clients
from benchmarks.faults.oracles import GOLD_OF_CLIENTS
from engine.gold.inputs import WholeInputs, gold_of_all
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import PERF_TEST
from schemas.silver.topics import TOPICS
from tests.engine.ingest.parsed import parsed
from transforms.gold.builds import BUILDS

SECONDS = 130


def test_every_table_about_clients_has_rows(tmp_path):
    lines = [line for _, line in of_clients(SECONDS)]
    silver, tally = parsed(rows_of_bronze(lines), tmp_path)
    inputs = WholeInputs(silver)
    builds = [build for build in BUILDS if build.tables[0] in GOLD_OF_CLIENTS]
    gold = {table: rows for build in builds for table, rows in gold_of_all(build, inputs).items()}

    assert {key.outcome for key in tally.outcomes} == {"kept"}
    assert sum(tally.outcomes.values()) == len(lines)
    wanted = (TOPICS, LEADERSHIP_CHANGES, *PERF_TEST, *GOLD_OF_CLIENTS)
    has_rows = {table: rows.num_rows > 0 for table, rows in gold.items()}
    has_rows |= {table: inputs.has(table) for table in silver}
    assert [table.name for table in wanted if not has_rows[table]] == []


def test_both_clients_run_into_each_move():
    lines = [line.value for _, line in of_clients(3 * MOVES_EVERY_S)]

    assert sum(b'"errorCode":6' in line for line in lines) == 2 * len(CLIENTS)
    assert sum(b" starts at leader epoch " in line for line in lines) == 2 * len(PARTITIONS)
