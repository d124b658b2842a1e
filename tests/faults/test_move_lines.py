"""The lines about moves that are published under kills make rows of every table about throttles and moves."""

from jobs.report_files import Layers, silver_of, throttled_moves
from jobs.sources import SOURCES
from schemas.silver import QUARANTINE
from schemas.throttles import CLUSTER_POLLS, MOVES
from tests.faults.client_lines import of_clients
from tests.faults.move_lines import of_moves
from tests.transforms.parse.raw_rows import raw

SECONDS = 95


def test_every_table_about_moves_has_rows_of_them(spark, tmp_path):
    lines = [line for _, line in [*of_moves(SECONDS), *of_clients(SECONDS)]]  # clients tell the topic's name
    by_kind = {
        source: raw(
            spark,
            [
                {"value": line.value, "node": line.node, "position": line.position}
                for line in lines
                if line.kind == source.kind.value
            ],
            kind=source.kind.value,
        )
        for source in SOURCES
    }
    layers = Layers(spark, tmp_path)
    silver = silver_of(by_kind, layers)
    gold = throttled_moves(silver, layers)

    wanted = (*MOVES, CLUSTER_POLLS, *gold)
    assert [table.name for table in wanted if (silver | gold)[table].isEmpty()] == []
    assert not silver[QUARANTINE].filter("position LIKE '%of-moves%'").count()
