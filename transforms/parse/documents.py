"""Decode a record to text, and strict JSON to a msgspec struct."""

import re
from typing import NamedTuple, TypeVar

import msgspec

from transforms.parse.record import Quarantined, Record

T = TypeVar("T")

LONGEST_BYTES = 4 * 1024 * 1024
HIGH, LOW = r"[89abAB][0-9a-fA-F]{2}", r"[c-fC-F][0-9a-fA-F]{2}"
HALF_PAIR = re.compile(rf"\\u[dD](?:{HIGH}(?!\\u[dD]{LOW})|(?<!\\u[dD]{HIGH}\\u[dD]){LOW})")
"""An escaped lone surrogate, which is not a character."""

FAULT = re.compile(r"(?:missing required field `(?P<missing>[^`]*)`)?(?: - at `\$\.?(?P<path>[^`]*)`)?\Z")


class Misread(NamedTuple):
    """The reason why a text is not the expected document."""

    field: str  # path of the missing or mistyped field; '' if the text is not such a JSON object at all
    detail: str


def whole_text(record: Record) -> str | Quarantined:
    """Return the record's text, or why it has none: missing, a chunk, compressed, too long or not UTF-8."""
    if record.value is None:
        return Quarantined("no_value", "the file could not be read from here on")
    if record.chunk is not None:
        return Quarantined("oversized", f"part {record.chunk}")
    if record.content_encoding is not None:
        return Quarantined("compressed_line", record.content_encoding)
    if len(record.value) > LONGEST_BYTES:
        return Quarantined("oversized", f"{len(record.value)} bytes")
    try:
        return record.value.decode()
    except UnicodeDecodeError:
        return Quarantined("not_utf8", "bytes that are no UTF-8")


def decode(text: str, decoder: "msgspec.json.Decoder[T]") -> T | Misread:
    r"""
    Return the document of the whole text. A lone surrogate becomes `?`.

    >>> decoder = msgspec.json.Decoder(dict[str, int])
    >>> decode('{"\\ud800": 1}', decoder), decode('{"a": "b"}', decoder).field, decode("{", decoder).field
    ({'?': 1}, '[...]', '')
    """
    if "\\ud" in text or "\\uD" in text:
        text = _without_half_pairs(text)
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        fault = FAULT.search(str(error))
        names = fault.group("path", "missing") if fault else ()
        return Misread(".".join(name for name in names if name), str(error))
    except (msgspec.DecodeError, RecursionError) as error:
        return Misread("", str(error))


def _without_half_pairs(text: str) -> str:
    if "\0" in text:  # Valid JSON contains no NUL, so NUL can replace escaped backslashes below.
        return text
    return HALF_PAIR.sub("?", text.replace("\\\\", "\0")).replace("\0", "\\\\")
