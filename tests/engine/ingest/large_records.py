"""Program: run one task on large records and print the process's peak memory in MiB."""

import re
import sys
from pathlib import Path

from engine.ingest.kafka import TAKEN_BYTES
from tests.engine.ingest.kafka_batches import HEADERS, kafka_batch, run_task, task_plan
from tests.transforms.parse.records import COMPLETED, HEAD

MIB = 1024 * 1024
LINE_BYTES, PAGE_BYTES, BYTES_A_SAMPLE = 4 * MIB, 16 * MIB, 105


def lines(n):
    """Yield request-log lines of 4 MiB, in lists as long as one `consume` call returns."""
    head = HEAD + b'{"padding":"'
    rest = b'",' + COMPLETED.removeprefix(HEAD + b"{")
    line = head + b"x" * (LINE_BYTES - len(head) - len(rest)) + rest
    at_once = TAKEN_BYTES // LINE_BYTES
    for first in range(0, n, at_once):
        yield kafka_batch([line] * at_once, first=first)


def pages(n):
    """Yield scrapes of 16 MiB with the bytes per sample of real ones; every sample is a new series."""
    sample = b'kafka_cluster_partition_value{name="LogEndOffset",partition="%d",topic="t-%017d"} %d.0\n'
    rows = (sample % (i % 50, i, i) for i in range(PAGE_BYTES // BYTES_A_SAMPLE))
    page = b"".join(rows)
    headers = HEADERS | {"kind": b"metrics", "source": b"http://broker-1/metrics"}
    for i in range(n):
        place = {"position": b"broker-1/scrape/%d" % (1_795_252_800_000_000_000 + i * 10**10)}
        yield kafka_batch([page], topic="telemetry.metrics", first=i, headers=headers | place)


def peak_mib():
    """Return the peak resident memory of this process; `ru_maxrss` would include the parent's peak."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) // 1024


if __name__ == "__main__":
    batches, plan = {"lines": lines, "pages": pages}[sys.argv[1]], task_plan(Path(sys.argv[2]))
    run_task(batches(int(sys.argv[3])), plan)
    print(peak_mib())
