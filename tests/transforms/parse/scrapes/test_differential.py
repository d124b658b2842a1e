"""
Ten thousand random, damaged scrapes, parsed by our parser and by prometheus_client.

A page is accepted if none of its lines is rejected. Every difference between the two parsers, in a line or in
a page, belongs to one of the classes below, which docs/metrics.md explains.
"""

import math
import re
import struct
from collections import Counter
from random import Random

import prometheus_client.openmetrics.parser as openmetrics
import prometheus_client.parser as text
import pytest
from prometheus_client.samples import Timestamp

from tests.transforms.parse import scrape_pages
from tests.transforms.parse.scrapes import pages as made
from transforms.parse.record import Quarantined
from transforms.parse.scrapes.page import FIRST_US, LAST_US, Limits
from transforms.parse.scrapes.parser import ScrapeParser

PAGES = 10_000
SEED = 20_261_123
SCRAPED_US = 1_795_252_768_987_716
LEGAL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
EXEMPLAR = re.compile(r" # \{[^}]*\} \S+( \S+)?$")


class ComparedLine:
    """A line that is no comment, with the result of both parsers: a sample, or the error as text."""

    def __init__(self, line, is_openmetrics, ours):
        """Parse the line with prometheus_client; `ours` is our result."""
        self.is_openmetrics, self.ours = is_openmetrics, ours
        self.text = line if is_openmetrics else line.strip()
        try:
            theirs = (openmetrics if is_openmetrics else text)._parse_sample(self.text)
        except (ValueError, IndexError, OverflowError) as error:
            self.theirs = f"{type(error).__name__}: {error}"
        else:  # prometheus_client refuses a sample without a name when it makes families.
            self.theirs = (
                (theirs.name, theirs.labels, theirs.value, theirs.timestamp) if theirs.name else "no name"
            )

    @property
    def is_ours(self):
        """Return whether our parser accepts the line."""
        return not isinstance(self.ours, str)

    @property
    def is_theirs(self):
        """Return whether prometheus_client accepts the line."""
        return not isinstance(self.theirs, str)

    @property
    def is_same(self):
        """Return whether both reject the line, or parse the same sample, bit for bit."""
        if not (self.is_ours and self.is_theirs):
            return self.is_ours == self.is_theirs
        same_bits = bits(self.ours[2]) == bits(self.theirs[2])
        return self.ours[:2] == self.theirs[:2] and same_bits and self.is_same_instant

    @property
    def is_same_instant(self):
        """Return whether both have the same instant, to the microsecond."""
        wanted = micros(self.theirs[3])
        return self.ours[3] == SCRAPED_US if wanted is None else abs(self.ours[3] - wanted) <= 1

    @property
    def before_labels(self):
        """Return the text that prometheus_client takes for the name of a line with labels."""
        at = text._next_unquoted_char(self.text, "{")
        name = self.text[:at] if self.is_openmetrics else self.text[:at].strip()
        return name if at >= 0 and " # " not in self.text[:at] else ""

    @property
    def blank(self):
        """Return the separator of words, as an argument of `split`."""
        return " " if self.is_openmetrics else None

    @property
    def words(self):
        """Return the words after the labels or the name."""
        at = text._next_unquoted_char(self.text, "{")
        if at >= 0 and " # " not in self.text[:at]:
            return (
                self.text[at + text._next_unquoted_char(self.text[at:], "}") + 1 :].strip().split(self.blank)
            )
        return self.text.split(self.blank)[1:]


def bits(value):
    try:
        return struct.pack(">d", float(value))
    except OverflowError:  # A Python int that is larger than any double.
        return struct.pack(">d", math.inf if value > 0 else -math.inf)


def micros(stamp):
    if stamp is None:
        return None
    if isinstance(stamp, Timestamp):
        return stamp.sec * 1_000_000 + stamp.nsec // 1_000
    return stamp * 1e6


