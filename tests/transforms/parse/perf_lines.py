"""
Lines of performance tests, and a second, independent parser that uses the tool's own format strings.

`perf-test.txt` has the output of `ProducerPerformance$Stats` and `ToolsUtils.printMetrics` of Kafka 2.4.1,
2.8.2, 3.9.1 and 4.3.1, in English and Austrian German.
"""

import json
import re
from functools import cache

from collectors.perf_test.run import RunDescription, document, parse_arguments
from schemas.fields import ORIGIN
from schemas.silver.perf_test import FLAGS, RUN_DOCUMENT, RUN_HEADERS, RUNS
from tests.transforms.parse.records import DATA

HEADERS = [{"key": "run", "value": b"r1"}, {"key": "arm", "value": b"sticky"}]
AT = b"2026-11-21T09:19:28.987716Z "
PRINTED = DATA.joinpath("perf-test.txt").read_bytes().splitlines()
OF_NODE = b"producer-node-metrics:outgoing-byte-total:{client-id=perf, node-id=node-1}    : 1234567.000"
OF_TOPIC = b"producer-topic-metrics:record-send-rate:{client-id=a, b:c, topic=t.1}  : 0,125"
RUN = RunDescription(run="r1", arm="sticky", scenario="skew", client_version="3.9.1", warm_up_s=5.0)
STARTED = {"started_at": "2026-11-21T09:19:20.500000Z"}
ASKED = parse_arguments(["--topic", "t", "--num-records=100", "--throughput", "2048", "--record-size", "512"])
STARTS = document(RUN.facts | STARTED | ASKED)
ENDS = document(RUN.facts | STARTED | ASKED | {"ended_at": "2026-11-21T09:20:00.000001Z", "exit_code": 0})
OTHERS = [
    b"", b"  \r", b"In steady state.",
    b"Warmup first 1000 records. Steady state results will print after the complete test summary.",
    b"[2026-11-21 07:15:38,310] WARN [Producer clientId=a] Bootstrap broker (org.apache.kafka.clients.X)",
]  # fmt: skip
LINES = [
    *PRINTED,
    *(AT + line for line in [*PRINTED, OF_NODE, OF_TOPIC, *OTHERS]),
    *(AT + b" \t " + line.removesuffix(b".") + b"\r" for line in PRINTED[:4]),
    *[STARTS, ENDS, document(RunDescription(run="r2").facts)] * 6,
    *OTHERS,
]

MARK = re.compile(rb'records sent|"plumbline_run"|:[a-z-]+:\{')
"""A line of figures, a run or a metric has it exactly once, and no other line has it."""

# The format strings of `ProducerPerformance$Stats`; `%s` is " steady state", since 4.2.
RATES = "%d%s records sent, {} records/sec (%.2f MB/sec), {} ms avg latency, {} ms max latency"
FIGURES = {
    "perf_windows": RATES.format("%.1f", "%.1f", "%.1f"),
    "perf_summaries": RATES.format("%f", "%.2f", "%.2f")
    + ", %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th",
}
NAMES = ("records", "is_steady_state", "records_per_s", "mib_per_s", "avg_ms", "max_ms")
PERCENTILES = ("p50_ms", "p95_ms", "p99_ms", "p999_ms")
BLANKS = " \t\n\r\f\v"
LARGEST_DIGITS = 300  # digits of a double
NO_NUMBER = {"NaN", "Infinity", "-Infinity"}
INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{1,6})?Z", re.ASCII)
METRIC = re.compile(r"\s*([A-Za-z][\w.-]*):([\w.-]+):\{(.*)\} * : (\S+)\s*", re.ASCII)
MEASURED = re.compile(r"-?\d+([.,]\d{3})?", re.ASCII)
CUT = re.compile(r"-?\d+([.,]\d{0,2})?", re.ASCII)
NEXT_TAG = re.compile(r", (?=[\w.-]+=)", re.ASCII)


