"""The values of all metrics at instants: the one function that the exporter and the backtest share."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from conf.export import Export
from serving.exporter.queries.brokers import BROKERS, PREPARE
from serving.exporter.queries.clients import CLIENTS, THROTTLES
from serving.exporter.tables import GoldTables

PREFIX = "plumbline_"


@dataclass(frozen=True, slots=True)
class ExportedSample:
    """One value of one series."""

    name: str
    labels: tuple[tuple[str, str], ...]
    at: float
    value: float


def samples(gold: GoldTables, instants: Iterable[float], limits: Export) -> list[ExportedSample]:
    """Tell what is known of each instant: settled gold up to it, as old as the limits allow."""
    for name, value in asdict(limits).items():
        gold.db.execute(f"SET VARIABLE {name} = {value:d}")
    gold.db.execute("CREATE OR REPLACE TEMP TABLE instants (moment DOUBLE)")
    gold.db.execute("INSERT INTO instants SELECT unnest(?::DOUBLE[])", [list(instants)])
    gold.db.execute(PREPARE)
    told: list[ExportedSample] = []
    for query in (*BROKERS, *CLIENTS, *THROTTLES):
        asked = gold.db.execute(query)
        columns = [column[0] for column in asked.description or ()]
        told += _of_rows(columns, asked.fetchall())
    return told


def _of_rows(columns: list[str], rows: list[tuple[object, ...]]) -> Iterable[ExportedSample]:
    named = [nth for nth, column in enumerate(columns) if column.startswith(PREFIX)]
    labelled = [
        (nth, column) for nth, column in enumerate(columns) if column != "moment" and nth not in named
    ]
    at = columns.index("moment")
    for row in rows:
        labels = tuple((column, str(row[nth])) for nth, column in labelled if row[nth] is not None)
        for nth in named:
            if (value := row[nth]) is not None:
                yield ExportedSample(columns[nth], labels, float(str(row[at])), float(str(value)))
