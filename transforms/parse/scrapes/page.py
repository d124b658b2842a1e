"""Read a scrape as a whole: its unpacked bytes, format and instant, or why it is unreadable."""

import re
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import NamedTuple

from transforms.parse.record import FIRST_US, LAST_US, NO_CLUSTER, Quarantined, Record

CONTENT_TYPE = "content-type"
"""The record header with the exporter's content type."""

OPENMETRICS_TYPE = b"application/openmetrics-text"
END = b"# EOF"
"""The last line of an OpenMetrics page."""

LINES_A_SAMPLE = 4
"""A sample and its HELP, TYPE and UNIT. The limit rejects pages of millions of empty lines."""

SHORTEST_SAMPLE = len("a 1\n")

BACK_FILL = "/backfill/"
"""A part of the position of back-filled pages, whose samples all have their own instant."""

MOST_BYTES = 128 * 1024 * 1024
"""The largest page; the collector refuses larger ones."""

MOST_MEMBERS = 10_000
"""The most members of one gzip. Millions of empty members fit in a record and would cost seconds."""

GUNZIP_BYTES = 64 * 1024
"""Bytes per call of zlib. It copies the bytes after a member, so one call per value would be quadratic."""

SECOND_US, MILLISECOND_US = 1_000_000, 1_000

SCRAPED = re.compile(r"/scrape/(\d{1,16})\d{3}\Z", re.ASCII)
STATED = re.compile(rb"^# scraped_at[ \t]++(\S{1,64}+)[ \t]*+\r?$", re.MULTILINE)
INSTANT = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3}+)?"
IS_INSTANT = re.compile(INSTANT)
EXACT = Context(prec=40)
NANOS = Decimal("1e-9")
INTEGER_DIGITS, MILLISECOND_DIGITS = 19, 13
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The largest accepted scrape, sample and label."""

    scrape_bytes: int = 32 * 1024 * 1024
    scrape_samples: int = 500_000
    sample_labels: int = 64
    label_chars: int = 4_096


class ScrapePage(NamedTuple):
    """A page whose lines can be parsed; `scraped_at` is None only for a back-filled page."""

    text: bytes
    is_openmetrics: bool
    scraped_at: int | None


def read_page(record: Record, limits: Limits) -> ScrapePage | Quarantined:
    """Return the page of a record, or why the whole page is unreadable."""
    if record.value is None:
        return Quarantined("no_value", "the file could not be read from here on")
    if record.chunk is not None:
        return Quarantined("oversized", f"part {record.chunk}")
    if record.content_encoding not in (None, "gzip"):
        return Quarantined("unknown_encoding", record.content_encoding)
    text: bytes | None = record.value
    if record.content_encoding == "gzip":
        text = gunzip(record.value, limits.scrape_bytes)
    if text is None:
        return Quarantined("bad_gzip", "the header says gzip, the bytes are not")
    if record.cluster is None:
        return NO_CLUSTER
    return _beyond_limits(text, limits) or _placed(text, record)


def _beyond_limits(text: bytes, limits: Limits) -> Quarantined | None:
    most, size = limits.scrape_samples, len(text)
    if size > limits.scrape_bytes:
        return Quarantined("scrape_too_big", f"more than {limits.scrape_bytes} bytes")
    if size >= SHORTEST_SAMPLE * most:  # Fewer bytes cannot contain more samples than the limit.
        lines = line_count(text)
        comments = text.count(b"\n#") + text.startswith(b"#")
        if lines - comments > most or lines > LINES_A_SAMPLE * most:
            detail = f"more than {most} samples, or {LINES_A_SAMPLE} lines for each of them"
            return Quarantined("too_many_samples", detail)
    return None


def _placed(text: bytes, record: Record) -> ScrapePage | Quarantined:
    """Return the page with its format and instant."""
    content_type = next((value for key, value in record.headers or () if key == CONTENT_TYPE), None)
    openmetrics = is_openmetrics(text, content_type)
    if openmetrics and (not has_end(text) or has_end_within(text)):
        return Quarantined("torn_scrape", "an OpenMetrics page ends with # EOF, once")
    at = scraped_at(record.position)
    if at is None:
        at = stated_at(text)
    if at is None and BACK_FILL not in (record.position or ""):
        return Quarantined("no_instant", f"neither the position nor the page has one: {record.position}")
    return ScrapePage(text, openmetrics, at)


def gunzip(value: bytes, most_bytes: int = MOST_BYTES) -> bytes | None:
    """
    Return the unpacked bytes of a gzip with one or more members; None if it is not valid gzip.

    Stops at `most_bytes` + 1, so that a small record cannot fill the memory.
    """
    parts, size, members, member = list[bytes](), 0, 0, None
    try:
        for start in range(0, len(value), GUNZIP_BYTES):
            rest = value[start : start + GUNZIP_BYTES]
            while rest:
                if member is None:
                    member, members = zlib.decompressobj(wbits=31), members + 1
                parts.append(member.decompress(rest, most_bytes + 1 - size))
                size += len(parts[-1])
                if size > most_bytes:
                    return b"".join(parts)
                if members > MOST_MEMBERS:
                    return None
                rest, member = member.unused_data, None if member.eof else member
    except zlib.error:
        return None
    return b"".join(parts) if member is None else None


def is_openmetrics(text: bytes, content_type: bytes | None) -> bool:
    """Return whether a page is OpenMetrics, by its content type or its last line `# EOF`."""
    return (content_type or b"").startswith(OPENMETRICS_TYPE) or has_end(text)


def has_end(text: bytes) -> bool:
    """Return whether the last line of a page is `# EOF`."""
    return text in (END, END + b"\n") or text.endswith((b"\n" + END, b"\n" + END + b"\n"))


def has_end_within(text: bytes) -> bool:
    """Return whether a page that ends with `# EOF` has another such line."""
    before = len(text) - text.endswith(b"\n") - len(END)
    return text.startswith(END + b"\n", 0, before) or text.find(b"\n" + END + b"\n", 0, before) >= 0


def line_count(text: bytes) -> int:
    """Return the number of lines; a line break at the end does not start another line."""
    return text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))


def scraped_at(position: str | None) -> int | None:
    """Return the instant of a position `NODE/scrape/EPOCH_NS` in microseconds; None for other positions."""
    found = SCRAPED.search(position or "")
    return int(found[1]) if found else None


def stated_at(text: bytes) -> int | None:
    """Return the instant of a line `# scraped_at`: ISO 8601 (without a zone: UTC) or epoch seconds."""
    found = STATED.search(text)
    if not found:
        return None
    stated = found[1].decode(errors="replace")
    micros = instant_us(stated, SECOND_US)
    if micros is not None:
        return micros
    try:
        at = datetime.fromisoformat(stated)
        micros = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
    return micros if FIRST_US <= micros <= LAST_US else None


def instant_us(text: str, unit_us: int) -> int | None:
    """Return a decimal number of units as microseconds since 1970; None outside years 1 to 9999."""
    if len(text) <= MILLISECOND_DIGITS and text.isascii() and text.isdigit():
        micros = int(text) * unit_us
        return micros if micros <= LAST_US else None
    if not IS_INSTANT.fullmatch(text):
        return None
    number = Decimal(text)
    if number and number.adjusted() >= INTEGER_DIGITS:
        return None
    exact = EXACT.multiply(number.quantize(NANOS, ROUND_HALF_UP, EXACT), Decimal(unit_us))
    micros = int(exact.to_integral_value(ROUND_FLOOR))
    return micros if FIRST_US <= micros <= LAST_US else None
