"""Read a record as one text, and a JSON document of the edge strictly into a msgspec struct."""

import re
from typing import NamedTuple, TypeVar

import msgspec

from transforms.parse.record import Quarantined, Record

T = TypeVar("T")

LONGEST_BYTES = 4 * 1024 * 1024
HIGH, LOW = r"[89abAB][0-9a-fA-F]{2}", r"[c-fC-F][0-9a-fA-F]{2}"
HALF_PAIR = re.compile(rf"\\u[dD](?:{HIGH}(?!\\u[dD]{LOW})|(?<!\\u[dD]{HIGH}\\u[dD]){LOW})")
"""An escaped half of a surrogate pair, which is no character."""

FAULT = re.compile(r"(?:missing required field `(?P<missing>[^`]*)`)?(?: - at `\$\.?(?P<path>[^`]*)`)?\Z")


class Misread(NamedTuple):
    """Why a text is not the document that was expected."""

    field: str  # path of the missing or mistyped field; '' where the text is no such JSON object at all
    detail: str


def whole_text(record: Record) -> str | Quarantined:
    """Return the record's text, unless it is missing, a part, compressed, too long or no UTF-8."""
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
    Return the document that the whole text is. Half a surrogate pair becomes `?`.

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
    if "\0" in text:  # No JSON holds a NUL, so that it can take the place of escaped backslashes.
        return text
    return HALF_PAIR.sub("?", text.replace("\\\\", "\0")).replace("\0", "\\\\")
