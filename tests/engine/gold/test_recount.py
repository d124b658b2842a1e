"""Every line is counted in another process: no batch waits for it, and a count that fails is tried again."""

import signal
import uuid

import pytest

from conf.progress import Progress
from engine.delta import tables
from engine.gold import data_quality, recount
from engine.gold.data_quality import rebuild_data_quality
from engine.gold.recount import Recount
from schemas.bronze import REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import arrow, request
from transforms.frames import arrow_of


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """Make three lines, the last one sent twice; a count is always due."""
    monkeypatch.setattr(recount, "EVERY_S", 0.0)
    monkeypatch.setattr(recount, "SHARE", 1e9)
    tables.make(tmp_path, DATA_QUALITY)
    for second in (1, 2, 3, 3):
        line = request(second)
        row = dict(zip(REQUESTS.schema.names, line, strict=True))
        raw = {name: row[name] for name in ("cluster", "node", "source", "position")} | {
            "kind": "request-log"
        }
        for table, rows in (
            (REQUEST_LOG, arrow_of([raw], REQUEST_LOG.schema)),
            (REQUESTS, arrow(REQUESTS, [line])),
        ):
            tables.append_rows(rows, tmp_path, table, txn_app_id=str(uuid.uuid4()))
    return tmp_path


def counts(warehouse):
    return tables.snapshot(warehouse, DATA_QUALITY).all_rows(DATA_QUALITY.schema.names).read_all().to_pylist()


def test_a_count_in_another_process_reads_no_line_here_and_gives_the_same_rows(warehouse, monkeypatch):
    def read(*_):
        message = "this process read lines"
        raise AssertionError(message)

    with monkeypatch.context() as patched, Recount(warehouse, Progress()) as counting:
        patched.setattr(data_quality, "data_quality", read)
        counting.after_batch()
        counting._process.join(60)
    found = counts(warehouse)

    rebuild_data_quality(warehouse)
    assert found == counts(warehouse)
    assert [(row["lines_read"], row["kept"], row["duplicates"]) for row in found] == [(4, 3, 1)]


def test_a_batch_does_not_wait_for_a_running_count_and_begins_no_second_one(warehouse):
    with Recount(warehouse, Progress()) as counting:
        counting.after_batch()
        process = counting._process
        counting.after_batch()
        assert (counting._process, process.is_alive()) == (process, True)

    assert process.exitcode == -signal.SIGKILL


def test_a_count_that_fails_is_reported_and_tried_again(warehouse, capfd):
    lost = next((warehouse / "silver" / "requests").rglob("*.parquet"))
    away = lost.rename(warehouse / "away")
    with Recount(warehouse, Progress()) as counting:
        counting.after_batch()
        counting._process.join(60)
        away.rename(lost)
        for _ in range(2):
            counting.after_batch()
        counting._process.join(60)

    reported = capfd.readouterr().err
    assert reported.count("counting every line failed with exit code 1") == 1
    assert lost.name in reported
    assert [row["is_balanced"] for row in counts(warehouse)] == [True]
