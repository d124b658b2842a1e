"""The fixed text of docs/performance.md; `sections` fills in the figures."""

HEAD = """| question | this tree | target | met or missed | yardstick |
| --- | --- | --- | --- | --- |
{table}

In brackets: the 95 % interval. "Met" and "missed" compare the figure with the target; if the interval contains the
target, the row says so. "Version 1" is the ingest whose parsers were Spark expressions, on an earlier machine: see
[History](#history). Its CPU figures count the broker of the lab too; those of this tree do not.{smoke}

`make bench` measures all parts on one machine, which also runs the broker, the load and the yardsticks. Compare ratios,
because absolute times depend on the machine. All parts take about two hours by their settings; do not use the machine
during that time. `--short` tries the code in a minute per part and writes a separate page.
"""

RUN = "Run it: `python -m benchmarks.pipeline --only {part}`."

COSTS = """## CPU seconds per million request-log lines

One topic of {n:,} real lines ({line_bytes:,.0f} bytes each, recorded from three brokers under load and repeated with their
timestamps moved on). There are {rounds} rounds after a warm-up round; each runs every arm once, in this order. CPU is that
of the process and its descendants, without the broker. The rows of each arm are counted: an arm that did not read or
write every line ends the run.

- **ingest**: from Kafka to bronze, silver, quarantine and skipped, committed exactly once, in batches of {batch:,} lines
  (`max_offsets_per_trigger`). This is the cost of catching up; small batches cost more per line, see Freshness.
- **gold**: all gold tables, in one batch.
- **textbook**: three Structured Streaming queries with `from_json` and Delta sinks, no quarantine and no counts.
- **DuckDB**: reads the same lines from a file and writes Parquet, without crash guarantees.
- **consumer perf test**: Kafka's own tool reads the lines and discards them. It is a separate process, so its JVM
  starts cold; the table also shows the cost of reading one record.

All Spark arms run in one warm session of `local[2]` with our tuned settings; the textbook normally has Spark's
defaults. Figures are geometric means over rounds. A ratio is the mean of the ratios within each round, with its
95 % interval (Student's t on logarithms).

| arm | CPU-s per million | wall s | ratio of CPU |
| --- | --- | --- | --- |
{table}

Silver of the last round, of {n:,} lines: ours has {ours:,} and the textbook's {textbook:,}. In {shared} shared columns, {apart:,}
rows differ.

<details><summary>Every round</summary>

```
{every}
```

</details>
"""

HISTORY = """## History

Version 1 of the ingest parsed with Spark column expressions (Spark 4.0.4). It was measured on an earlier machine with 2
cores and 24 GiB. Compare it with this tree only through the yardsticks of the same run.

| figure | version 1 | yardstick of the same run |
| --- | --- | --- |
| CPU-s per million lines, ingest | 84 (1.56 times the textbook) | textbook 54, DuckDB 34 |
| 2,000 lines/s, silver, with gold: p50, p99 | 2.44 s, 3.67 s | |
| 10,000 lines/s, silver, with gold: p50, p99 | 11.24 s, 24.46 s | |
| 2,000 lines/s, gold: p50 | 13.58 s | |
| quiet cluster, ingest: cores, memory (a trigger of 2 s; now a batch waits up to 5 s) | 0.93, 2.4 GB | |
| samples per core-second, ingest | 56,002 | prometheus_client 51,434 |
| append after 10,000 commits / young | 1.55 | |
"""

FRESHNESS = """## Freshness

Time from the broker's append (LogAppendTime) until the row is visible to a reader that polls the Delta logs every 20 ms.
In silver, a row is visible when the reader has read it. In gold, when the reader has seen a commit of
`gold.fetch_latency` that was built from it. The targets are for `plumbline ingest` alone; "with gold" also runs
`nice -n 5 plumbline build-gold --follow`. Both share two cores with the broker, the publisher and the reader. Before
measuring, lines arrive for {slow_s:.0f} s at {slow_per_s:,.0f} lines/s and for {settle_s:.0f} s at the measured rate.

p50 has a 95 % interval (Student's t on the logarithms of the p50 of blocks). A block is at least a minute and at least
three batches of the layer; with fewer than three blocks there is no interval. p99 depends on the few longest batches, so
its brackets have the minimum and maximum p99 of the blocks.

| lines/s | lines | layer | p50 s | p99 s | blocks |
| --- | --- | --- | --- | --- | --- |
{late}

This table shows whether a layer keeps up, in thirds of the measured time. Backlog is the mean number of lines that are
appended and not yet visible. Growth is the growth of the backlog from the first third to the last, per line appended
between their midpoints. At 0 a layer keeps up, at 1 it processes nothing, below 0 it catches up. Up to 0.001 counts as
steady.

| lines/s | layer | p50 of thirds, s | backlog of thirds, lines | growth |
| --- | --- | --- | --- | --- |
{backlog}

This table shows the resources of each program at the steady rate. Memory is the sum of {memory_is} over the process tree (driver,
JVM, Python workers), sampled every 5 s. The publisher (Python, one `produce` per line), the reader and the lab's brokers
are part of the measurement, not of the product. They take CPU time from the ingest on the same two cores.

| lines/s | program | cores | memory, mean GB | memory, peak GB | CPU-s per million lines |
| --- | --- | --- | --- | --- | --- |
{used}

Lines that were not visible two minutes after the last one was sent: {never}.{missing}
"""

