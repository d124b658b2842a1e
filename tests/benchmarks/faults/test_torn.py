"""Torn files of a stream's state: one for each outcome; the campaign runs all of them repeatedly."""

import json
import random
from types import SimpleNamespace

import pytest

from benchmarks.faults import harm
from benchmarks.faults.state import tears
from benchmarks.faults.state.torn import FAULTS, is_of_newest_batch
from schemas.silver.not_kept import SKIPPED


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.parametrize("name", ["torn last offsets", "torn last entry of silver", "lost checkpoint"])
def test_a_torn_file_is_repaired_or_named_and_no_line_is_lost_or_doubled(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []


@pytest.mark.parametrize("how", ["gone", "half"])
def test_a_missing_file_cannot_be_torn(tmp_path, how):
    with pytest.raises(FileNotFoundError):
        harm.tear(tmp_path / "0", how)


@pytest.mark.parametrize(("entry_of", "is_newest"), [(3, True), (2, False)])
def test_an_entry_is_compared_with_the_newest_batch_of_its_own_query(tmp_path, entry_of, is_newest):
    written = SimpleNamespace(
        root=tmp_path, settings=SimpleNamespace(warehouse=SimpleNamespace(checkpoints=tmp_path))
    )
    for query, begun in zip(tears.QUERIES, (2, 3), strict=True):
        (tmp_path / query / "offsets").mkdir(parents=True)
        (tmp_path / query / "offsets" / str(begun)).touch()
    log = tmp_path / SKIPPED.layer / SKIPPED.name / "_delta_log"
    log.mkdir(parents=True)
    for version, batch in enumerate((1, entry_of)):
        txn = {"txn": {"appId": "ingest_scrapes-50161dad", "version": batch}}
        (log / f"{version:020}.json").write_text('{"commitInfo":{}}\n' + json.dumps(txn) + "\n")

    assert is_of_newest_batch(written, SKIPPED) == is_newest