def says(value):
    """Return (table, columns) of a line; None if it is not exactly one whole line of a table."""
    text = value.decode()
    stamp = INSTANT.match(text)
    has_stamp = stamp and text[stamp.end() : stamp.end() + 1] == " "
    at, line = (stamp[0], text[stamp.end() + 1 :]) if has_stamp else (None, text)
    found = _figures(line) or _metric(line) or _run(line) if len(MARK.findall(value)) < 2 else None
    return found and (found[0], found[1] | {"logged_at": _as_spark_writes(at)})


@cache
def scanner(form):
    """Return the pattern of a format's output, with a decimal point or comma."""
    fraction = r"(\d+[.,]\d{{{}}}|NaN|-?Infinity)"
    groups = {"%d": r"(\d+)", "%s": "( steady state)?", "%f": fraction.format(6)}
    groups |= {f"%.{digits}f": fraction.format(digits) for digits in (1, 2)}
    parts = re.split(r"(%(?:\.\d)?[dfs])", form)
    return re.compile("".join(groups.get(part) or re.escape(part) for part in parts), re.ASCII)


def _figures(line):
    for table, form in FIGURES.items():
        if found := scanner(form).fullmatch(line.strip(BLANKS).removesuffix(".")):
            records, steady, *numbers = found.groups()
            if {",", "."} <= set("".join(numbers)):  # The line has two locales.
                return None
            values = (int(records), steady is not None, *map(_number, numbers))
            return table, dict(zip((*NAMES, *PERCENTILES), values, strict=False))
    return None


def _number(text):
    return None if text in NO_NUMBER else float(text.replace(",", "."))


def _metric(line):
    found = METRIC.fullmatch(line)
    group, metric, inner, text = found.groups() if found else ("", "", "", "")
    pairs = [tag.partition("=") for tag in NEXT_TAG.split(inner) if inner]
    tags = {key: value for key, equals, value in pairs if equals}
    is_cut = group.endswith("-metrics") and CUT.fullmatch(text)
    if not found or is_cut or len(tags) < len(pairs):
        return None
    is_number = MEASURED.fullmatch(text) and len(text) < LARGEST_DIGITS
    value = _number(text) if is_number else None
    columns = {"metric_group": group, "metric": metric, "tags": tags, "value": value, "text": text}
    return "client_metrics", columns


def _run(line):
    try:
        facts = json.loads(line, object_pairs_hook=_object, parse_constant=_refused)[RUN_DOCUMENT]
        values = {name: facts.get(name) for name in TYPES}
        columns = {
            name: value if value is UNCHECKED else READ[TYPES[name]](value) for name, value in values.items()
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    headers = {header["key"]: header["value"].decode() for header in HEADERS}
    columns |= {name: columns[name] or headers.get(name) for name in RUN_HEADERS}
    return "runs", {name: value for name, value in columns.items() if value is not UNCHECKED}


UNCHECKED = object()
"""A value that this parser does not predict: a repeated key, or a text that is not valid."""


def _object(pairs):
    keys = [key for key, _ in pairs]
    return {key: UNCHECKED if keys.count(key) > 1 else value for key, value in pairs}


def _refused(constant):
    raise ValueError(constant)


def _text(value):
    if value is not None and not isinstance(value, str):
        return UNCHECKED
    return value and re.sub("[\ud800-\udfff]", "?", value)


def _texts(value):
    texts = [_text(word) for word in value]
    return UNCHECKED if UNCHECKED in texts else texts


def _as_spark_writes(instant):
    if instant is None:
        return None
    day, time, fraction = INSTANT.fullmatch(instant).groups("")
    return f"{day} {time}{fraction.rstrip('0').rstrip('.')}"


def _whole_below(limit):
    return lambda value: value if type(value) is int and -limit <= value < limit else None


READ = {
    "string": _text,
    "integer": _whole_below(2**31),
    "long": _whole_below(2**63),
    "double": lambda value: float(value) if type(value) in {int, float} else None,
    "timestamp": _as_spark_writes,
    "array": lambda value: _texts(value) if isinstance(value, list) else None,
}
OTHER_COLUMNS = {"cluster", "logged_at", *(field.name for field in (FLAGS, *ORIGIN))}
TYPES = {f.name: f.dataType.typeName() for f in RUNS.schema.fields if f.name not in OTHER_COLUMNS}
