"""Parser options in a checkpoint."""

import pytest

from engine.streams.audit.findings import StateError
from engine.streams.log import StreamLog
from engine.streams.parser_options import check_options


def begin_batch(checkpoint, batch):
    StreamLog(checkpoint).offsets_file(batch).parent.mkdir(parents=True, exist_ok=True)
    StreamLog(checkpoint).offsets_file(batch).write_text("v1")


def test_settings_may_change_between_batches_but_not_within_one(tmp_path):
    check_options(tmp_path, "labels=64")
    check_options(tmp_path, "labels=32")
    begin_batch(tmp_path, 0)
    check_options(tmp_path, "labels=32")

    with pytest.raises(StateError, match="begun with other settings: labels=32; they are now labels=64"):
        check_options(tmp_path, "labels=64")
    StreamLog(tmp_path).commits_file(0).parent.mkdir(parents=True, exist_ok=True)
    StreamLog(tmp_path).commits_file(0).write_text("v1")
    check_options(tmp_path, "labels=64")
