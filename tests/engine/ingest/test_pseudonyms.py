"""With a key, silver has hashes instead of names; bronze has the raw line."""

import hashlib
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from conf.settings import Ingest, Settings, WarehouseSettings
from engine.delta import tables
from engine.ingest.batches import write_batch
from engine.ingest.sources import LINES, SOURCES
from jobs.ingest import app
from jobs.replay import restore
from schemas.bronze import RAW, REQUEST_LOG
from schemas.silver.requests import REQUESTS
from tests.jobs.test_replay import UnreadWarehouse
from tests.transforms.parse.records import line
from transforms.frames import frame_of

SOURCE = SOURCES[0]
KEY = "0123456789abcdef0123456789abcdef"


def expected(name):
    """Return the hash of a name by Python's library."""
    inner = hashlib.sha256(f"{KEY}\0{name}".encode()).hexdigest()
    return hashlib.sha256(f"{KEY}\1{inner}".encode()).hexdigest()[:16]


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "key").write_text(KEY + "\n")
    without_key = Settings(warehouse=WarehouseSettings(root=str(tmp_path / "warehouse")))
    return replace(without_key, ingest=Ingest(pseudonym_key_file=str(tmp_path / "key")))


def names(spark, settings):
    """Return the client ids and principals in silver."""
    rows = tables.read(spark, settings.warehouse_root, REQUESTS).orderBy("offset").collect()
    return [(row["client_id"], row["principal"]) for row in rows]


def of_ann():
    """Return a follower's request line with the names of a user's client."""
    return line(**{"principal": "User:ann", "requestHeader.clientId": "payroll"})


def test_names_are_hashed_in_silver_but_not_in_bronze(spark, settings):
    root = settings.warehouse_root
    for table in LINES.tables:
        tables.ensure(spark, root, table)
    row = {"cluster": "lab", "node": "broker-1", "kind": "request-log", "topic": "t", "partition": 0}
    values = [of_ann(), of_ann(), line()]
    raw = [row | {"value": value, "offset": nth, "position": f"p{nth}"} for nth, value in enumerate(values)]
    write_batch(frame_of(spark, raw, RAW), 0, LINES, settings=settings, app_id="a", is_new=True)

    ann = (f"client-{expected('payroll')}", f"User:{expected('User:ann')}")
    assert names(spark, settings)[:2] == [ann, ann]
    assert names(spark, settings)[2][0] == "broker-2-fetcher-0"
    held = tables.read(spark, root, REQUEST_LOG).orderBy("offset").collect()
    assert [bytes(row["value"]) for row in held] == values


def test_names_of_a_line_restored_from_quarantine_are_hashed_too(spark, settings):
    UnreadWarehouse(spark, settings.warehouse_root, [of_ann()])

    restore(spark, settings, SOURCE)

    assert names(spark, settings) == [(f"client-{expected('payroll')}", f"User:{expected('User:ann')}")]


@pytest.mark.parametrize(("text", "message"), [(None, "cannot be read"), ("short", "has 5 characters")])
def test_a_bad_key_ends_the_ingest_before_it_begins(tmp_path, text, message):
    key, conf = tmp_path / f"key-{text}", tmp_path / "my.toml"
    if text is not None:
        key.write_text(text)
    conf.write_text(f'[ingest]\npseudonym_key_file = "{key}"\n')

    done = CliRunner().invoke(app, ["--conf", str(conf)])

    assert done.exit_code == 2
    assert message in done.output
