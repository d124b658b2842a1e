"""
Which worker of pytest-xdist runs which file, and in which order.

A worker that runs a file with the fixture `lab` starts a cluster of four JVMs, which lives as long as the
worker. So one worker runs these files, and another one gets some only when nothing else is left. Files that
start brokers of their own mostly wait. So a third worker runs them on the same two cores. Then it ends: most
other files would start a Spark session in it.
"""

from enum import Enum, auto
from itertools import count

from xdist.scheduler import LoadFileScheduling


class FileKind(Enum):
    """What the tests of a file start."""

    LAB = auto()
    BROKERS = auto()
    OTHER = auto()


WITH_LAB = ("tests/cluster/", "tests/dags/test_dag_runs.py", "tests/live/")
WITHOUT_LAB = ("tests/live/test_rolling_upgrade.py",)
"""A file of these folders that uses a cluster and a Spark session of its own."""

OWN_BROKERS = (
    "tests/live/test_secured.py",
    "tests/live/test_sample.py",
    "tests/live/test_other_brokers.py",
    "tests/live/test_lab_crash.py",
)
"""Files that start brokers, and neither `lab` nor Spark in the process of the tests."""

LONGEST_FIRST = (
    "tests/dags/test_dag_runs.py",
    "tests/live/test_ingest.py",
    "tests/cluster/test_standalone.py",
    "tests/live/test_kafka_losses.py",
    "tests/live/test_privacy.py",
    *WITHOUT_LAB,
    *OWN_BROKERS,
)
"""
Files of a minute or more: one that started last would leave the other worker idle.

The first three read all logs of the lab, which grow.
"""

PREFERRED = (
    (FileKind.LAB, FileKind.OTHER, FileKind.BROKERS),
    (FileKind.OTHER, FileKind.BROKERS, FileKind.LAB),
    (FileKind.BROKERS,),
)
"""What the first, second and third worker run, the first kind first. More workers do as the second."""


def file_of(nodeid):
    """Return the path of a test's file."""
    return nodeid.split("::", 1)[0]


def kind_of(file):
    """Return what the tests of a file start."""
    if file in OWN_BROKERS:
        return FileKind.BROKERS
    return FileKind.LAB if file.startswith(WITH_LAB) and file not in WITHOUT_LAB else FileKind.OTHER


def place(file):
    """Return the sort key of a file: the longest first, the others stay in their order."""
    return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST)


class KindScheduling(LoadFileScheduling):
    """`--dist loadfile`, but each worker prefers files of one kind."""

    def __init__(self, config, log=None):
        """Begin without workers."""
        super().__init__(config, log)
        self._numbers = {}

    def _preferred(self, node):
        """Return the next file for a worker, or None if only files are left that it does not run."""
        self._numbers = {worker: n for worker, n in self._numbers.items() if worker in self.nodes}
        free = (n for n in count() if n not in self._numbers.values())
        number = self._numbers.setdefault(node, next(free))
        kinds = PREFERRED[number] if number < len(PREFERRED) else PREFERRED[1]
        return next((file for kind in kinds for file in self.workqueue if kind_of(file) is kind), None)

    def _assign_work_unit(self, node):
        if file := self._preferred(node):
            self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node):
        if node.shutting_down or self._preferred(node):
            super()._reschedule(node)
        else:
            node.shutdown()
