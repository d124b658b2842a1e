"""
Split one line of a log4j log into timestamp, message and logger, and recognise continuation lines.

Layouts: Kafka's default `[%d] %p %m (%c)`, and ISO timestamps with up to nanoseconds, with or without zone,
brackets and a column of monotonic nanoseconds (`%N`) after the time. The thread may follow the logger, as in
Strimzi's `(%c) [%t]`.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from transforms.parse.columns import LONG
from transforms.parse.documents import LONGEST_BYTES, whole_text
from transforms.parse.record import (
    DAY_US,
    FIRST_US,
    LAST_US,
    Quarantined,
    Record,
    Skipped,
    node_number,
    sample,
)

HEAD_BYTES, TAIL_BYTES = 96, 256
"""
A timestamp, and a logger with a thread, are shorter. Regular expressions read only this much of a line of
megabytes.
"""

LONGEST_CONTINUATION_BYTES = 16 * 1024
"""No line of a config dump or stack trace is longer; a longer one is quarantined."""

# Groups: date and time, up to six fraction digits, further digits, zone, monotonic nanoseconds.
PREFIX = re.compile(
    rb"\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{0,6})([0-9]{0,3}))?"
    rb"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?\]? +(?:([0-9]+) +)?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +"
)
SUFFIX = re.compile(rb" \(([!-'*-~]+)\)(?: \[[ -Z\\^-~]+\])?\s*", re.ASCII)  # logger and thread
ZONE = re.compile(r"(?!posix/|right/|localtime)[A-Za-z][A-Za-z0-9_+/-]*|[+-][0-9]{2}:[0-9]{2}")
OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2}):?([0-9]{2})?")
FARTHEST_MINUTES = 18 * 60  # `java.time.ZoneOffset`

ZEROS = bytes.maketrans(b"123456789", b"000000000")
RESOLUTIONS_MS = (1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
UTC_NAMES = frozenset({None, "UTC", "Etc/UTC", "Z", "GMT"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_new = tuple.__new__  # Calling a NamedTuple's class takes twice as long.

OUR_LOGGERS = ("(kafka.request.logger)", "(state.change.logger)", "(org.apache.kafka.clients.NetworkClient)")
"""Loggers with a parser. The tail of a torn line of theirs still ends with the logger."""

MARKS = (
    "Completed request:", "RequestHeader(", '"requestHeader"', "correlationId", "totalTime",
    "clientInformation", " starts at leader epoch ",
)  # fmt: skip
"""Words of lines with a parser. A line that contains one is never skipped, even without a logger."""

CONTINUATION = re.compile(
    r"\t[\w.>/:*-]+ = "  # an entry of AbstractConfig.logAll
    r"|[ \t]+\([\w.$]*Config\)\s*\Z"  # `(%c)` of a config dump, which follows the dump's last line break
    r"|\s+at [\w.$<>/@-]+\((?:[\w$.-]+\.\w+(?::\d+)?|Native Method|Unknown Source)\)(?: ~?\[[^\]]*\])?\s*\Z"
    r"|\s+\.\.\. \d+ (?:more|common frames omitted)\s*\Z",
    re.ASCII,
)


class Line(NamedTuple):
    """A log line: its bytes, the start and end of its message in them, and its timestamp."""

    value: bytes
    start: int  # 0 without a timestamp; then the message is everything before the logger
    end: int
    logger: str | None
    node_id: int | None  # number at the end of the node's name
    logged_at: int | None  # microseconds since 1970, UTC; None if the instant is unknown, see `fault`
    logged_mono_ns: int | None
    clock_resolution_ms: float | None
    fault: Quarantined | None  # reason why the instant is unknown, such as an ambiguous local time

    @property
    def text(self) -> str:
        """Return the whole line."""
        return self.value.decode()

    @property
    def message(self) -> str:
        """Return the message."""
        return self.value[self.start : self.end].decode()

    @property
    def stamp(self) -> tuple[int | None, int | None, float | None, int | None]:
        """Return `logged_at`, `logged_mono_ns`, `clock_resolution_ms`, `logged_date`."""
        at = self.logged_at
        return at, self.logged_mono_ns, self.clock_resolution_ms, None if at is None else at // DAY_US


def read_line(record: Record) -> Line | Quarantined:
    """Split a record's bytes, or return why it is no log line. A blank line has no timestamp."""
    line = split(record.value, record.node, record.time_zone, record.chunk, record.content_encoding)
    return line if isinstance(line, Quarantined) else _new(Line, line)


def split(
    value: bytes | None, node: str | None, zone: str | None, chunk: str | None, encoding: str | None
) -> Any:  # noqa: ANN401 (a tuple, or `Quarantined`)
    """Return the fields of a `Line` as a plain tuple, which Python unpacks faster, or `Quarantined`."""
    if (
        value is None
        or chunk is not None
        or encoding is not None
        or len(value) > LONGEST_BYTES
        or not value.isascii()
    ):
        text = whole_text(Record(value, chunk=chunk, content_encoding=encoding))
        if isinstance(text, Quarantined):
            return text
        value = text.encode()
    logger, end = None, len(value)
    if not value.endswith(b"}"):
        suffix = value.rfind(b" (", -TAIL_BYTES)
        logger = _logger(value[suffix:])
        end = end if logger is None else suffix
    start = value.find(b" DEBUG ", 0, HEAD_BYTES) + 7
    layout = _layout(value[:start].translate(ZEROS))
    if layout is None or value.startswith(b" ", start):
        prefix = PREFIX.match(value, 0, HEAD_BYTES)
        if prefix is None:
            return _stampless((value, 0, end, logger, node_number(node), None, None, None, None))
        start = prefix.end()
        layout = _layout(prefix[0].translate(ZEROS))
    begin, micros, micros_end, factor, offset, offset_at, mono, mono_end, resolution_ms = layout
    at, mono_ns, fault = _second(value[begin : begin + 19]), None, None
    if at is not None:
        at += int(value[micros:micros_end] or 0) * factor
    if at is not None and offset != "Z" and (offset or zone not in UTC_NAMES):
        at, fault = _moved(at, value[offset_at : offset_at + len(offset)].decode(), zone)
    if at is None and fault is None:
        fault = Quarantined("impossible_timestamp", sample(value.decode()))
    if mono > 0:
        mono_ns = int(value[mono:mono_end])
        mono_ns = mono_ns if mono_ns <= LONG else None
    return value, start, end, logger, node_number(node), at, mono_ns, resolution_ms, fault


