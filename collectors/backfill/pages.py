"""Format series as pages in the text format 0.0.4, with names as in a scrape and a timestamp per sample."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.backfill.prometheus import PrometheusSeries
from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.sources import named_source
from conf.names import Kind
from conf.settings import Prometheus

PAGE_BYTES = 1 << 20  # about a scrape of one broker
NAME, EXPORTED = "__name__", "exported_"
_PORT = re.compile(r":\d+$")
_LEGAL_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LEGAL_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_SUFFIX = re.compile("_(bucket|count|sum)$")
_SIGNED = {"-0": "-0.0"}  # some parsers read -0 as an integer and lose the sign
_WITH_SUFFIXES = ("histogram", "summary")


class SameSeriesError(CollectorError):
    """Two series of the server would have the same name and labels in a page."""


@dataclass(slots=True)
class _Page:
    """The unfinished page of a node."""

    lines: list[str] = field(default_factory=list)
    bytes: int = 0
    number: int = 0
    typed: str = ""


class Pages:
    """Builds pages of about 1 MiB from the series of a window; the same series give the same pages."""

    def __init__(self, settings: Prometheus, url: str) -> None:
        """
        Compile the node patterns.

        Raises:
            ValueError: a pattern is not a regular expression, or its node refers to a group that it lacks.

        """
        self._settings, self._source = settings, named_source(url, "prometheus")
        self.types: Mapping[str, str] = {}
        self._window = (0, 0)
        self._pages: dict[str, _Page] = {}
        self.skipped = dict[str, str]()
        """Reason for skipping series to the first series that was skipped for it."""
        self.samples = 0
        self._nodes = [(_pattern(pattern, node), node) for pattern, node in settings.nodes.items()]

    def begin(self, start_ms: int, end_ms: int) -> None:
        """Start the pages of a window."""
        self._window, self._pages = (start_ms, end_ms), {}

    def add(self, series: Sequence[PrometheusSeries]) -> Iterator[RawLine]:
        """
        Add the series of one response; yield the pages that are full.

        Raises:
            SameSeriesError: two series differ only in labels that are dropped.

        """
        seen: dict[tuple[str, str], dict[str, str]] = {}
        for each in series:
            node, name = self._node(each.labels), each.labels.get(NAME, "")
            reason = _reason_to_skip(each, node, self._settings.node_label)
            if reason:
                self.skipped.setdefault(reason, head_of(each.labels))
            if (reason and not each.has_histograms) or not each.values:
                continue
            head = name + _braced(self._exposed_labels(each.labels))
            first = seen.setdefault((node, head), each.labels)
            if first is not each.labels:
                raise SameSeriesError(_same_series_message(node, head, first, each.labels))
            yield from self._add(node, name, head, each)

    def rest(self) -> Iterator[RawLine]:
        """Yield the remaining pages, which are not full."""
        for node, page in sorted(self._pages.items()):
            if page.lines:
                yield self._line(node, page)

    def _add(self, node: str, name: str, head: str, series: PrometheusSeries) -> Iterator[RawLine]:
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
        Finish a page and return it as a raw line.

        The position contains a digest of the page, so it is the same only for the same samples. A page of
        another selector, or with samples that the server received later, has another position.
        """
        value = "\n".join((*page.lines, "")).encode()
        start_ms, end_ms = self._window
        digest = hashlib.sha256(value).hexdigest()[:16]
        position = f"{node}/backfill/{start_ms}-{end_ms}/{page.number}-{digest}"
        page.lines, page.bytes, page.typed, page.number = [], 0, "", page.number + 1
        return RawLine(value, node, self._source, position, Kind.METRICS.value)

    def _node(self, labels: Mapping[str, str]) -> str:
        value = labels.get(self._settings.node_label, "")
        for pattern, node in self._nodes:
            found = pattern.fullmatch(value)
            if found:
                return found.expand(node)
        return _PORT.sub("", value)

    def _exposed_labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        """
        Return the labels as the exporter exposed them.

        Prometheus renames an exporter's label to exported_NAME if it adds a label NAME itself.
        """
        exposed = {name: value for name, value in labels.items() if name != NAME}
        for name in self._settings.drop_labels:
            exposed.pop(name, None)
            exported = exposed.pop(EXPORTED + name, None)
            if exported is not None:
                exposed[name] = exported
        return exposed

    def _type(self, name: str) -> tuple[str, str]:
        """Return the metric name for the TYPE line, and the type or an empty string."""
        base = _SUFFIX.sub("", name)
        if self.types.get(base) in _WITH_SUFFIXES:
            return base, self.types[base]
        kind = self.types.get(name) or self.types.get(name.removesuffix("_total"), "")
        return name, kind if kind in ("counter", "gauge") else ""


def _pattern(pattern: str, node: str) -> re.Pattern[str]:
    """Compile a pattern, and check the group references of its node."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        message = f"--node {pattern}={node}: {pattern} is not a regular expression: {error}"
        raise ValueError(message) from error
    try:
        # re.sub checks the template even if the pattern does not match.
        compiled.sub(node, "")
    except (re.error, IndexError) as error:
        message = f"--node {pattern}={node}: {node} has a wrong group reference for {pattern}: {error}"
        raise ValueError(message) from error
    return compiled


def _reason_to_skip(series: PrometheusSeries, node: str, node_label: str) -> str:
    names = [name for name in series.labels if name != NAME]
    if not node:
        return f"without the label {node_label}, which identifies the node (--node-label)"
    if not _LEGAL_NAME.fullmatch(series.labels.get(NAME, "")) or not all(map(_LEGAL_LABEL.fullmatch, names)):
        return "with names that the text format does not allow"
    return "with native histograms, which the text format does not support" if series.has_histograms else ""


def head_of(labels: Mapping[str, str]) -> str:
    """
    Return a series in the notation of Prometheus.

    >>> head_of({"__name__": "up", "job": "kafka"})
    'up{job="kafka"}'
    """
    return labels.get(NAME, "") + _braced({name: value for name, value in labels.items() if name != NAME})


def _braced(labels: Mapping[str, str]) -> str:
    r"""
    Return labels in braces, sorted by name, in the text format.

    >>> _braced({"topic": 'a"b', "error": "x\ny"}), _braced({})
    ('{error="x\\ny",topic="a\\"b"}', '')
    """
    inner: Iterable[str] = (f'{name}="{value.translate(_ESCAPED)}"' for name, value in sorted(labels.items()))
    text = ",".join(inner)
    return f"{{{text}}}" if text else ""


def _same_series_message(node: str, head: str, first: Mapping[str, str], second: Mapping[str, str]) -> str:
    differ = sorted(
        f"{name} ({first.get(name)}, {second.get(name)})"
        for name in first.keys() | second.keys()
        if first.get(name) != second.get(name)
    )
    return (
        f"{node}: the server has two series {head}, which differ in {', '.join(differ)}: "
        "select one with --match, or keep that label: change drop_labels in [prometheus], or --drop-label"
    )
