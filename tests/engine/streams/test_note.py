"""Notes in a checkpoint."""

from engine.streams.note import epochs, note_epochs

A, B = ("t", 0), ("t", 1)


def test_the_epoch_before_an_offset_is_known_where_the_batch_before_ended(tmp_path):
    note_epochs(tmp_path, {A: 10, B: 5}, {A: 3, B: 4})

    assert epochs(tmp_path, {A: 10, B: 5}) == {A: 3, B: 4}
    assert epochs(tmp_path, {A: 12, B: 5}) == {B: 4}


def test_a_partition_without_new_records_keeps_its_epoch_and_an_unknown_epoch_replaces_an_old_one(tmp_path):
    note_epochs(tmp_path, {A: 10, B: 5}, {A: 3, B: 4})
    note_epochs(tmp_path, {A: 20, B: 5}, {})

    assert epochs(tmp_path, {A: 20, B: 5}) == {B: 4}


def test_a_missing_or_torn_note_knows_nothing(tmp_path):
    assert epochs(tmp_path, {A: 10}) == {}
    for torn in ("", "{", "[3]", '[["t", 0, 1]]', "{}"):
        (tmp_path / "plumbline-epochs.json").write_text(torn)
        assert epochs(tmp_path, {A: 10}) == {}
