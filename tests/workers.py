"""
Which worker of pytest-xdist runs which file, and in which order.

Every worker that runs a file with the fixture `lab` starts a cluster of four JVMs, which lives as long as the
worker. So one worker runs these files, and another one gets some only when nothing else is left.
"""

from xdist.scheduler import LoadFileScheduling

WITH_LAB = ("tests/cluster/", "tests/dags/test_dag_runs.py", "tests/live/")
OWN_BROKERS = (
    "tests/live/test_secured.py",
    "tests/live/test_rolling_upgrade.py",
    "tests/live/test_sample.py",
    "tests/live/test_other_brokers.py",
    "tests/live/test_lab_crash.py",
)
"""Files that start brokers of their own and do not use `lab`."""

LONGEST_FIRST = (
    "tests/dags/test_dag_runs.py",
    "tests/live/test_privacy.py",
    "tests/cluster/test_standalone.py",
    "tests/live/test_kafka_losses.py",
    "tests/live/test_ingest.py",
    *OWN_BROKERS,
)
"""Files of a minute or more: one that started last would leave the other worker idle."""


def file_of(nodeid):
    """Return the path of a test's file."""
    return nodeid.split("::", 1)[0]


def uses_lab(file):
    """Return whether tests of a file share the cluster of their worker."""
    return file.startswith(WITH_LAB) and file not in OWN_BROKERS


def place(file):
    """Return the sort key of a file: the longest first, the others stay in their order."""
    return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST)


class OneLabScheduling(LoadFileScheduling):
    """`--dist loadfile`, but the first worker takes the files with `lab`, and the others take them last."""

    _lab_worker = None

    def _assign_work_unit(self, node):
        if self._lab_worker not in self.nodes:
            self._lab_worker = node
        is_wanted = node is self._lab_worker
        first = next((file for file in self.workqueue if uses_lab(file) == is_wanted), None)
        if first:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)
