"""
One line of a log4j log: its stamp, message and logger, and the lines that go on with another's message.

Layouts: `[%d] %p %m (%c)` as Kafka ships it, and ISO with up to nanoseconds, with or without zone, brackets
and a column of monotonic nanoseconds (`%N`) after the time.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from transforms.parse.documents import whole_text
from transforms.parse.record import DAY_US, Quarantined, Record, Skipped, node_number, sample

HEAD_CHARS, TAIL_CHARS = 96, 160
"""A stamp and a logger are shorter; a regular expression reads only this much of a line of megabytes."""

LONGEST_CONTINUATION_BYTES = 16 * 1024
"""No line of a dump is longer; a longer one is quarantined."""

# date and time, up to six digits, further digits, zone, monotonic nanoseconds
PREFIX = re.compile(
    r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{0,6})([0-9]{0,3}))?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?\]? +(?:([0-9]+) +)?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +"
)
SECOND = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}")
SUFFIX = re.compile(r" \(([!-'*-~]+)\)\s*", re.ASCII)  # no parentheses, no blanks
ZONE = re.compile(r"(?!posix/|right/|localtime)[A-Za-z][A-Za-z0-9_+/-]*|[+-][0-9]{2}:[0-9]{2}")
OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2}):?([0-9]{2})?")
FARTHEST_MINUTES = 18 * 60  # `java.time.ZoneOffset`

DEFAULT_LEVELS = frozenset(f"] {level} " for level in ("DEBUG", "TRACE", "ERROR", "FATAL"))
MILLIS_US = {f"{ms:03}": ms * 1_000 for ms in range(1_000)}
RESOLUTIONS_MS = (1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
UTC_NAMES = frozenset({None, "UTC", "Etc/UTC", "Z", "GMT"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_US, LAST_US = -719_162 * DAY_US, 2_932_897 * DAY_US - 1  # of the years 1 and 9999
LONGEST_MONO_NS = 2**63 - 1

_new = tuple.__new__  # a NamedTuple in half the time of calling its class

OUR_LOGGERS = ("(kafka.request.logger)", "(state.change.logger)", "(org.apache.kafka.clients.NetworkClient)")
"""The loggers that we parse: a torn line of theirs still has its logger at its end."""

MARKS = (
    "Completed request:", "RequestHeader(", '"requestHeader"', "correlationId", "totalTime",
    "clientInformation", " starts at leader epoch ",
)  # fmt: skip
"""Words of the lines that we parse: where a layout writes no logger, a line with one is never skipped."""

CONTINUATION = re.compile(
    r"\t[\w.>/:*-]+ = "  # an entry as AbstractConfig.logAll writes it
    r"|[ \t]+\([\w.$]*Config\)\s*\Z"  # `(%c)` of a dump, after the line break that ends it
    r"|\s+at [\w.$<>/@-]+\((?:[\w$.-]+\.\w+(?::\d+)?|Native Method|Unknown Source)\)(?: ~?\[[^\]]*\])?\s*\Z"
    r"|\s+\.\.\. \d+ (?:more|common frames omitted)\s*\Z",
    re.ASCII,
)


class Stamp(NamedTuple):
    """The time that a line begins with; instants in microseconds since 1970."""

    logged_at: int | None  # UTC; None where the date, the time or the zone does not exist
    wall: int | None  # as written, as if it were UTC; None for 30 February
    has_zone: bool  # the line itself names a zone
    logged_mono_ns: int | None
    clock_resolution_ms: float


class Line(NamedTuple):
    """A whole line of text; without a stamp, `message` is all of it up to the logger."""

    text: str
    message: str
    logger: str | None
    node_id: int | None  # the number that the node's name ends in
    stamp: Stamp | None


def read_line(record: Record) -> Line | Quarantined:
    """Split a record's text, unless it is no line of a log. A blank line or a continuation has no stamp."""
    text = whole_text(record)
    if isinstance(text, Quarantined):
        return text
    start, stamp = _default_stamp(text, record.time_zone) or _any_stamp(text, record.time_zone)
    logger, end = None, len(text)
    if text[-1:] != "}":
        at = text.rfind(" (", -TAIL_CHARS)
        if at >= 0:
            logger = _logger(text[at:])
            end = end if logger is None else at
    line = _new(Line, (text, text[start:end], logger, node_number(record.node), stamp))
    if stamp is None and no_message(line) is None:
        return Quarantined("no_timestamp", sample(text))
    return line


def no_message(line: Line) -> str | None:
    """Return why a line is no message of its own: `blank`, `continuation`, or None."""
    if line.stamp is not None:
        return None
    text = line.text
    if len(text) < HEAD_CHARS and not text.strip(" \t\n\r\f\v"):
        return "blank"
    return "continuation" if continues(text) else None


def continues(text: str) -> bool:
    r"""
    Tell whether a line without a stamp goes on with another logger's message: an entry of a dump, a frame.

    The tail of a torn line that we parse never does, wherever it is cut.

    >>> texts = ["\tacks = all", " (a.Config)", "\tat a.B.c(D.java:1)", " (kafka.request.logger)"]
    >>> [continues(text) for text in texts]
    [True, True, True, False]
    """
    if len(text) > LONGEST_CONTINUATION_BYTES or CONTINUATION.match(text) is None:
        return False
    is_short = text.isascii() or len(text.encode()) <= LONGEST_CONTINUATION_BYTES
    return is_short and not any(mark in text for mark in (*OUR_LOGGERS, *MARKS))


