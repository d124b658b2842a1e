r"""
Parse one line of a scrape into a sample with series, value and instant, or return why it is unreadable.

The patterns accept what prometheus_client accepts, except for the differences in docs/metrics.md. Each
pattern reads a line without backtracking: its repetitions are possessive, or the next character decides.
Groups repeat greedily, because Python before 3.11.5 mismatches possessive groups.
"""

import math
import re
from itertools import islice
from typing import NamedTuple

from transforms.parse.record import Quarantined, sample
from transforms.parse.scrapes.page import INSTANT, MILLISECOND_US, SECOND_US, Limits, instant_us

LONGEST_LINE = 128 * 1024
"""In bytes: 64 labels of 2,048 characters. A longer line would take more than 50 ms."""

SHOWN_CHARS = 120

BLANK_SET = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The characters that Python, and so prometheus_client, strips from a line."""

W = rf"[{BLANK_SET}]*+"
WORD = rf"[^{BLANK_SET}]++"
GAP = rf"[\n-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*+[ \t]{W}"
"""Blanks that separate two words; at least one must be a space or tab."""

LEGAL = r"[a-zA-Z_:][a-zA-Z0-9_:]*+"
QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*"'
LABEL_NAME = rf'(?:(?!__(?!name__(?![a-zA-Z0-9_:]))){LEGAL}|(?!"__(?!name__")){QUOTED})'
NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?|[+-]?(?i:inf(?:inity)?|nan)"

_TERM = rf"(?:{LABEL_NAME}{W}={W}{QUOTED}|{QUOTED})"
_TEXT_LABELS = rf"{W}(?:{_TERM}{W})?(?:,(?:{W}{_TERM}{W}|[{BLANK_SET}]++))*,?"
_OPENMETRICS_LABELS = rf"{W}(?:{_TERM}{W}(?:,{W}{_TERM}{W})*)?"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.DOTALL)


TEXT = _compiled(
    rf"{W}(?:(?P<name>{LEGAL})?{W}\{{(?P<labels>{_TEXT_LABELS})\}}{W}|(?P<bare>{LEGAL}){GAP})"
    rf"(?P<value>{WORD})(?:{GAP}(?P<at>{WORD}))?{W}\Z"
)
OPENMETRICS = _compiled(
    rf"(?:(?P<name>{LEGAL})?\{{(?P<labels>{_OPENMETRICS_LABELS})\}} |(?P<bare>{LEGAL}) )"
    rf"(?P<value>{WORD})(?: (?P<at>[^#{BLANK_SET}][^{BLANK_SET}]*+))?"
    rf"(?: # \{{{_OPENMETRICS_LABELS}\}} (?:{NUMBER})(?: {INSTANT})?)?\Z"
)
BEGINS_AS_SERIES = _compiled(rf"{W}(?:{LEGAL})?{W}\{{{_TEXT_LABELS}\}}|{W}{LEGAL}(?:[{BLANK_SET}]|\Z)")
BEGINS_AS_NAME = _compiled(rf"{W}(?:{LEGAL}{W})?\{{")
COMMENT = _compiled(rf"{W}(?:#|\Z)")
TYPE = _compiled(rf"# TYPE {W}({QUOTED}|{WORD})[{BLANK_SET}]++(\S++)")
LABEL = _compiled(rf"({LEGAL}|{QUOTED})(?:{W}={W}({QUOTED}))?")
IS_NUMBER, IS_LEGAL, STRINGS = _compiled(NUMBER), _compiled(LEGAL), _compiled(QUOTED)
ESCAPE = _compiled(r"\\(.)")
UNESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


class Series(NamedTuple):
    """A series. `text` has sorted labels and no blanks; `labels` are unescaped."""

    text: str
    name: str
    labels: list[tuple[str, str]]


class Sample(NamedTuple):
    """A parsed line; `at` is in microseconds."""

    series: Series
    value: float
    at: int


def read_line(
    line: bytes, limits: Limits, *, is_openmetrics: bool, scraped_at: int | None
) -> Sample | Quarantined | None:
    """Return the sample of a line, or why the line is unreadable; None for a comment."""
    if len(line) > LONGEST_LINE:
        return Quarantined("label_too_long", f"a line of {len(line)} bytes")
    if not is_utf8(line):
        return Quarantined("not_utf8", "bytes that are no UTF-8")
    text = line.decode()
    if _is_comment(text, is_openmetrics=is_openmetrics):
        return None
    found = (OPENMETRICS if is_openmetrics else TEXT).match(text)
    if not found:
        return _misread(text)
    at = scraped_at if found["at"] is None else read_instant(found["at"], is_openmetrics=is_openmetrics)
    return _sample(found, at, limits)


def read_head(head: bytes, limits: Limits, *, is_openmetrics: bool) -> Series | None:
    """Return the series of the text before a value; None if the text is not exactly one series."""
    if len(head) > LONGEST_LINE or not is_utf8(head):
        return None
    text = head.decode()
    found = (OPENMETRICS if is_openmetrics else TEXT).match(f"{text} 0")
    if not found or found.start("value") != len(text) + 1:
        return None
    series = _series(found, limits)
    return None if isinstance(series, Quarantined) else series


def read_instant(text: str, *, is_openmetrics: bool) -> int | None:
    """Return a sample's instant in microseconds; the text format has milliseconds, OpenMetrics seconds."""
    return instant_us(text, SECOND_US if is_openmetrics else MILLISECOND_US)


