"""Who released a request, by the lines that a leader logs."""

import pytest

from benchmarks.produce.oracle import Oracle, of_logs

MS = 1_000_000
LEADER = (
    "with topic id Some(AA) starts at leader epoch 1 from offset 0 with partition epoch 3, high watermark 0,"
)


def logged(*lines):
    """Give each line an instant, a millisecond after the one before, from 1 ms on."""
    return [f"2026-11-26T22:00:00.000000000Z {nth * MS} {line}" for nth, line in enumerate(lines, 1)]


def recorded(replica, offset, partition=0):
    return (
        f"DEBUG [Partition orders-eu-{partition} broker=1] Recorded replica {replica} log end offset (LEO) "
        f"position {offset}. (kafka.cluster.Partition)"
    )


def moved(offset, partition=0):
    return (
        f"DEBUG [Partition orders-eu-{partition} broker=1] High watermark updated from (offset=10, "
        f"segment=[0:570]) to (offset={offset}, segment=[0:1649]) (kafka.cluster.Partition)"
    )


def isr(replicas):
    return f"INFO [Partition orders-eu-0 broker=1] ISR updated to {replicas} and version updated to 2 (kafka)"


def of_controller(replicas):
    return f"INFO [Broker id=1] Leader orders-eu-0 {LEADER} ISR [{replicas}], adding replicas [] (state)"


def of_controller_again(replicas):
    return (
        "INFO [Broker id=1] Skipped the become-leader state change for orders-eu-0 with topic id Some(AA), "
        "partition registration PartitionRegistration(replicas=[1, 2, 3], isr=[1, 2, 3]) and isNew=false. "
        f"Current high watermark 9, ISR [{replicas}], adding replicas [] (state)"
    )


def released(lines, *parts, appended_ms=2.0):
    return Oracle(lines).released(parts or [(("orders-eu", 0), 10)], round(appended_ms * MS))


QUIET = [recorded(2, 10), recorded(3, 10)]
ORDERS = {
    "the last one": ([recorded(2, 11), moved(11), recorded(3, 11)], (3, 1.0)),
    "in the other order": ([recorded(3, 12), moved(11), recorded(2, 11)], (2, 1.0)),
    "what the last one logs does not count": ([recorded(2, 11), moved(11), "", recorded(3, 11)], (3, 1.0)),
    "the mark moves on later": ([recorded(2, 12), moved(11), recorded(3, 11), moved(12)], (3, 1.0)),
    "a fetch that confirms nothing new": (
        [recorded(3, 11), recorded(2, 10), moved(11), recorded(2, 11)],
        (2, 2.0),
    ),
    "one is missing": ([recorded(2, 11)], None),
    "one has left the ISR": ([isr("1,2"), moved(11), recorded(2, 11), recorded(3, 11)], (2, 2.0)),
    "the controller took it out": (
        [of_controller("1,2"), moved(11), recorded(2, 11), recorded(3, 11)],
        (2, 2.0),
    ),
    "the leader stays": ([of_controller_again("1,2"), moved(11), recorded(2, 11), recorded(3, 11)], (2, 2.0)),
    "one has come back": ([isr("1,2"), isr("1,2,3"), recorded(2, 11), moved(11), recorded(3, 11)], (3, 1.0)),
    "its leaving released the request": (
        [recorded(2, 11), of_controller("2,1"), moved(11), recorded(3, 11)],
        None,
    ),
}


@pytest.mark.parametrize(("lines", "found"), ORDERS.values(), ids=ORDERS)
def test_the_releaser_is_the_last_of_the_isr(lines, found):
    assert released(logged(*QUIET, *lines)) == found
    assert released([*reversed(logged(*QUIET, *lines)), "java.lang.Exception", "\tat kafka"]) == found


def test_the_append_may_be_later_than_the_other_confirmation():
    lines = logged(*QUIET, recorded(2, 11), moved(11), recorded(3, 11))

    assert released(lines, appended_ms=3.7) == (3, pytest.approx(0.3))
    assert released(lines, appended_ms=4.2) == (3, 0.0)


def test_of_several_partitions_the_last_one_counts():
    lines = [*QUIET, recorded(2, 5, 1), recorded(3, 5, 1), recorded(2, 11), moved(11), recorded(3, 11)]
    lines += [recorded(3, 6, 1), "", moved(6, 1), recorded(2, 6, 1)]

    # follower 3 has both from 8 ms on, follower 2 from 10 ms on
    assert released(logged(*lines), (("orders-eu", 0), 10), (("orders-eu", 1), 5)) == (2, 2.0)


def test_rolled_logs_are_read_too(tmp_path):
    lines = logged(*QUIET, recorded(2, 11), moved(11), recorded(3, 11))
    folder = tmp_path / "broker-1"
    folder.mkdir()
    for name, some in (("server.log.1", lines[:2]), ("server.log.2", lines[2:3]), ("server.log", lines[3:])):
        (folder / name).write_text("".join(f"{line}\n" for line in some))

    assert of_logs(tmp_path)[1].released([(("orders-eu", 0), 10)], 0) == (3, 1.0)
