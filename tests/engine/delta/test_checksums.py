"""The checksum file of a version: what Delta Spark reads from it, and that it never lies."""

import json
import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.transaction import CommitProperties, Transaction

from engine.delta import appends, checksums, log_entries
from engine.delta import log_state as state
from engine.delta.checksums import VersionChecksum
from engine.delta.log_state import log_state
from engine.maintain import actions
from schemas.delta_log import open_log
from tests.engine.delta.test_append import add, append, numbers, where  # noqa: F401 (a fixture)


def checksum(where, version):  # noqa: F811
    return json.loads((where / "_delta_log" / f"{version:020}.crc").read_text())


def truth(where):  # noqa: F811
    sizes = pa.table(DeltaTable(where).get_add_actions())["size_bytes"].to_pylist()
    return len(sizes), sum(sizes)


def test_it_counts_the_files_of_its_version(where):  # noqa: F811
    """Also after commits of others: an append of another process, and a commit that removes files."""
    append(where, 1)
    appends._held.__dict__.clear()  # as another process
    append(where, 2, app="other")
    log = DeltaTable(where)
    log.create_write_transaction(
        [add(where, 3)],
        mode="append",
        schema=log.schema(),
        partition_by=["kind"],
        commit_properties=CommitProperties(),
        post_commithook_properties=log_entries.NO_HOOKS,
    )
    append(where, 4)
    assert (checksum(where, 4)["numFiles"], checksum(where, 4)["tableSizeBytes"]) == truth(where)

    DeltaTable(where).delete("n = 2")
    append(where, 5)

    assert (checksum(where, 6)["numFiles"], checksum(where, 6)["tableSizeBytes"]) == truth(where)
    assert checksum(where, 6)["numFiles"] == 4


def test_only_the_newest_are_kept(where):  # noqa: F811
    for n in range(1, checksums.KEPT + 4):
        append(where, n)

    files = sorted(file.name for file in (where / "_delta_log").glob("*.crc"))
    assert len(files) == checksums.KEPT
    assert files[-1] == f"{checksums.KEPT + 3:020}.crc"


@pytest.mark.parametrize("content", [b"", b"\0" * 500, b'{"tableSizeBytes":1,"metad'])
def test_a_torn_one_is_ignored(where, content):  # noqa: F811
    append(where, 1)
    (where / "_delta_log" / f"{1:020}.crc").write_bytes(content)

    assert DeltaTable(where).version() == 1
    appends._held.__dict__.clear()
    assert append(where, 2)


def test_batches_are_known_after_a_restart(where):  # noqa: F811
    """It does not name the batches, so that readers look for them in the log."""
    append(where, 1, version=7)
    appends._held.__dict__.clear()

    assert appends.has_batch(where, Transaction("app", 7))
    assert not append(where, 2, version=7)


def test_spark_reads_the_same_table_with_and_without_it(spark, where):  # noqa: F811
    append(where, 1)
    append(where, 2)
    copy = where.with_name("copy")
    shutil.copytree(where, copy)
    for file in (copy / "_delta_log").glob("*.crc"):
        file.unlink()

    def seen(table):
        detail = spark.sql(f"DESCRIBE DETAIL delta.`{table}`").first().asDict()
        frame = spark.read.format("delta").load(str(table))
        return {name: value for name, value in detail.items() if name not in {"location", "lastModified"}}, (
            frame.schema.json(),
            sorted(tuple(row) for row in frame.collect()),
        )

    assert seen(where) == seen(copy)
    assert seen(where)[0]["numFiles"] == 2


def test_a_listing_that_has_it_and_lacks_the_entry_is_read_again(where, monkeypatch):  # noqa: F811
    """A listing of the folder takes time, so it can show the checksum and not the entry before it."""
    append(where, 1)
    entry = where / "_delta_log" / f"{1:020}.json"
    hidden = entry.with_suffix(".hidden")
    entry.rename(hidden)

    def listed(path, **options):
        try:
            return DeltaTable(path, **options)
        finally:
            if hidden.exists():
                hidden.rename(entry)

    monkeypatch.setattr("schemas.delta_log.DeltaTable", listed)
    assert open_log(where).version() == 1


def test_a_log_that_cannot_be_read_is_an_error(where):  # noqa: F811
    append(where, 1)
    (where / "_delta_log" / f"{1:020}.json").unlink()

    with pytest.raises(DeltaError, match="newer than log segment"):
        open_log(where)


def test_a_commit_stands_if_the_checksum_cannot_be_written(where, monkeypatch):  # noqa: F811
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(VersionChecksum, "write", full)

    assert append(where, 1)
    assert not append(where, 1)


def test_maintain_survives_a_listing_that_lacks_the_entry_of_a_checksum(where):  # noqa: F811
    """Its commit is in the log before it fails, so the second attempt finds nothing to do."""
    for n in range(3):
        append(where, n)
    log, stray, tries = open_log(where), where / "_delta_log" / f"{9:020}.crc", []

    def compact():
        tries.append(1)
        if len(tries) == 1:
            shutil.copy(where / "_delta_log" / f"{3:020}.crc", stray)
        try:
            return log.optimize.compact()
        finally:
            stray.unlink(missing_ok=True)

    actions._retry(log, compact)
    assert len(tries) == 2
    assert pa.table(DeltaTable(where).get_add_actions()).num_rows == 1
    assert numbers(where) == [0, 1, 2]


def test_a_checksum_that_is_written_while_the_state_is_read_confuses_nobody(where, monkeypatch):  # noqa: F811
    append(where, 1)

    def appended(log):
        append(where, 2)
        return checkpoints(log)

    checkpoints = state._checkpoints
    monkeypatch.setattr(state, "_checkpoints", appended)

    assert log_state(where).confusing == ()
