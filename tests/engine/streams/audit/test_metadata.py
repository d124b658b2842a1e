"""Spark's own view of a checkpoint whose `metadata` file is lost, before and after the repair."""

import pytest

from engine.streams.audit.findings import apply_repairs
from engine.streams.audit.metadata import METADATA, lost_metadata, torn_metadata


@pytest.fixture
def run_stream(spark, tmp_path):
    """Return a function that adds one input file, runs a query over new files, and returns its rows."""
    lines, checkpoint = tmp_path / "lines", tmp_path / "checkpoint"
    lines.mkdir()

    def run():
        (lines / f"{len(list(lines.iterdir()))}.txt").write_text("a line\n")
        read = spark.readStream.text(str(lines)).writeStream.format("noop")
        query = read.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        return sum(progress.numInputRows for progress in query.recentProgress)

    return run


def test_spark_refuses_a_checkpoint_without_its_metadata_file(run_stream, tmp_path):
    """The test covers Spark itself, to notice a release that no longer refuses."""
    run_stream()
    (tmp_path / "checkpoint" / METADATA).unlink()

    with pytest.raises(Exception, match="STREAMING_CHECKPOINT_MISSING_METADATA_FILE"):
        run_stream()


@pytest.mark.parametrize("how", ["torn", "gone"])
def test_spark_continues_after_the_last_batch_after_the_repair(run_stream, tmp_path, how):
    file = tmp_path / "checkpoint" / METADATA
    run_stream()
    file.write_text("") if how == "torn" else file.unlink()

    apply_repairs([*torn_metadata(file.parent), *lost_metadata(file.parent)], lambda _: None)

    assert run_stream() == 1
