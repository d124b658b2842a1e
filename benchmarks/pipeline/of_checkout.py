"""
The costs of one checkout, a round for each line of standard input. `benchmarks.pipeline.against` starts it.

It imports that checkout, not its own: its interpreter runs with `-P` and that checkout as PYTHONPATH.
"""

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from benchmarks.pipeline import programs
from benchmarks.pipeline.arms import costs, lines
from conf.settings import Settings
from engine.process.session import spark_session
from lab.layout import Lab

ARMS = 4
"""The first arms of a round: the two of Kafka's consumer, ingest and gold."""


def main(lab: Path, recorded: Path, conf: Path, n: int) -> None:
    """Publish `n` lines as this checkout's collector does; then print the costs of each round as JSON."""
    settings = Settings.load(conf)
    topics = lines.Topics(Lab.load(lab), settings.telemetry.topic_prefix)
    read = lines.in_order(recorded)
    topics.publish(lines.repeated(read, n))
    with ExitStack() as stack:
        spark = spark_session(settings, "bench")
        stack.callback(spark.stop)
        processes = {arm: stack.enter_context(programs.worker(os.setsid))[0] for arm in costs.JOBS}
        requests = lines.requests_in(read, n)
        bench = costs.Costs(spark, processes, conf.parent / "runs", conf, topics, n=n, requests=requests)
        print(json.dumps("ready"), flush=True)
        for number in sys.stdin:
            no_file = Path("only DuckDB reads the lines from a file")
            found = [asdict(cost) for cost in islice(bench.round(int(number), lines=no_file), ARMS)]
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    lab_folder, logs_folder, settings_file = map(Path, sys.argv[1:4])
    main(lab_folder, logs_folder, settings_file, int(sys.argv[4]))
