"""Results of queries that are used again, in bounded memory."""

import threading
import time

import pytest

from answers.gold.result_cache import MOST_RESULTS, ResultCache

MOST_ROWS = 10
HALF = MOST_ROWS // 2


def read_again(cache, results):
    """Ask for results of so many rows, by name; return the names of those that were read."""
    read = []

    def reads(name, rows):
        return lambda: (read.append(name), [{}] * rows)[1]

    for name, rows in results.items():
        assert len(cache.rows((name,), reads(name, rows))) == rows
    return "".join(read)


@pytest.mark.parametrize(
    ("first", "then", "read"),
    [
        ({"a": HALF, "b": HALF}, {"a": HALF, "b": HALF}, ""),
        ({"a": HALF, "b": HALF, "c": 1}, {"b": HALF, "c": 1, "a": HALF}, "a"),
        ({"a": 1, "b": 1, "c": MOST_ROWS}, {"c": MOST_ROWS, "a": 1}, "a"),
        ({"a": 1, "b": MOST_ROWS + 1}, {"a": 1, "b": MOST_ROWS + 1}, "b"),
        ({"a": 0, "b": 0}, {"a": 0, "b": 0}, ""),
    ],
    ids=["as many rows as fit", "the oldest goes", "all others go", "too large", "without rows"],
)
def test_the_newest_results_are_used_again(first, then, read):
    cache = ResultCache(MOST_ROWS)
    read_again(cache, first)

    assert read_again(cache, then) == read


def test_results_without_rows_are_bounded_too():
    cache = ResultCache(MOST_ROWS)
    for number in range(MOST_RESULTS + 1):
        cache.rows((str(number),), list)

    assert read_again(cache, {"1": 0, str(MOST_RESULTS): 0, "0": 0}) == "0"


def test_a_result_that_is_too_old_is_read_again_and_counts_once():
    cache = ResultCache(MOST_ROWS)
    for _ in range(3):
        cache.rows(("a",), lambda: [{}] * MOST_ROWS, max_age_s=0)

    assert read_again(cache, {"a": MOST_ROWS}) == ""


def test_threads_that_ask_at_once_read_once_also_what_is_too_large():
    cache, reads, may_end, found = ResultCache(MOST_ROWS), [], threading.Event(), []

    def read():
        reads.append("read")
        may_end.wait(10)
        return [{}] * (MOST_ROWS + 1)

    asking = [threading.Thread(target=lambda: found.append(len(cache.rows(("a",), read)))) for _ in range(3)]
    for thread in asking:
        thread.start()
    time.sleep(0.2)  # all of them wait
    may_end.set()
    for thread in asking:
        thread.join(10)

    assert (reads, found) == (["read"], [MOST_ROWS + 1] * 3)


def test_rows_that_could_not_be_read_are_read_again():
    cache = ResultCache(MOST_ROWS)

    def fail():
        message = "busy"
        raise ValueError(message)

    for _ in range(2):
        with pytest.raises(ValueError, match="busy"):
            cache.rows(("a",), fail)
    assert read_again(cache, {"a": 1}) == "a"
