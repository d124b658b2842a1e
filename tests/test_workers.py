"""Which worker runs which file in `make test`."""

from collections import defaultdict
from types import SimpleNamespace

import pytest

from conf.settings import PROJECT
from tests.workers import LONGEST_FIRST, OWN_BROKERS, OneLabScheduling, file_of, place, uses_lab

LAB = ["tests/live/test_ingest.py", "tests/live/test_collectors.py", "tests/live/test_experiment.py"]
OTHERS = ["tests/live/test_secured.py", "tests/answers/test_gold.py", "tests/jobs/test_report.py"]
TESTS_PER_FILE = 4


class FakeWorker:
    """A worker that takes tests and runs none by itself."""

    shutting_down = False

    def __init__(self, name, collected):
        """Begin without work."""
        self.gateway, self.collected = SimpleNamespace(id=name), collected
        self.waiting, self.files = [], []

    def send_runtest_some(self, indexes):
        """Take the tests of a file."""
        self.waiting += indexes
        self.files.append(file_of(self.collected[indexes[0]]))

    def shutdown(self):
        """End when there is no more work."""
        self.shutting_down = True


@pytest.fixture
def two_workers():
    """Return a scheduler that has begun, and its two workers."""
    files = sorted([*LAB, *OTHERS])
    collected = [f"{file}::test_{n}" for file in files for n in range(TESTS_PER_FILE)]
    options = SimpleNamespace(loadscopereorder=False)
    config = SimpleNamespace(option=options, getvalue=lambda _name: ["popen", "popen"])
    scheduler = OneLabScheduling(config, None)
    workers = [FakeWorker("gw0", collected), FakeWorker("gw1", collected)]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, collected)
    scheduler.schedule()
    return scheduler, *workers


def finish(scheduler, worker):
    """Run all tests that one worker gets while the other one runs none."""
    while worker.waiting:
        scheduler.mark_test_complete(worker, worker.waiting.pop(0))


def test_one_worker_takes_the_files_with_the_lab_and_the_other_one_those_without(two_workers):
    _, first, second = two_workers
    assert (uses_lab(first.files[0]), uses_lab(second.files[0])) == (True, False)


def test_a_worker_takes_files_of_the_other_kind_when_no_others_are_left(two_workers):
    scheduler, first, second = two_workers
    finish(scheduler, second)
    assert [uses_lab(file) for file in second.files] == [False, False, False, True, True]
    finish(scheduler, first)
    assert sorted([*first.files, *second.files]) == sorted([*LAB, *OTHERS])


def test_a_worker_that_replaces_a_lost_one_takes_the_files_with_the_lab(two_workers):
    scheduler, first, second = two_workers
    scheduler.remove_node(first)
    finish(scheduler, second)
    assert uses_lab(second.files[1])


def test_the_longest_files_come_first_and_exist():
    files = ["tests/answers/test_gold.py", *reversed(LONGEST_FIRST), "tests/conf/test_names.py"]
    assert sorted(files, key=place) == [*LONGEST_FIRST, files[0], files[-1]]
    assert [file for file in LONGEST_FIRST if not (PROJECT / file).is_file()] == []
    assert set(OWN_BROKERS) < set(LONGEST_FIRST)


def test_files_with_the_lab_are_those_whose_tests_use_it(request):
    """Of the tests that are collected in this run; in `make test` these are all."""
    has_lab = defaultdict(bool)
    for item in request.session.items:
        if item.get_closest_marker("live"):
            has_lab[file_of(item.nodeid)] |= "lab" in item.fixturenames
    assert {file: uses_lab(file) for file in has_lab} == has_lab