def skipped(line: Line, own_logger: str, reason: str) -> Skipped:
    """Return why a line is not ours: blank, a continuation, of another logger, or else `reason`."""
    other = reason if line.logger in (own_logger, None) else "other_logger"
    return Skipped(no_message(line) or other, line.logger)


def untimed(line: Line, record: Record) -> Quarantined | None:
    """Return why the instant of a line is not known, or None. Nothing is guessed where clocks change."""
    stamp, zone = line.stamp, record.time_zone
    if stamp is None or stamp.wall is None:
        return Quarantined("impossible_timestamp", sample(line.text))
    if not stamp.has_zone and zone not in UTC_NAMES:
        _, reason = _zone_offset(zone or "", stamp.wall // 1_000_000)
        if reason is not None:
            return Quarantined(reason, zone)
    return None if stamp.logged_at is not None else Quarantined("impossible_timestamp", sample(line.text))


def _default_stamp(text: str, zone: str | None) -> tuple[int, Stamp] | None:
    """Read Kafka's own layout, `[2026-11-21 09:19:28,987] DEBUG x`, without a regular expression."""
    if text[24:32] not in DEFAULT_LEVELS or text[32:33] == " ":
        return None
    millis, second = MILLIS_US.get(text[21:24]), _bracketed_second(text[:21])
    if millis is None or second is None:
        return None
    wall = second + millis
    at = wall if zone in UTC_NAMES else _in_zone(wall, zone)
    return 32, _new(Stamp, (at, wall, False, None, 1.0))


def _any_stamp(text: str, zone: str | None) -> tuple[int, Stamp | None]:
    match = PREFIX.match(text, 0, HEAD_CHARS)
    if match is None:
        return 0, None
    second_text, micros, nanos, offset, mono = match.groups("")
    second = _second(second_text)
    wall = None if second is None else second + int(micros.ljust(6, "0"))
    at = wall
    if wall is not None:
        if offset not in ("", "Z"):
            at = _moved(wall, _offset_us(offset))
        elif not offset and zone not in UTC_NAMES:
            at = _in_zone(wall, zone)
    mono_ns = int(mono) if mono else None
    if mono_ns is not None and mono_ns > LONGEST_MONO_NS:
        mono_ns = None
    resolution_ms = RESOLUTIONS_MS[len(micros) + len(nanos)]
    return match.end(), _new(Stamp, (at, wall, offset != "", mono_ns, resolution_ms))


def _in_zone(wall: int, zone: str | None) -> int | None:
    return _moved(wall, _zone_offset(zone or "", wall // 1_000_000)[0])


def _moved(wall: int, offset_us: int | None) -> int | None:
    if offset_us is None:
        return None
    at = wall - offset_us
    return at if FIRST_US <= at <= LAST_US else None


@lru_cache(maxsize=4_096)
def _second(text: str) -> int | None:
    """Return microseconds since 1970 of `2026-11-21 09:19:28` in UTC."""
    if SECOND.fullmatch(text) is None:
        return None
    try:
        return (datetime.fromisoformat(text + "+00:00") - EPOCH) // timedelta(microseconds=1)
    except ValueError:
        return None


@lru_cache(maxsize=4_096)
def _bracketed_second(text: str) -> int | None:
    return _second(text[1:20]) if text[0] == "[" and text[20] == "," else None


def _offset_us(text: str) -> int | None:
    match = OFFSET.fullmatch(text)
    if match is None:
        return None
    hours, rest = int(match[2]), int(match[3] or 0)
    minutes = hours * 60 + rest
    if rest > 59 or minutes > FARTHEST_MINUTES:  # noqa: PLR2004 - minutes of an hour
        return None
    return (-minutes if match[1] == "-" else minutes) * 60_000_000


@lru_cache(maxsize=4_096)
def _zone_offset(zone: str, wall_s: int) -> tuple[int | None, str | None]:
    """Return the offset from UTC at a local second, and why that second does not name one instant."""
    if ZONE.fullmatch(zone) is None:
        return None, "unknown_time_zone"
    fixed = _offset_us(zone)
    if fixed is not None:
        return fixed, None
    try:
        info = ZoneInfo(zone)
    except (OSError, ValueError, KeyError):  # a folder of the database, no file of it, not there
        return None, "unknown_time_zone"
    local = (EPOCH + timedelta(seconds=wall_s)).replace(tzinfo=info)
    try:
        first, second = (local.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    except OverflowError:  # the first and the last day of the calendar
        return None, None
    reason = None if first == second else "ambiguous_local_time" if first > second else "time_not_in_zone"
    return first // timedelta(microseconds=1), reason


@lru_cache(maxsize=1_024)
def _logger(tail: str) -> str | None:
    match = SUFFIX.fullmatch(tail)
    return match[1] if match else None
