"""Which worker runs which file in `make test`."""

import subprocess
from collections import defaultdict
from types import SimpleNamespace

import pytest

from conf.settings import PROJECT
from tests.workers import LONGEST_FIRST, FileKind, KindScheduling, file_of, kind_of, place

LAB = ["tests/live/test_ingest.py", "tests/live/test_collectors.py", "tests/live/test_experiment.py"]
BROKERS = ["tests/live/test_secured.py", "tests/live/test_sample.py"]
OTHERS = ["tests/live/test_rolling_upgrade.py", "tests/answers/test_gold.py", "tests/jobs/test_report.py"]
FILES = sorted([*LAB, *BROKERS, *OTHERS])
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
        """End after the tests that were taken."""
        self.shutting_down = True


def scheduled(n, files=FILES):
    """Return a scheduler that has begun, and its workers."""
    collected = [f"{file}::test_{number}" for file in files for number in range(TESTS_PER_FILE)]
    options = SimpleNamespace(loadscopereorder=False)
    scheduler = KindScheduling(SimpleNamespace(option=options, getvalue=lambda _name: ["popen"] * n))
    workers = [FakeWorker(f"gw{number}", collected) for number in range(n)]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, collected)
    scheduler.schedule()
    return scheduler, workers


def finish(scheduler, worker):
    """Run all tests that one worker gets while the others run none."""
    while worker.waiting:
        scheduler.mark_test_complete(worker, worker.waiting.pop(0))


def kinds(worker):
    return [kind_of(file) for file in worker.files]


def test_each_worker_begins_with_its_kind_of_files():
    _, workers = scheduled(3)
    assert [kinds(worker) for worker in workers] == [[FileKind.LAB], [FileKind.OTHER], [FileKind.BROKERS]]


def test_the_third_worker_ends_after_the_files_with_own_brokers():
    scheduler, (_, _, third) = scheduled(3)
    finish(scheduler, third)
    assert (sorted(third.files), third.shutting_down) == (sorted(BROKERS), True)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("order", [1, -1])
def test_every_file_runs_once_however_many_workers_there_are_and_whichever_is_quick(n, order):
    scheduler, workers = scheduled(n)
    for worker in workers[::order]:
        finish(scheduler, worker)
    assert sorted(file for worker in workers for file in worker.files) == FILES
    assert scheduler.tests_finished


def test_the_second_worker_takes_files_with_the_lab_last():
    scheduler, (_, second) = scheduled(2)
    finish(scheduler, second)
    assert kinds(second) == [FileKind.OTHER] * 3 + [FileKind.BROKERS] * 2 + [FileKind.LAB] * 2


def test_without_files_of_its_kind_a_worker_takes_another_one():
    _, workers = scheduled(3, OTHERS)
    assert sorted(file for worker in workers for file in worker.files) == sorted(OTHERS)


def test_a_worker_that_replaces_a_lost_one_takes_its_kind():
    scheduler, (first, *_) = scheduled(3)
    scheduler.remove_node(first)
    replacement = FakeWorker("gw3", first.collected)
    scheduler.add_node(replacement)
    scheduler.add_node_collection(replacement, first.collected)
    scheduler.schedule()
    assert kinds(replacement)[0] is FileKind.LAB


def test_the_longest_files_come_first_and_exist():
    files = ["tests/answers/test_gold.py", *reversed(LONGEST_FIRST), "tests/conf/test_names.py"]
    assert sorted(files, key=place) == [*LONGEST_FIRST, files[0], files[-1]]
    assert [file for file in LONGEST_FIRST if not (PROJECT / file).is_file()] == []


def test_files_with_the_lab_are_those_whose_tests_use_it(request):
    """Of the tests that are collected in this run; in `make test` these are all."""
    has_lab, has_spark = defaultdict(bool), defaultdict(bool)
    for item in request.session.items:
        if item.get_closest_marker("live") and not item.get_closest_marker("faults"):
            has_lab[file_of(item.nodeid)] |= "lab" in item.fixturenames
            has_spark[file_of(item.nodeid)] |= "spark" in item.fixturenames
    assert {file: kind_of(file) is FileKind.LAB for file in has_lab} == has_lab
    assert not any(has_spark[file] for file in has_spark if kind_of(file) is FileKind.BROKERS)


def test_a_command_runs_on_idle_cores_or_not_at_all():
    """Next to tests that measure, nothing may run on cores that they want."""
    script = PROJECT / "tests" / "on_idle_cores.sh"
    command = [script, "bash", "-c", "cat /proc/self/cgroup; exit 3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, "/plumbline-tests" in done.stdout) in {(3, True), (1, False)}
