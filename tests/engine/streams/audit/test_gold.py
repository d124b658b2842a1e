"""The audit of gold: torn files are set aside, because gold can be built again."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from engine.delta.log_state import entry_file, log_state
from engine.streams.audit.findings import StateError, apply_repairs
from engine.streams.audit.gold import gold_repairs
from engine.streams.log import COMMITTED, StreamLog, is_json
from engine.streams.note import note_versions

OFFSET = '{"sourceVersion":1,"reservoirId":"r","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'


class Gold:
    """A gold stream of three batches over one silver table."""

    def __init__(self, root):
        """Write the tables and the checkpoint."""
        self.root, self.log = root, StreamLog(root / "checkpoint")
        self.silver, self.table = root / "silver" / "requests", root / "gold" / "broker_rtt"
        for where in (self.silver, self.table):
            where.mkdir(parents=True)
            for _ in range(3):
                write_deltalake(where, pa.table({"n": [1]}), mode="append")
        for name in ("offsets", "commits"):
            (self.log.folder / name).mkdir(parents=True)
        (self.log.folder / "metadata").write_text('{"id":"x"}')
        for batch in range(3):
            self.log.offsets_file(batch).write_text(f"v1\n{{}}\n{OFFSET % (batch + 1)}")
            self.log.commits_file(batch).write_text(COMMITTED)

    def audit(self):
        """Audit and repair; a second audit must find nothing more."""
        messages = []
        apply_repairs(self.repairs(), messages.append)
        assert self.repairs() == []
        return messages

    def repairs(self):
        """Return the repairs that the audit finds."""
        return gold_repairs(self.log.folder, [self.table], [self.silver])


@pytest.fixture
def gold(tmp_path):
    return Gold(tmp_path)


def test_a_whole_state_needs_no_mending(gold):
    assert gold.repairs() == []


def test_a_replacement_without_a_row_is_no_torn_entry(gold):
    """Commits of gold have no batch id; a replacement that removes and adds nothing has no action at all."""
    log = DeltaTable(str(gold.table))
    log.create_write_transaction([], mode="append", schema=log.schema(), partition_by=[])

    assert gold.repairs() == []


def test_torn_last_offsets_and_commits_are_set_aside(gold):
    gold.log.offsets_file(2).write_text("v1\n{")
    gold.log.commits_file(1).write_text("")

    assert len(gold.audit()) == 3
    assert (gold.log.offsets, gold.log.commits) == ([0, 1], [0])


def test_a_torn_commit_is_set_aside_also_if_the_commits_after_it_are_lost(gold):
    """Spark would read it, because it is the newest that is left (found by the nemesis: a power cut)."""
    gold.log.commits_file(1).write_bytes(bytes(29))
    gold.log.commits_file(2).unlink()

    (message,) = gold.audit()

    assert f"{gold.log.commits_file(1)} is torn" in message
    assert (gold.log.offsets, gold.log.commits) == ([0, 1, 2], [0])


def test_an_old_torn_commit_that_nobody_reads_stays(gold):
    gold.log.commits_file(0).write_bytes(b"")

    assert gold.repairs() == []


def test_a_hole_in_the_offsets_lets_the_stream_start_over(gold):
    gold.log.offsets_file(1).unlink()
    gold.log.offsets_file(0).unlink()
    gold.audit()

    assert (gold.log.offsets, gold.log.commits) == ([], [])


def test_a_torn_last_entry_of_a_gold_table_is_set_aside_and_gold_is_built_again(gold):
    max((gold.table / "_delta_log").glob("*.json")).write_text("")
    gold.audit()

    assert (log_state(gold.table).version, gold.log.offsets) == (1, [])


def test_a_torn_entry_that_no_finished_batch_noted_is_set_aside_and_its_batch_is_retried(gold):
    """A power cut tears the commit of the batch that was under way; the others stay."""
    note_versions(gold.log.folder, {gold.table.name: 1})
    gold.log.commits_file(2).unlink()
    max((gold.table / "_delta_log").glob("*.json")).write_text("")

    (message,) = gold.audit()

    assert "00000000000000000002.json is torn, or its files are; no finished batch wrote it" in message
    assert (log_state(gold.table).version, gold.log.offsets, gold.log.commits) == (1, [0, 1, 2], [0, 1])


def test_gold_that_has_read_what_silver_no_longer_has_is_built_again(gold):
    """Silver was set back; other rows will get the versions that gold has read."""
    for version in (2, 1):
        (gold.silver / "_delta_log" / f"{version:020}.json").unlink()
    gold.audit()

    assert gold.log.offsets == []


@pytest.mark.parametrize("table", ["silver", "table"])
def test_a_hole_in_a_log_stops_the_job_and_is_named(gold, table):
    file = getattr(gold, table) / "_delta_log" / f"{1:020}.json"
    file.unlink()

    with pytest.raises(StateError, match=file.name):
        gold.repairs()


@pytest.mark.parametrize("how", ["torn", "gone"])
def test_a_lost_query_id_is_replaced_by_a_new_one(gold, how):
    """Spark 4.2 refuses a checkpoint that has batches and no `metadata`."""
    file = gold.log.folder / "metadata"
    file.write_text("") if how == "torn" else file.unlink()

    assert "it is written with a new query id" in gold.audit()[-1]
    assert is_json(file)
    assert gold.log.offsets == [0, 1, 2]


def test_a_gold_stream_that_starts_over_gets_its_query_id_from_spark(gold):
    (gold.log.folder / "metadata").unlink()
    for batch in range(3):
        gold.log.offsets_file(batch).write_text("")
    gold.audit()

    assert not (gold.log.folder / "metadata").exists()


def test_a_gold_table_that_lost_its_newest_entry_lets_the_stream_start_over(gold):
    note_versions(gold.log.folder, {gold.table.name: 2})
    assert gold.repairs() == []
    max((gold.table / "_delta_log").glob("*.json")).unlink()

    assert "broker_rtt lost its newest entries" in gold.audit()[-1]
    assert (gold.log.offsets, gold.log.commits) == ([], [])


@pytest.mark.parametrize("how", ["torn", "gone"])
def test_an_entry_that_the_stream_is_yet_to_read_counts_though_a_checkpoint_is_newer(gold, how):
    for _ in range(2):
        write_deltalake(gold.silver, pa.table({"n": [1]}), mode="append")
    DeltaTable(gold.silver).create_checkpoint()
    assert gold.repairs() == []
    unread = entry_file(gold.silver / "_delta_log", 3)
    unread.write_text("{") if how == "torn" else unread.unlink()

    gold.audit()
    assert gold.log.offsets == []


@pytest.mark.parametrize("done", range(4))
@pytest.mark.parametrize("how", ["torn", "gone"])
def test_an_interrupted_repair_is_continued(gold, how, done):
    note_versions(gold.log.folder, {gold.table.name: 2})
    newest = entry_file(gold.table / "_delta_log", 2)
    newest.write_text("{") if how == "torn" else newest.unlink()
    repairs = gold.repairs()
    for repair in repairs[:done]:
        repair.do()

    gold.audit()
    assert len(repairs) == (4 if how == "torn" else 3)
    assert (log_state(gold.table).version, gold.log.offsets, gold.log.commits) == (1, [], [])


def test_an_entry_with_a_line_separator_in_a_name_is_whole(gold):
    """JSON may contain U+2028 unescaped, and a cluster name may contain it."""
    entry = entry_file(gold.table / "_delta_log", 2)
    with_separator = entry.read_text().replace('"operation":"', '"operation":"\u2028\x85')
    entry.write_text(with_separator, encoding="utf-8")

    assert len(with_separator.splitlines()) > len(with_separator.strip().split("\n"))
    assert gold.repairs() == []