def _stampless(line: tuple[Any, ...]) -> tuple[Any, ...] | Quarantined:
    text = line[0].decode()
    if no_message(Line._make(line)) is None:
        return Quarantined("no_timestamp", sample(text))
    return *line[:-1], Quarantined("impossible_timestamp", sample(text))


def no_message(line: Line) -> str | None:
    """Return why a line has no message of its own: `blank` or `continuation`; None if it has one."""
    if line.start:
        return None
    if len(line.value) < HEAD_BYTES and not line.value.strip(b" \t\n\r\f\v"):
        return "blank"
    return "continuation" if continues(line.text) else None


def continues(text: str) -> bool:
    r"""
    Return whether a line without a timestamp continues a message: a config entry or a stack frame.

    The tail of a torn line of a parsed logger is never a continuation, wherever it is cut.

    >>> texts = ["\tacks = all", " (a.Config)", "\tat a.B.c(D.java:1)", " (kafka.request.logger)"]
    >>> [continues(text) for text in texts]
    [True, True, True, False]
    """
    if len(text) > LONGEST_CONTINUATION_BYTES or CONTINUATION.match(text) is None:
        return False
    is_short = text.isascii() or len(text.encode()) <= LONGEST_CONTINUATION_BYTES
    return is_short and not any(mark in text for mark in (*OUR_LOGGERS, *MARKS))


def skipped(line: Line, own_logger: str, reason: str) -> Skipped:
    """Return the skipped line with its reason: `blank`, `continuation`, `other_logger`, or else `reason`."""
    other = reason if line.logger in (own_logger, None) else "other_logger"
    return Skipped(no_message(line) or other, line.logger)


@lru_cache(maxsize=4_096)
def _layout(shape: bytes) -> Any:  # noqa: ANN401 (a tuple, or None)
    """
    Return the positions of the parts in all timestamps of a shape: a timestamp with 0 for each digit.

    Parts: second, micros (start, end, factor), offset (text, start), nanoseconds (start, end), resolution.
    """
    match = PREFIX.fullmatch(shape)
    if match is None:
        return None
    micros, micros_end = match.span(2)
    digits = max(match.end(3), 0) - max(micros, 0)
    factor = 10 ** (6 - micros_end + micros) if micros_end > micros else 0
    offset = (match[4] or b"").decode()
    parts = (match.start(1), micros, micros_end, factor, offset, match.start(4), *match.span(5))
    return *parts, RESOLUTIONS_MS[digits]


def _moved(wall: int, written: str, zone: str | None) -> tuple[int | None, Quarantined | None]:
    """Return the instant of a local time, or why it is unknown; `written` is the line's offset or ''."""
    if written:
        offset_us, reason = _offset_us(written), None
    else:
        offset_us, reason = _zone_offset(zone or "", wall // 1_000_000)
    if reason is not None:
        return None, Quarantined(reason, zone)
    at = None if offset_us is None else wall - offset_us
    return (at if at is not None and FIRST_US <= at <= LAST_US else None), None


@lru_cache(maxsize=4_096)
def _second(text: bytes) -> int | None:
    """Return the microseconds since 1970 of a UTC time such as `2026-11-21 09:19:28`."""
    try:
        return (datetime.fromisoformat(text.decode() + "+00:00") - EPOCH) // timedelta(microseconds=1)
    except ValueError:
        return None


def _offset_us(text: str) -> int | None:
    match = OFFSET.fullmatch(text)
    if match is None:
        return None
    hours, rest = int(match[2]), int(match[3] or 0)
    minutes = hours * 60 + rest
    if rest > 59 or minutes > FARTHEST_MINUTES:  # noqa: PLR2004 (minutes of an hour)
        return None
    return (-minutes if match[1] == "-" else minutes) * 60_000_000


@lru_cache(maxsize=4_096)
def _zone_offset(zone: str, wall_s: int) -> tuple[int | None, str | None]:
    """Return the UTC offset at a local second, and the reason if that second is not exactly one instant."""
    if ZONE.fullmatch(zone) is None:
        return None, "unknown_time_zone"
    fixed = _offset_us(zone)
    if fixed is not None:
        return fixed, None
    try:
        info = ZoneInfo(zone)
    except (OSError, ValueError, KeyError):  # A folder of the zone database, no zone file, or not found.
        return None, "unknown_time_zone"
    local = (EPOCH + timedelta(seconds=wall_s)).replace(tzinfo=info)
    try:
        first, second = (local.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    except OverflowError:  # The time is on the first or last day of the calendar.
        return None, None
    reason = None if first == second else "ambiguous_local_time" if first > second else "time_not_in_zone"
    return first // timedelta(microseconds=1), reason


@lru_cache(maxsize=1_024)
def _logger(tail: bytes) -> str | None:
    match = SUFFIX.fullmatch(tail)
    return match[1].decode() if match else None
