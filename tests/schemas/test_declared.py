"""The lists of tables are found in the modules that declare them."""

import sys

from jobs.maintain import ALL
from schemas import gold
from schemas.bronze import BRONZE
from schemas.declared import declared
from schemas.gold.run_comparison import RUN_COMPARISON
from schemas.silver import SILVER

MODULE = """
from pyspark.sql.types import LongType, StructType
from schemas.bronze import REQUEST_LOG
from schemas.fields import Table, column

{name} = Table(
    layer="gold",
    name="{name}",
    about="A test.",
    key=("n",),
    schema=StructType([column("n", LongType(), "number")]),
)
AGAIN = {name}
"""


def test_a_new_module_adds_its_table_once_and_no_table_of_another_layer(tmp_path, monkeypatch):
    package = tmp_path / "made_tables"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("second", "first"):
        (package / f"{name}.py").write_text(MODULE.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)

    found = declared("made_tables", [str(package)], "gold")

    assert [table.name for table in found] == ["first", "second"]
    for name in ("made_tables", "made_tables.first", "made_tables.second"):
        sys.modules.pop(name)


def test_each_gold_table_of_a_warehouse_is_declared_in_a_module_of_its_name():
    for table in gold.GOLD:
        module = sys.modules[f"schemas.gold.{table.name}"]
        assert vars(module)[table.name.upper()] is table


def test_tables_computed_on_read_are_not_in_a_warehouse():
    on_read = {table.name for table in gold.ALL if "Computed on read" in table.about}

    assert on_read
    assert on_read == {table.name for table in gold.ALL if not table.is_stored}


def test_maintenance_covers_every_table_of_a_warehouse():
    assert set(ALL) == {*BRONZE, *SILVER, *gold.GOLD}
    assert RUN_COMPARISON in ALL
