"""Scrapes that were saved as files: each page with its instant, by the file's name or a line in the page."""

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
"""Of a longer page so much is taken: twice what the parser reads at most."""

TOLD = b"# scraped_at "
"""Begins the line that tells a page's instant; where a file holds several pages, each begins with it."""

_MARK = b"\n" + TOLD

_EPOCH = re.compile(r"(?<!\d)(\d{10})(?:\.(\d{1,9})|(\d{3}|\d{6}|\d{9}))?(?!\d)")
_ISO = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T _-]?(\d\d)[:-]?(\d\d)[:-]?(\d\d)(?:[.,](\d{1,9}))?"
    r"(?:Z| ?([+-])(0\d|1[0-4]):?(00|15|30|45))?(?!\d)"
)
_NS = 1_000_000_000


def instant_ns(text: str) -> int | None:
    """
    Give the instant that stands in a text, in epoch nanoseconds: ISO 8601 or an epoch of ten digits or more.

    Without a zone it is UTC; without colons what follows a `-` is another number, a port. Seconds may have
    3, 6 or 9 digits more, which is how milliseconds are written.

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
    if told := _ISO.search(text):
        *fields, fraction, sign, hours, minutes = told.groups()
        is_zone = sign == "+" or (sign == "-" and ":" in told[0])
        ahead_s = (int(hours) * 3_600 + int(minutes) * 60) * (-1 if sign == "-" else 1) if is_zone else 0
        with suppress(ValueError):  # no such day: it may be an epoch with a number behind it
            at = datetime(*map(int, fields), tzinfo=UTC)  # type: ignore[arg-type, misc]
            return (int(at.timestamp()) - ahead_s) * _NS + int((fraction or "").ljust(9, "0"))
    if told := _EPOCH.search(text):
        return int(told[1]) * _NS + int((told[2] or told[3] or "").ljust(9, "0"))
    return None


def read_scrapes(path: Path, node: str) -> Iterator[RawLine]:
    """
    Read the pages of a file: one, or one behind each line `# scraped_at`.

    A page of which no instant is known has a position without one. When the file was last changed is no
    instant of a scrape: a copy changes it.

    Raises:
        DamagedFileError: the file cannot be read further.

    """
    kind, nth, page = Kind.METRICS.value, 0, b""
    try:
        with path.open("rb") as stream:
            for page in _pages(read_blocks(stream, is_compressed=is_gzip(path))):
                nth += 1
                yield RawLine(page, node, str(path), _position(page, path, node), kind)
    except (OSError, TornGzipError) as error:
        raise DamagedFileError(str(path), node, kind, f"{node}/pages/{nth}", str(error)) from error


def _pages(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """
    Part a file into its pages, of each what `PAGE_BYTES` holds and some bytes more.

    What stands before the first mark is of the first page.
    """
    held = bytearray(b"\n")  # a mark is behind a line end, the first line's too
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
    at = page.find(TOLD) if page.startswith(TOLD) else page.find(b"\n" + TOLD)
    told = page[at:].lstrip(b"\n").split(b"\n", 1)[0].decode(errors="replace") if at >= 0 else path.name
    at_ns = instant_ns(told)
    return f"{node}/scrape/{at_ns}" if at_ns is not None else f"{node}/page/{sha256(page).hexdigest()[:16]}"
