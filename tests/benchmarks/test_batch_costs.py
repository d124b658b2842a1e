"""The cost of a batch of gold: which log lines are batches, and what CPU time belongs to them."""

import pytest

from benchmarks.pipeline.arms.batch_costs import BatchLog, LoggedBatch, by_stage, costs
from benchmarks.pipeline.usage import Usage

LINES = """counting every line: 0.1 s
batch 7: 412 lines up to 2026-11-26T10:00:00Z, 3 windows of fetches, 1 windows of partition_skew, 0.6 s
batch 8: 0 lines up to 2026-11-26T10:00:10Z, no window, 0.1 s
batch 9: 55 li"""


def test_each_whole_line_of_a_batch_is_read_once(tmp_path):
    file = tmp_path / "build-gold.log"
    file.write_text(LINES)
    log = BatchLog(file)
    log.look(100.0)
    file.write_text(LINES + "nes up to 2026-11-26T10:00:20Z, 2 windows of fetches, 1.5 s\n")
    log.look(110.0)

    assert log.batches == [
        LoggedBatch(100.0, 0.6, ("fetches", "partition_skew")),
        LoggedBatch(100.0, 0.1, ()),
        LoggedBatch(110.0, 1.5, ("fetches",)),
    ]


def test_a_batch_has_the_cpu_time_around_it(monkeypatch):
    used = Usage({"build-gold": list}, clock=lambda: 0.0)
    monkeypatch.setattr(used, "cpu_s", lambda _, begin, end: (end - begin) / 10)
    batches = [LoggedBatch(at, 2.0, ("fetches",)) for at in (10.0, 20.0, 30.0, 40.0)]

    found = costs(batches, used, 11.0, 100.0)

    assert found == [{"builds": ("fetches",), "wall_s": 2.0, "cpu_s": pytest.approx(1.0)}] * 2
    assert costs(batches, used, 15.0, 100.0) == found[1:]
    assert by_stage(batches, used, {"quiet": (15.0, 100.0), "later": (90.0, 99.0)}) == [
        {"stage": "quiet"} | found[1]
    ]