def is_illegal_name(line):
    return (
        line.is_theirs
        and not line.is_ours
        and line.before_labels != ""
        and not LEGAL.fullmatch(line.before_labels)
    )


def is_illegal_label(line):
    return line.is_theirs and line.ours == "bad_labels" and any("\n" in name for name in line.theirs[1])


def has_more_words(line):
    return not line.is_openmetrics and line.is_theirs and line.ours == "bad_sample" and len(line.words) > 2


def is_one_word(line):
    return line.is_theirs and not line.is_ours and line.text.lower() in ("nan", "inf", "infinity")


def has_other_digits(line):
    return (
        line.is_theirs
        and not line.is_ours
        and any(c.isdigit() and not c.isascii() for c in "".join(line.words))
    )


def has_sign_of_nan(line):
    both = line.is_ours and line.is_theirs
    return both and math.isnan(line.ours[2]) and math.isnan(line.theirs[2]) and line.words[0][0] == "-"


def is_minus_zero(line):
    both = line.is_ours and line.is_theirs
    return both and line.ours[2] == line.theirs[2] == 0 and set(line.words[0]) == set("-0")


def is_beyond_instants(line):
    if not line.is_theirs or line.ours != "impossible_timestamp" or line.theirs[3] is None:
        return False
    instant = micros(line.theirs[3])
    return instant != instant or not FIRST_US <= instant <= LAST_US  # noqa: PLR0124 (only NaN)


def has_no_blank(line):
    end = text._next_unquoted_char(line.text, "}")
    return line.is_openmetrics and line.is_theirs and not line.is_ours and line.text[end + 1 : end + 2] != " "


def has_misread_seconds(line):
    """Return whether prometheus_client misreads the seconds: it stops nine digits after the point."""
    if not line.is_openmetrics or len(line.words) < 2:
        return False
    is_negative_part = re.fullmatch(r"-0+\.\d+", line.words[1], re.ASCII)
    is_plain = re.fullmatch(r"[+-]?\d+(\.\d{0,9})?|[+-]?\.\d+", line.words[1], re.ASCII)
    return is_negative_part is not None or is_plain is None


def has_empty_label(line):
    if line.is_openmetrics or not line.is_theirs or line.ours != "bad_labels":
        return False
    return re.search(r"=\s*[,}]", QUOTED.sub("''", line.text)) is not None


def has_exemplar(line):
    return line.is_openmetrics and " # " in line.text and line.is_ours != line.is_theirs


CLASSES = {
    "illegal name": is_illegal_name,
    "illegal label": is_illegal_label,
    "empty label": has_empty_label,
    "more words": has_more_words,
    "one word": is_one_word,
    "other digits": has_other_digits,
    "sign of NaN": has_sign_of_nan,
    "minus zero": is_minus_zero,
    "beyond instants": is_beyond_instants,
    "no blank": has_no_blank,
    "seconds": has_misread_seconds,
    "exemplar": has_exemplar,
}
"""The allowed differences of lines; `docs/metrics.md` has the reason of each."""

OF_PAGES = ("metadata", "family", "quoted name")
"""The reasons for which only prometheus_client refuses a page, although all its lines are equal."""


@pytest.fixture(scope="module")
def pages():
    dice = Random(SEED)
    return [scrape_pages.page(dice)[0] for _ in range(PAGES)]


@pytest.fixture(scope="module")
def read(pages):
    """Return, for each page, the reason of a refusal and the results of its lines."""
    parser, series = ScrapeParser(Limits(label_chars=100_000)), {}
    return [read_by_ours(parser, page, series) for page in pages]


