"""Kafka's own consumer that counts and forgets, run as Kafka's own script runs it."""

import subprocess
from itertools import pairwise

from lab import jvm

# As kafka-run-class.sh starts what kafka-consumer-perf-test.sh asks for.
OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Xmx512M",
)
COUNT = "data.consumed.in.nMsg"


def consume(bootstrap_servers: str, topic: str, n: int) -> int:
    """
    Read `n` records and give how many it says it has read.

    Raises:
        ValueError: it printed no summary.

    """
    command = jvm.tool(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", bootstrap_servers, "--topic", topic, "--num-records", str(n)),
        options=OPTIONS,
    )
    return count_of(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def count_of(printed: str) -> int:
    r"""
    Find the count in what it printed: a line of names, and behind it one of figures.

    >>> count_of("start.time, data.consumed.in.nMsg, nMsg.sec\n2026-11-21 11:27:49:000, 1000, 250.0\n")
    1000
    """
    lines = [line.split(", ") for line in printed.splitlines()]
    for names, figures in pairwise(lines):
        if COUNT in names and len(names) == len(figures):
            return int(figures[names.index(COUNT)])
    message = f"the consumer perf test printed no {COUNT}: {printed[-500:]}"
    raise ValueError(message)
