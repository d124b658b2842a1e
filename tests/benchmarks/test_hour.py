"""The log of the garbage collector, from which the benchmark of an hour reads the use of the heap."""

from benchmarks.pipeline.arms import hour

LOG = """[0.9s][info][gc] Using Serial
[9.1s][info][gc] GC(0) Pause Young (Allocation Failure) 204M->60M(600M) 12.3ms
[9.9s][info][gc] GC(1) Pause Full (Metadata GC Threshold) 100M->80M(600M) 90.1ms
"""


def test_the_most_in_use_and_the_most_left_may_be_of_different_collections():
    assert hour.heap_gb(LOG) == {"heap_used_gb": 0.214, "heap_left_gb": 0.084}


def test_a_log_without_collections_has_zeros():
    assert hour.heap_gb("[0.9s][info][gc] Using Serial") == {"heap_used_gb": 0.0, "heap_left_gb": 0.0}
