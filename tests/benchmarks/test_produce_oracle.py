"""Who released a request, by the lines that a leader logs."""

import pytest

from benchmarks.produce.oracle import Oracle

AT = "2026-11-26T22:00:00.000000000Z 1 DEBUG "


def recorded(replica, offset, partition=0):
    return (
        f"{AT}[Partition orders-eu-{partition} broker=1] Recorded replica {replica} log end offset (LEO) "
        f"position {offset}. (kafka.cluster.Partition)"
    )


def isr(replicas):
    return f"{AT}[Partition orders-eu-0 broker=1] ISR updated to {replicas} and version updated to 2 (kafka)"


QUIET = [recorded(2, 10), recorded(3, 10)]
ORDERS = {
    "the last one": ([*QUIET, recorded(2, 11), recorded(3, 11)], 3),
    "in the other order": ([*QUIET, recorded(3, 12), recorded(2, 11)], 2),
    "a fetch that confirms nothing new": ([*QUIET, recorded(3, 11), recorded(2, 10), recorded(2, 11)], 2),
    "one is missing": ([*QUIET, recorded(2, 11)], None),
    "one has left the ISR": ([*QUIET, isr("1,2"), recorded(2, 11), recorded(3, 11)], 2),
    "one has come back": ([*QUIET, isr("1,2"), isr("1,2,3"), recorded(2, 11), recorded(3, 11)], 3),
}


@pytest.mark.parametrize(("lines", "replica"), ORDERS.values(), ids=ORDERS)
def test_the_releaser_is_the_last_of_the_isr(lines, replica):
    assert Oracle(lines).releaser([(("orders-eu", 0), 10)]) == replica


def test_of_several_partitions_the_last_one_counts():
    lines = [*QUIET, recorded(2, 5, 1), recorded(3, 5, 1)]
    lines += [recorded(2, 11), recorded(3, 11), recorded(3, 6, 1), recorded(2, 6, 1)]

    assert Oracle(lines).releaser([(("orders-eu", 0), 10), (("orders-eu", 1), 5)]) == 2
