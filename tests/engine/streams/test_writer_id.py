"""Who writes: an id is made as long as nothing can have been written under another."""

import pytest

from engine.streams.log import StreamLog
from engine.streams.writer_id import WRITER_ID, known_writer_id, writer_id


@pytest.mark.parametrize("kept", [None, "", "\x00" * 36])
def test_a_checkpoint_without_a_batch_gets_an_id_though_spark_has_made_its_folders(tmp_path, kept):
    """The topic of such a stream has no line yet."""
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    if kept is not None:
        (tmp_path / WRITER_ID).write_text(kept)

    assert writer_id(tmp_path) == known_writer_id(tmp_path) == writer_id(tmp_path)


@pytest.mark.parametrize("of", ["offsets", "commits"])
def test_a_checkpoint_with_a_batch_does_not_get_another_id(tmp_path, of):
    log = StreamLog(tmp_path)
    if of == "offsets":
        log.write_ends(0, {("t", 0): 1})
    else:
        log.write_commit(0)

    with pytest.raises(ValueError, match=f"has lost its {WRITER_ID}"):
        writer_id(tmp_path)
