"""
A fake of `java`, for tests of what is around the tool: it takes no time and sends nothing.

ProducerPerformance prints a window and a summary, or does what a file beside this program says of the arm:
`fail` as often, `fail-late`, `hang`, `short`, `no-summary`, `too-large`. Each call is noted.
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
KNOWN = ("linger.ms", "acks", "batch.size", "partitioner.class")
SUMMARY = "{} records sent, 10.0 records/sec, 1 ms 50th, 1 ms 95th, 1 ms 99th, 1 ms 99.9th."


def produce(arguments):
    options = dict(pairwise(arguments))
    arm = next(word for word in arguments if word.startswith("client.id=")).rpartition("-")[2]
    act, does = HERE / f"{arm}.does", ""
    if act.exists():
        does, _, times = act.read_text().partition(" ")
        act.unlink() if times in ("", "1") else act.write_text(f"{does} {int(times) - 1}")
    print("5 records sent, 1.0 records/sec", flush=True)
    if does == "fail":
        print("it broke")
        print("why it broke", file=sys.stderr)
        return 1
    if does == "too-large":
        print("org.apache.kafka.common.errors.RecordTooLargeException: too large", file=sys.stderr)
    if does == "hang":
        time.sleep(60)
    asked = int(options["--num-records"])
    if does != "no-summary":
        print(SUMMARY.format(asked - 1 if does == "short" else asked))
    return 3 if does == "fail-late" else 0


def main(arguments):
    with (HERE / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    text = " ".join(arguments)
    if "Known.java" in text:
        print("\n".join(KNOWN))
    elif "ClusterTool" in text:
        print(f"Cluster ID: {(HERE / 'cluster-id').read_text()}")
    elif "--list" in text:
        print((HERE / "topics").read_text())
    elif "ProducerPerformance" in text:
        return produce(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