def read_type(line: bytes) -> tuple[str, str] | None:
    """Return the family and type of a `# TYPE` line; None for any other line."""
    found = TYPE.match(line.decode()) if is_utf8(line) else None
    return (_bare(found[1]), found[2]) if found else None


def is_utf8(line: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_comment(text: str, *, is_openmetrics: bool) -> bool:
    return text == "" or text[0] == "#" or (not is_openmetrics and COMMENT.match(text) is not None)


def _sample(found: re.Match[str], at: int | None, limits: Limits) -> Sample | Quarantined:
    series = _series(found, limits)
    if isinstance(series, Quarantined):
        return series
    if not IS_NUMBER.fullmatch(found["value"]):
        return Quarantined("bad_number", found["value"][:SHOWN_CHARS])
    if at is None and found["at"] is None:
        return Quarantined("no_instant", "neither the page nor the line has one")
    if at is None:
        return Quarantined("impossible_timestamp", found["at"][:SHOWN_CHARS])
    value = float(found["value"])
    return Sample(series, math.nan if math.isnan(value) else value, at)  # NaN is stored without a sign.


def _series(found: re.Match[str], limits: Limits) -> Series | Quarantined:
    """Return the series of a line; a label `__name__` or a lone quoted name is the series name."""
    if _is_long(found.string[: found.start("value")].rstrip(), limits):
        return Quarantined("label_too_long", f"a name or value of more than {limits.label_chars} characters")
    labels = found["labels"]
    pairs = list(islice(LABEL.finditer(labels), limits.sample_labels + 1)) if labels else []
    if len(pairs) > limits.sample_labels:
        return Quarantined("too_many_labels", f"more than {limits.sample_labels}")
    by_name = dict(map(_label, pairs))
    if len(by_name) < len(pairs):
        return Quarantined("bad_labels", "a label twice")
    name, own = found["bare"] or found["name"], by_name.pop("__name__", None)
    if (name is None) == (own is None) or own == '""':
        return Quarantined("bad_labels", "no name, or two")
    name = name or (own or "")[1:-1]
    ordered = sorted(by_name.items())
    written = ",".join([f"{label}={value}" for label, value in ordered])
    if not IS_LEGAL.fullmatch(name):
        written = f'{{"{name}",{written}}}' if written else f'{{"{name}"}}'
    else:
        written = f"{name}{{{written}}}" if written else name
    return Series(written, _unescaped(name), [(_bare(label), _bare(value)) for label, value in ordered])


def _label(found: re.Match[str]) -> tuple[str, str]:
    """Return a label in canonical form: a quoted value, a name with quotes only if needed, valid escapes."""
    label, value = found.groups()
    if value is None:
        label, value = "__name__", label
    elif label[0] == '"' and IS_LEGAL.fullmatch(label[1:-1]):
        label = label[1:-1]
    if "\\" in found[0]:
        label, value = (ESCAPE.sub(_known_escape, text) for text in (label, value))
    return label, value


def _known_escape(found: re.Match[str]) -> str:
    """Return an escape; a backslash that escapes nothing is literal, so it is doubled."""
    return found[0] if found[1] in UNESCAPED else "\\" + found[0]


def _unescaped(text: str) -> str:
    return ESCAPE.sub(lambda found: UNESCAPED.get(found[1], found[0]), text) if "\\" in text else text


def _bare(text: str) -> str:
    """Return a quoted text without quotes and escapes, and any other text unchanged."""
    return _unescaped(text[1:-1]) if text[0] == '"' else text


def _misread(text: str) -> Quarantined:
    if BEGINS_AS_SERIES.match(text):
        return Quarantined("bad_sample", sample(text))
    if BEGINS_AS_NAME.match(text):
        return Quarantined("bad_labels", sample(text))
    return Quarantined("bad_name", sample(text))


def _is_long(text: str, limits: Limits) -> bool:
    """Return whether a quoted or unquoted part is longer than the limit; an escape is one character."""
    if len(text) <= limits.label_chars:
        return False
    quoted = (ESCAPE.sub("x", found[1:-1]) for found in STRINGS.findall(text))
    return any(len(part) > limits.label_chars for part in (*quoted, *STRINGS.split(text)))
