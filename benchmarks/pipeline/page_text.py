"""What stands in docs/performance.md around the figures of `page`."""

HEAD = """Measured by `make bench` on one machine of {cores} cores and {memory:.0f} GiB that also runs the broker and the
load. Read ratios, not seconds: another machine has other seconds. Losing rows stand beside the winning ones.
"""

COSTS = """## CPU-seconds per million request-log lines

One topic of {n:,} real lines ({line_bytes:,.0f} bytes a line, recorded from three brokers under load and
repeated with their clocks moved on), every arm once a round and always in this order, {rounds} rounds behind one that is
thrown away. CPU is that of the process and its children, the broker's is not in it. Behind each arm its rows are
counted: one that did not read or write every line ends the run.

These are the costs of catching up: the ingest in batches of {batch:,} lines, as the setting `max_offsets_per_trigger` is,
gold in one, and no lines of client logs. The small batches of a stream that keeps up cost more a line, see Freshness. All Spark arms,
the textbook's too, run in one warm session of `local[2]` with our settings, which are tuned; alone, the textbook would
have Spark's. The consumer perf test is a process of its own with the options of Kafka's script, so its JVM starts cold. What it takes
to start and read one record stands above it, spread over as many lines; the raw copy is held against it with and without.

Figures are geometric means over rounds. So the ratio, which is the mean of the ratios within each round with its 95 %
interval (Student, logarithms), is also the one of the two figures.

| what | CPU-s per million | wall s | ratio of CPU |
| --- | --- | --- | --- |
"""

VERSION_1 = """

For comparison: the ingest of version 1, whose parsers were Spark expressions, took 84 CPU-s per million lines, and 85
with commits by Delta instead of delta-rs (one machine of 2 cores; other lines of the same kind).
"""

FRESHNESS = """## Freshness

From the broker's append to visible, told by a reader of its own that polls the Delta logs every 20 ms: in silver
once it has read the row, in gold once it has seen a commit of `gold.fetch_latency` built from that row.
`plumbline ingest` and `nice -n 5 plumbline build-gold --follow`, beside the broker and the load on the same
cores. They warm up for {slow_s:.0f} s at {slow_per_s:,.0f} lines/s and {settle_s:.0f} s at the measured rate; then
{measured_s:.0f} s are measured. Seconds: p50 with its 95 % interval (Student over the p50 of blocks, logarithms; a block
is a minute at least, and as long as three of the layer's batches take; fewer than three blocks have none), p99 with the
least and the greatest of the blocks: it hangs on the few longest batches, and no interval would hold what it says.

| lines/s | lines | silver p50 | silver p99 | gold p50 | gold p99 | blocks: silver, gold |
| --- | --- | --- | --- | --- | --- | --- |
{late}

Whether they keep up, in thirds of that time: p50, lines that are appended and not yet visible (the mean over the
third), and by how many lines these grew from the first third to the last for each line that was appended meanwhile: at 0
a layer keeps up, at 1 it stands still, below 0 it catches up.

| lines/s | layer | p50 of thirds, s | behind in thirds, lines | grew |
| --- | --- | --- | --- | --- |
{behind}

What it costs at that steady rate, from the end of warming up until the last line was published:

| lines/s | cores: ingest | cores: gold | CPU-s per million lines: ingest | CPU-s per million lines: gold |
| --- | --- | --- | --- | --- |
{cost}

{never}
"""

AGED = """## One append on a table of that age

{rows:,} real rows into `silver.requests`, {appends} rounds behind one thrown away, all tables in random
order within a round. Aged with delta-rs, a file a commit. One append in {every} makes a checkpoint
as well; those were timed apart, {checkpoints} rounds behind one thrown away, each behind an append. "With its share" is
an append with a hundredth of a checkpoint. Wall times are geometric means, so that a ratio, the mean of the ratios to
the youngest table within each round with its 95 % interval, is also the one of two figures. CPU is the plain mean: its
clock ticks in 10 ms.

| what | commits before | wall ms | CPU ms | wall, aged / young |
| --- | --- | --- | --- | --- |
"""

SCRAPES = """## Scrapes

{pages} pages of three brokers' JMX exporter (a minute recorded under load, repeated later), {samples:,} samples,
{page_bytes:,.0f} bytes a page. Every arm once a round and always in this order, {rounds} rounds behind one that is thrown away; CPU is
that of the process and its children. Our parser and
prometheus_client run in one Python process; ours makes the Arrow rows of `silver.metric_scrapes`, `metric_series` and
`metric_samples`. The ingest runs in Spark, {batch} pages in a batch as the setting `max_scrapes_per_trigger` is. A series is read once, so a running
ingest meets known ones: both are told. Spark's heap is {heap} (`driver_memory`). Behind each arm its samples are counted. Geometric means; the ratio is the mean of those within each round with its 95 % interval (Student, logarithms).

| what | samples per core-second | wall s | against prometheus_client |
| --- | --- | --- | --- |
"""
