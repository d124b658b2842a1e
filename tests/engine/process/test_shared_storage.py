"""A folder that executors do not share with the driver is found out before a table is written into."""

import pytest

from engine.process.shared_storage import NotSharedError, check_shared


class FakeSession:
    """A session that says it runs on a cluster; of what executors write, `kept` per cent is not seen."""

    def __init__(self, spark, kept=0):  # noqa: D107 (as the class says)
        self._spark, self._kept, self.sparkContext = spark, kept, self
        self.master, self.defaultParallelism = "spark://somewhere:7077", 2

    def range(self, start, end, step, tasks):  # noqa: D102 (Spark's own)
        return self._spark.range(start + (end - start) * self._kept // 100, end, step, tasks)


@pytest.mark.parametrize("kept", [50, 1])
def test_rows_that_are_not_seen_here_end_the_job(spark, tmp_path, kept):
    with pytest.raises(NotSharedError, match=f"of 400 rows they wrote {400 - 4 * kept} are here"):
        check_shared(FakeSession(spark, kept), tmp_path)


def test_a_shared_folder_is_as_before(spark, tmp_path):
    check_shared(FakeSession(spark), tmp_path / "new")

    assert list((tmp_path / "new").iterdir()) == []


def test_one_process_is_not_asked(spark, tmp_path):
    check_shared(spark, tmp_path / "new")

    assert not (tmp_path / "new").exists()