QUIET = """## A quiet cluster

Resources of the programs while little data arrives: {request_log:.0f} request-log, {client_log:.0f} client-log and {state_change:.0f} state-change lines/s, one scrape of
each of three brokers every {scrape_s:.0f} s (real pages), one cluster poll every {poll_s:.0f} s. All records were recorded from three brokers under a
small load; the collector's own producer sends them. {measured_s:.0f} s are measured, {settle_s:.0f} s after the start. There is one run per
row, so there is no interval. Memory is the sum of {memory_is} over the process tree, sampled every 5 s.

| running | program | cores | memory, mean GB | memory, peak GB |
| --- | --- | --- | --- | --- |
{used}

Sent in the first run: {sent}. Bronze has every record; otherwise the run fails. Rows in quarantine: {quarantined} (one figure per run).
"""

AGED = """## One append to an aged table

The benchmark appends {rows:,} real rows to `silver.requests`, as the ingest does: the file of a task and the commit of the
driver, both forced to disk. No Spark job is timed: its cost does not depend on the table, and would make the ratio
smaller. There are {appends} rounds after a warm-up round, with all tables in random order within a round. Tables were aged with
delta-rs, one file per commit. One append in {every} also writes a checkpoint; checkpoints were timed separately, in {checkpoints} rounds
after a warm-up round. Wall times are geometric means, CPU is the mean. A ratio is the mean of the ratios to the youngest
table within each round, with its 95 % interval.

| what | commits before | wall ms | CPU ms | wall, aged / young |
| --- | --- | --- | --- | --- |
{table}
"""

SCRAPES = """## Scrapes

{pages} pages of three brokers' JMX exporters (recorded from a lab, then repeated), {samples:,} samples, {bytes_a_page:,.0f} bytes a page.
There are {rounds} rounds after a warm-up round; each runs every arm once, in this order. CPU is that of the process and its
descendants. The samples of each arm are counted.

- **prometheus_client** parses the same text into its objects, in one Python process.
- **parse alone** is our parser in one Python process: it builds the Arrow rows of `silver.metric_scrapes`, `metric_series`
  and `metric_samples` and writes none. Both run without the cyclic garbage collector, like a task of the ingest.
- **ingest** is from text in Kafka to committed bronze and silver by the ingest's own writer, {batch} pages in a batch
  (`max_scrapes_per_trigger`). An earlier batch, which is not measured, contains every series. Spark's planning of offsets
  is not included.

Geometric means; the ratio is the mean of the ratios within each round, with its 95 % interval.

| arm | samples per core-second | wall s | ratio to prometheus_client |
| --- | --- | --- | --- |
{table}

<details><summary>Every round</summary>

```
{every}
```

</details>
"""

TITLES = {
    "costs": "CPU seconds per million request-log lines",
    "freshness": "Freshness",
    "quiet": "A quiet cluster",
    "aged": "One append to an aged table",
    "scrapes": "Scrapes",
}


def missing(part: str) -> str:
    """Return the section of a part that was not measured."""
    return f"## {TITLES[part]}\n\nNot measured yet on this tree. {RUN.format(part=part)}"


def missing_variant(*, is_gold_missing: bool) -> str:
    """Return a paragraph about the variant of freshness that was not measured."""
    variant, option = ("With gold", " --with-gold") if is_gold_missing else ("The ingest alone", "")
    command = f"python -m benchmarks.pipeline --only freshness{option}"
    return f"\n\n{variant}: not measured yet on this tree. Run it: `{command}`."