def read_by_ours(parser, page, series):
    outcome = parser.parse(made.record(page))
    if isinstance(outcome, Quarantined):
        return outcome.reason, []
    series |= {row.series_id: (row.name, dict(row.labels)) for row in outcome.rows["metric_series"]}
    samples = [(*series[series_id], value, at) for series_id, at, value in made.samples(outcome)]
    bad = {int(line.position.rpartition("#")[2]): line.reason for line in outcome.rejected}
    is_openmetrics = outcome.rows["metric_scrapes"][0].format == "openmetrics"
    kept, said = iter(samples), []
    for number, line in enumerate(page.split(b"\n"), 1):
        text = line.decode(errors="replace")
        text = text if is_openmetrics else text.strip()
        if number in bad:
            said.append(bad[number])
        elif text and not text.startswith("#"):
            said.append(next(kept))
    assert next(kept, None) is None
    return None, said


def compared(page, said):
    """Return the lines that are no comments, each with our result; every line must have one."""
    is_openmetrics = page.endswith(("# EOF", "# EOF\n")) and ("\n" + page).rstrip("\n").endswith("\n# EOF")
    every = page.split("\n")
    samples = [
        line
        for line in every
        if (line if is_openmetrics else line.strip())
        and not (line if is_openmetrics else line.strip()).startswith("#")
    ]
    assert len(samples) == len(said), (page, said)
    return is_openmetrics, [
        ComparedLine(line, is_openmetrics, ours) for line, ours in zip(samples, said, strict=True)
    ]


def is_accepted(page, *, is_openmetrics):
    try:
        list((openmetrics if is_openmetrics else text).text_string_to_metric_families(page))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError):
        return False
    return True


def page_class(page, lines, is_openmetrics):
    """Return the class of a page that only prometheus_client refuses; None without one."""
    kept = [line.text for line in lines]
    ended = "\n".join([*kept, "# EOF", ""]) if is_openmetrics else "\n".join(kept)
    if is_accepted(ended, is_openmetrics=is_openmetrics):
        return "metadata"
    alone = all(
        any(is_accepted(f"{one}\n# EOF\n", is_openmetrics=True) for one in (line, EXEMPLAR.sub("", line)))
        for line in kept
    )
    if is_openmetrics and alone:
        return "family"
    named = [line for line in lines if LEGAL.fullmatch(line.theirs[0])]
    has_quoted_name = is_openmetrics and len(named) < len(lines)
    return "quoted name" if has_quoted_name and page_class(page, named, is_openmetrics) else None


def judged(pages, read):
    """Return the number of differences by class, the differences without a class, and pages by verdict."""
    found, wrong, verdicts = Counter(), [], Counter()
    for value, (reason, said) in zip(pages, read, strict=True):
        try:
            page = value.decode()
        except UnicodeDecodeError:  # prometheus_client takes text only.
            verdicts["not utf-8"] += 1
            if reason is None and "not_utf8" not in said:
                wrong.append((value, "accepted although it is not UTF-8"))
            continue
        if reason is not None:
            verdicts[reason] += 1
            is_openmetrics = page.rstrip("\n").endswith("# EOF")
            if is_accepted(page, is_openmetrics=is_openmetrics):
                wrong.append((page, reason))
            continue
        is_openmetrics, lines = compared(page, said)
        apart = [line for line in lines if not line.is_same]
        for line in apart:
            name = next((name for name, is_of in CLASSES.items() if is_of(line)), None)
            found[name] += 1
            if name is None:
                wrong.append((line.text, line.ours, line.theirs, is_openmetrics))
        ours, theirs = all(line.is_ours for line in lines), is_accepted(page, is_openmetrics=is_openmetrics)
        verdicts[ours, theirs] += 1
        if ours != theirs and not apart:
            name = page_class(page, lines, is_openmetrics) if ours else None
            found[name] += 1
            if name is None:
                wrong.append((page, "page", ours, theirs))
    return found, wrong, verdicts


def test_every_page_is_parsed_as_by_prometheus_client_except_for_the_classes(pages, read):
    found, wrong, verdicts = judged(pages, read)

    assert wrong[:10] == []
    assert set(found) <= {*CLASSES, *OF_PAGES}
    assert min(verdicts[True, True], verdicts[False, False]) > PAGES / 10
