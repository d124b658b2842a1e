"""The fixed text of docs/performance.md; `sections` fills in the figures."""

HEAD = """| question | this tree | target | met or missed | yardstick |
| --- | --- | --- | --- | --- |
{table}

In brackets: the 95 % interval. "Met" and "missed" go by the figure; where the interval contains the target, the row
says so. "Version 1" is the ingest whose parsers were Spark expressions, on an earlier machine: see
[History](#history). Its CPU figures count the broker of the lab too; those of this tree do not.{smoke}

`make bench` measures all parts on one machine that also runs the broker, the load and whatever the parts compare
with. Compare ratios: another machine has other seconds. In full the parts take some two hours by their settings; leave the machine
alone meanwhile. `--short` tries the code in a minute per part and writes a page of its own.
"""

RUN = "Run it: `python -m benchmarks.pipeline --only {part}`."

COSTS = """## CPU seconds per million request-log lines

One topic of {n:,} real lines ({line_bytes:,.0f} bytes each, recorded from three brokers under load and repeated with their
timestamps moved on). {rounds} rounds after one that warms up; each round runs every arm once, in this order. CPU is that
of the process and its descendants; the broker's is not in it. After each arm its rows are counted: an arm that did
not read or write every line ends the run.

- **ingest**: from Kafka to bronze, silver, quarantine and skipped, committed exactly once, in batches of {batch:,} lines
  (`max_offsets_per_trigger`). This is the cost of catching up; small batches cost more per line, see Freshness.
- **gold**: all gold tables, in one batch.
- **textbook**: three Structured Streaming queries with `from_json` and Delta sinks, no quarantine and no counts.
- **DuckDB**: reads the same lines from a file and writes Parquet; it promises nothing about a crash.
- **consumer perf test**: Kafka's own tool reads the lines and throws them away. It is a process of its own, so its JVM
  starts cold; the cost of reading one record is shown apart.

All Spark arms run in one warm session of `local[2]` with our settings, which are tuned; by itself the textbook would have
Spark's defaults. Figures are geometric means over rounds. A ratio is the mean of the ratios within each round, with its
95 % interval (Student's t on logarithms).

| arm | CPU-s per million | wall s | ratio of CPU |
| --- | --- | --- | --- |
{table}

Silver of the last round: of {n:,} lines ours has {ours:,} and the textbook's {textbook:,}. Row by row in {shared} shared
columns, {apart:,} rows differ.

<details><summary>Every round</summary>

```
{every}
```

</details>
"""

HISTORY = """## History

Figures of version 1, whose ingest parsed with Spark column expressions (Spark 4.0.4): an earlier tree on an earlier machine
of 2 cores and 24 GiB. Compare them with this tree only through the yardsticks that were measured in the same run.

| figure | version 1 | yardstick of the same run |
| --- | --- | --- |
| CPU-s per million lines, ingest | 84 (1.56 times the textbook) | textbook 54, DuckDB 34 |
| 2,000 lines/s, silver, with gold: p50, p99 | 2.44 s, 3.67 s | |
| 10,000 lines/s, silver, with gold: p50, p99 | 11.24 s, 24.46 s | |
| 2,000 lines/s, gold: p50 | 13.58 s | |
| quiet cluster, ingest: cores, memory | 0.93, 2.4 GB | |
| samples per core-second, ingest | 56,002 | prometheus_client 51,434 |
| append after 10,000 commits / young | 1.55 | |
"""

FRESHNESS = """## Freshness

From the broker's append (LogAppendTime) to visible, according to a reader that polls the Delta logs every 20 ms: in
silver once it has read the row, in gold once it has seen a commit of `gold.fetch_latency` that was built from that row.
The targets are about `plumbline ingest` alone; "with gold" also runs `nice -n 5 plumbline build-gold --follow`. Both share
two cores with the broker, the publisher and the reader. Lines come for {slow_s:.0f} s at {slow_per_s:,.0f} lines/s and {settle_s:.0f} s at
the measured rate before measuring begins.

p50 has a 95 % interval (Student's t over the p50 of blocks, logarithms; a block is at least a minute and three of the
layer's batches; fewer than three blocks have none). p99 has the least and the greatest p99 of the blocks instead: it
depends on the few longest batches.

| lines/s | lines | layer | p50 s | p99 s | blocks |
| --- | --- | --- | --- | --- | --- |
{late}

Whether a layer keeps up, in thirds of the measured time. Backlog: lines that are appended and not yet visible, the mean
over the third. Growth: how much the backlog grew from the first third to the last, per line that was appended between
their middles. At 0 a layer keeps up, at 1 it stands still, below 0 it catches up; up to 0.001 counts as steady.

| lines/s | layer | p50 of thirds, s | backlog of thirds, lines | growth |
| --- | --- | --- | --- | --- |
{backlog}

What each program used at the steady rate. Memory is the sum of {memory_is} over the process tree (driver, JVM, Python workers),
sampled every 5 s. The publisher (Python, one `produce` per line), the reader and the lab's brokers are part of the
measurement, not of the product: what they use of the two cores the ingest cannot have.

| lines/s | program | cores | memory, mean GB | memory, peak GB | CPU-s per million lines |
| --- | --- | --- | --- | --- | --- |
{used}

Lines that never became visible within two minutes after the last: {never}.{missing}
"""

QUIET = """## A quiet cluster

What the programs use while little comes in: {request_log:.0f} request-log, {client_log:.0f} client-log and {state_change:.0f} state-change lines/s, one scrape of
each of three brokers every {scrape_s:.0f} s (real pages), one cluster poll every {poll_s:.0f} s. Everything was recorded from three brokers under a
small load and is sent by the collector's own producer. {measured_s:.0f} s are measured, {settle_s:.0f} s after the start. One run per row: there
is no interval. Memory is the sum of {memory_is} over the process tree, sampled every 5 s.

| running | program | cores | memory, mean GB | memory, peak GB |
| --- | --- | --- | --- | --- |
{used}

Sent in the first run: {sent}. Bronze held every record, or the run would have ended. Rows in quarantine: {quarantined} (one figure per run).
"""

AGED = """## One append to an aged table

{rows:,} real rows into `silver.requests`, as the ingest appends them: a task's file and the driver's commit, both forced to
disk. No Spark job is timed: its cost does not depend on the table, and would make the ratio smaller. {appends} rounds
after one that warms up, all tables in random order within a round. Tables were aged with delta-rs, one file per commit.
One append in {every} writes a checkpoint as well; checkpoints were timed apart, {checkpoints} rounds after one that warms up. Wall times
are geometric means, CPU is the mean; a ratio is the mean of the ratios to the youngest table within each round, with its
95 % interval.

| what | commits before | wall ms | CPU ms | wall, aged / young |
| --- | --- | --- | --- | --- |
{table}
"""

SCRAPES = """## Scrapes

{pages} pages of three brokers' JMX exporters (recorded from a lab, then repeated), {samples:,} samples, {bytes_a_page:,.0f} bytes a page.
{rounds} rounds after one that warms up; each round runs every arm once, in this order. CPU is that of the process and its
descendants. After each arm its samples are counted.

- **prometheus_client** makes its objects of the same text, in one Python process.
- **parse alone** is our parser in one Python process: it makes the Arrow rows of `silver.metric_scrapes`, `metric_series` and
  `metric_samples` and writes none. Both run without the cyclic garbage collector, as a task of the ingest does.
- **ingest** is from text in Kafka to committed bronze and silver by the ingest's own writer, {batch} pages in a batch
  (`max_scrapes_per_trigger`), with every series known from a batch before the measured ones. Spark's planning of offsets
  is not in it.

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
