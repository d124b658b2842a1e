"""Series of a Prometheus as text pages (0.0.4), named as a scrape has them, each sample with its instant."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.backfill.prometheus import Series
from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from conf.names import Kind
from conf.settings import Prometheus

PAGE_BYTES = 1 << 20  # about a scrape of one broker
NAME, EXPORTED = "__name__", "exported_"
_PORT = re.compile(r":\d+$")
_LEGAL_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LEGAL_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_SUFFIX = re.compile("_(bucket|count|sum)$")
_SIGNED = {"-0": "-0.0"}  # some readers take what has no dot for an integer, which has but one zero
_WITH_PARTS = ("histogram", "summary")


class SameSeriesError(CollectorError):
    """Two series of the server would be one here."""


@dataclass(slots=True)
class _Page:
    """What a node's next page holds so far."""

    lines: list[str] = field(default_factory=list)
    bytes: int = 0
    number: int = 0
    typed: str = ""


class Pages:
    """Turns the series of one span into pages of about a mebibyte, the same ones for the same series."""

    def __init__(self, told: Prometheus, source: str) -> None:
        """
        Prepare the patterns.

        Raises:
            ValueError: one of them is no pattern, or its node names a group that the pattern has not.

        """
        self._told, self._source = told, source
        self.types: Mapping[str, str] = {}
        self._span = (0, 0)
        self._pages: dict[str, _Page] = {}
        self.left_out = dict[str, str]()
        """Why some series are in no page, and the first of each reason."""
        self.samples = 0
        self._nodes = [(_pattern(pattern, node), node) for pattern, node in told.nodes.items()]

    def begin(self, start_ms: int, end_ms: int) -> None:
        """Begin the pages of a span."""
        self._span, self._pages = (start_ms, end_ms), {}

    def add(self, series: Sequence[Series]) -> Iterator[RawLine]:
        """
        Take the series of one answer; give the pages that are full.

        Raises:
            SameSeriesError: without the labels that are dropped two of them are the same.

        """
        seen: dict[tuple[str, str], dict[str, str]] = {}
        for each in series:
            node, name = self._node(each.labels), each.labels.get(NAME, "")
            why = _why_left_out(each, node, self._told.node_label)
            if why:
                self.left_out.setdefault(why, head_of(each.labels))
            if (why and not each.has_histograms) or not each.values:
                continue
            head = name + _braced(self._kept(each.labels))
            first = seen.setdefault((node, head), each.labels)
            if first is not each.labels:
                raise SameSeriesError(_same(node, head, first, each.labels))
            yield from self._add(node, name, head, each)

    def rest(self) -> Iterator[RawLine]:
        """Give the pages that are not full."""
        for node, page in sorted(self._pages.items()):
            if page.lines:
                yield self._line(node, page)

    def _add(self, node: str, name: str, head: str, series: Series) -> Iterator[RawLine]:
        page = self._pages.setdefault(node, _Page())
        lines = [f"{head} {_SIGNED.get(value, value)} {at}" for at, value in series.values]
        family, kind = self._type(name)
        if kind and family != page.typed:
            lines.insert(0, f"# TYPE {family} {kind}")
        page.typed = family
        page.lines += lines
        page.bytes += sum(map(len, lines)) + len(lines)
        self.samples += len(series.values)
        if page.bytes >= PAGE_BYTES:
            yield self._line(node, page)

    def _line(self, node: str, page: _Page) -> RawLine:
        """
        Close a page; its position is the same when the same samples are read again, and only then.

        The digest keeps a page apart from another one of the span: by another selector, or of samples that
        the server has got since.
        """
        value = "\n".join((*page.lines, "")).encode()
        start_ms, end_ms = self._span
        digest = hashlib.sha256(value).hexdigest()[:16]
        position = f"{node}/backfill/{start_ms}-{end_ms}/{page.number}-{digest}"
        page.lines, page.bytes, page.typed, page.number = [], 0, "", page.number + 1
        return RawLine(value, node, self._source, position, Kind.METRICS.value)

    def _node(self, labels: Mapping[str, str]) -> str:
        told = labels.get(self._told.node_label, "")
        for pattern, node in self._nodes:
            found = pattern.fullmatch(told)
            if found:
                return found.expand(node)
        return _PORT.sub("", told)

    def _kept(self, labels: Mapping[str, str]) -> dict[str, str]:
        """
        Give the labels as they were exposed.

        A label of the exporter's that the server has one of its own for was renamed to exported_....
        """
        kept = {name: value for name, value in labels.items() if name != NAME}
        for name in self._told.drop_labels:
            kept.pop(name, None)
            exported = kept.pop(EXPORTED + name, None)
            if exported is not None:
                kept[name] = exported
        return kept

    def _type(self, name: str) -> tuple[str, str]:
        """Give the name that a TYPE line has for a metric, and its type where it is known."""
        base = _SUFFIX.sub("", name)
        if self.types.get(base) in _WITH_PARTS:
            return base, self.types[base]
        told = self.types.get(name) or self.types.get(name.removesuffix("_total"), "")
        return name, told if told in ("counter", "gauge") else ""


def _pattern(pattern: str, node: str) -> re.Pattern[str]:
    """Compile a pattern whose groups the node may name."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        message = f"--node {pattern}={node}: {pattern} is no regular expression: {error}"
        raise ValueError(message) from error
    try:
        # The template is checked before it is looked for, so an empty text serves.
        compiled.sub(node, "")
    except (re.error, IndexError) as error:
        message = f"--node {pattern}={node}: {node} cannot be filled in from {pattern}: {error}"
        raise ValueError(message) from error
    return compiled


def _why_left_out(series: Series, node: str, node_label: str) -> str:
    names = [name for name in series.labels if name != NAME]
    if not node:
        return f"without a label {node_label} that tells the node (--node-label)"
    if not _LEGAL_NAME.fullmatch(series.labels.get(NAME, "")) or not all(map(_LEGAL_LABEL.fullmatch, names)):
        return "with names that the text format cannot hold"
    return "with native histograms, which the text format cannot hold" if series.has_histograms else ""


def head_of(labels: Mapping[str, str]) -> str:
    """
    Write a series as the server shows it.

    >>> head_of({"__name__": "up", "job": "kafka"})
    'up{job="kafka"}'
    """
    return labels.get(NAME, "") + _braced({name: value for name, value in labels.items() if name != NAME})


def _braced(labels: Mapping[str, str]) -> str:
    r"""
    Write labels in the order of their names.

    >>> _braced({"topic": 'a"b', "error": "x\ny"}), _braced({})
    ('{error="x\\ny",topic="a\\"b"}', '')
    """
    inner: Iterable[str] = (f'{name}="{value.translate(_ESCAPED)}"' for name, value in sorted(labels.items()))
    told = ",".join(inner)
    return f"{{{told}}}" if told else ""


def _same(node: str, head: str, first: Mapping[str, str], second: Mapping[str, str]) -> str:
    differ = sorted(
        f"{name} ({first.get(name)}, {second.get(name)})"
        for name in first.keys() | second.keys()
        if first.get(name) != second.get(name)
    )
    return (
        f"{node}: the server has two series {head}, which differ in {', '.join(differ)}: "
        "choose one by --match, or keep that label: drop_labels in [prometheus], --drop-label"
    )
