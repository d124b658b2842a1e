"""Program: run one task on large records in Kafka and print the process's peak memory in MiB."""

import random
import re
import sys
import uuid
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from collectors.publish import COMPRESSION
from engine.ingest.task import task_plan as task
from engine.ingest.task.kafka import Range
from tests.engine.ingest.task.kafka_batches import HEADERS, IDS, task_plan
from tests.transforms.parse.records import COMPLETED, HEAD

MIB = 1024 * 1024
LINE_BYTES, PAGE_BYTES, BYTES_A_SAMPLE = 4 * MIB, 16 * MIB, 105
PARTITIONS = 2


def lines(n):
    """Yield headers and values of `n` request-log lines of 4 MiB; they compress to a half."""
    dice = random.Random(1)
    head = HEAD + b'{"padding":"'
    rest = b'",' + COMPLETED.removeprefix(HEAD + b"{")
    for i in range(n):
        padding = dice.randbytes((LINE_BYTES - len(head) - len(rest)) // 2).hex().encode()
        yield HEADERS | {"position": b"broker-1/aa/%d" % i}, head + padding + rest


def repeats(n):
    """Yield headers and values of `n` request-log lines of 4 MiB that are one repeated letter."""
    line = HEAD + b"x" * (LINE_BYTES - len(HEAD))
    return ((HEADERS | {"position": b"broker-1/aa/%d" % i}, line) for i in range(n))


def pages(n):
    """Yield headers and values of `n` scrapes of 16 MiB; every sample is a new series."""
    dice = random.Random(1)
    sample = b'kafka_cluster_partition_value{name="LogEndOffset",partition="%d",topic="t-%017d"} %d.0\n'
    rows = (sample % (i % 50, i, dice.randrange(10**9)) for i in range(PAGE_BYTES // BYTES_A_SAMPLE))
    page = b"".join(rows)
    headers = HEADERS | {"kind": b"metrics", "source": b"http://broker-1/metrics"}
    for i in range(n):
        at = 1_795_252_800_000_000_000 + i * 10**10
        yield headers | {"position": b"broker-1/scrape/%d" % at}, page


def publish(bootstrap, records):
    """Publish records, compressed like the collector's; return the name of their topic."""
    topic, most = f"test-{uuid.uuid4().hex[:8]}", {"max.message.bytes": str(2 * PAGE_BYTES)}
    admin = AdminClient({"bootstrap.servers": bootstrap})  # must outlive its answers
    admin.create_topics([NewTopic(topic, PARTITIONS, 1, config=most)])[topic].result(30)
    options = {"message.max.bytes": 2 * PAGE_BYTES, "compression.type": COMPRESSION}
    producer = Producer({"bootstrap.servers": bootstrap} | options)
    for i, (headers, value) in enumerate(records):
        producer.produce(topic, value, headers=list(headers.items()), partition=i % PARTITIONS)
        assert producer.flush(60) == 0
    return topic


def peak_mib():
    """Return the peak resident memory of this process; `ru_maxrss` would include the parent's peak."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) // 1024


def main(bootstrap, topic, kind, folder, n):
    plan = replace(
        task_plan(folder, kinds={topic: kind}),
        consumer=(("bootstrap.servers", bootstrap), ("group.id", "test")),
        shares=[[Range(topic, partition, 0, int(n) // PARTITIONS) for partition in range(PARTITIONS)]],
    )
    list(task.run(iter([IDS]), plan))
    print(peak_mib())


if __name__ == "__main__":
    main(*sys.argv[1:])
