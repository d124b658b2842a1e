"""Read saved scrapes from files; the time of a page is in the page or in the file name."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import DamagedFileError, RawLine, is_gzip, read_blocks
from conf.names import Kind

PAGE_BYTES = 64 * 1024 * 1024
"""A longer page is cut to this size, which is twice the parser's limit."""

TIME_MARK = b"# scraped_at "
"""Prefix of the line with a page's time. In a file with several pages, each page starts with this line."""

_MARK = b"\n" + TIME_MARK

_EPOCH = re.compile(r"(?<!\d)(\d{10})(?:\.(\d{1,9})|(\d{3}|\d{6}|\d{9}))?(?!\d)")
_ISO = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T _-]?(\d\d)[:-]?(\d\d)[:-]?(\d\d)(?:[.,](\d{1,9}))?"
    r"(?:Z| ?([+-])(0\d|1[0-4]):?(00|15|30|45))?(?!\d)"
)
_NS = 1_000_000_000


def instant_ns(text: str) -> int | None:
    """
    Return the timestamp in a text, in epoch nanoseconds: ISO 8601, or an epoch of at least ten digits.

    A time without a zone is UTC. A number after `-` is a UTC offset only if the time has colons; otherwise
    it may be a port. Ten digits are epoch seconds; 3, 6 or 9 more digits are milliseconds, microseconds or
    nanoseconds.

    >>> instant_ns("broker-1-2026-11-21T09-19-28Z.prom") == instant_ns("jmx.1795252768.prom.gz")
    True
    >>> instant_ns("2026-11-21T09:19:28.987716+01:00"), instant_ns("1795249168.987716")
    (1795249168987716000, 1795249168987716000)
    >>> instant_ns("20261121_091928"), instant_ns("1795252768987")
    (1795252768000000000, 1795252768987000000)
    >>> instant_ns("jmx.prom"), instant_ns("2026-13-21T09:19:28Z"), instant_ns("20261121")
    (None, None, None)
    >>> instant_ns("2026-11-21T09-19-28-7071.prom") == instant_ns("1795252768-9404.prom")
    True
    """
    if match := _ISO.search(text):
        *fields, fraction, sign, hours, minutes = match.groups()
        is_zone = sign == "+" or (sign == "-" and ":" in match[0])
        ahead_s = (int(hours) * 3_600 + int(minutes) * 60) * (-1 if sign == "-" else 1) if is_zone else 0
        with suppress(ValueError):  # not a valid date: it may be an epoch followed by a number
            at = datetime(*map(int, fields), tzinfo=UTC)  # type: ignore[arg-type, misc]
            return (int(at.timestamp()) - ahead_s) * _NS + int((fraction or "").ljust(9, "0"))
    if match := _EPOCH.search(text):
        return int(match[1]) * _NS + int((match[2] or match[3] or "").ljust(9, "0"))
    return None


def read_scrapes(path: Path, node: str) -> Iterator[RawLine]:
    """
    Yield the pages of a file: one page, or one per line `# scraped_at`.

    The position of a page without a known time contains a digest of the page instead. The modification time
    of the file is not used, because copying the file changes it.

    Raises:
        DamagedFileError: the rest of the file cannot be read.

    """
    kind, pages, page = Kind.METRICS.value, 0, b""
    try:
        with path.open("rb") as stream:
            for page in _pages(read_blocks(stream, is_compressed=is_gzip(path))):
                pages += 1
                yield RawLine(page, node, str(path), _position(page, path, node), kind)
    except (OSError, TornGzipError) as error:
        raise DamagedFileError(str(path), node, kind, f"{node}/pages/{pages}", str(error)) from error


def _pages(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """
    Split a file into its pages; a page is cut to `PAGE_BYTES` and a few more bytes.

    Bytes before the first mark belong to the first page.
    """
    held = bytearray(b"\n")  # lets a mark in the first line match too
    is_marked, look_from = False, 0
    for block in blocks:
        held += block
        while (at := held.find(_MARK, look_from)) >= 0:
            if is_marked:
                yield bytes(held[1 : at + 1])
                del held[:at]
            is_marked, look_from = True, 1 if is_marked else at + 1
        look_from = max(look_from, len(held) - len(_MARK))
        if len(held) > PAGE_BYTES + 3 * len(_MARK):
            del held[PAGE_BYTES + 2 : -len(_MARK)]
            look_from = PAGE_BYTES + 2
    yield bytes(held[1:])


def _position(page: bytes, path: Path, node: str) -> str:
    at = 0 if page.startswith(TIME_MARK) else page.find(_MARK)
    text = page[at:].lstrip(b"\n").split(b"\n", 1)[0].decode(errors="replace") if at >= 0 else path.name
    at_ns = instant_ns(text)
    return f"{node}/scrape/{at_ns}" if at_ns is not None else f"{node}/page/{sha256(page).hexdigest()[:16]}"
