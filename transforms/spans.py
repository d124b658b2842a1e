"""The windows that a line affects, and the time spans to read and replace for them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from transforms.windows import WINDOW_S, Reach

MAX_WINDOWS = 360
"""A back-fill processes one hour at a time, so its memory does not depend on its length."""

MAX_SPANS = 16


class Span(NamedTuple):
    """The time from `start` to `end` (exclusive): seconds since the epoch, whole windows."""

    start: int
    end: int

    def __str__(self) -> str:
        """Return the span as text with UTC instants."""
        return f"{_instant(self.start)} to {_instant(self.end)}"


def window_of(second: float) -> int:
    """Return the start of the window that contains an instant."""
    return int(second // WINDOW_S) * WINDOW_S


def touched(windows: Iterable[int], reach: Reach) -> set[int]:
    """
    Return the windows whose rows can change when lines of these windows arrive.

    >>> sorted(touched([100], Reach(lookback_s=15, lookahead_s=5)))
    [90, 100, 110, 120]
    """
    found: set[int] = set()
    for window in windows:
        first = window_of(window - reach.lookahead_s)
        last = window_of(window + WINDOW_S - 1 + reach.lookback_s)
        found.update(range(first, last + WINDOW_S, WINDOW_S))
    return found


def spans_of(windows: Iterable[int]) -> list[Span]:
    """
    Return spans of adjacent windows.

    >>> spans_of([100, 110, 300])
    [Span(start=100, end=120), Span(start=300, end=310)]
    """
    spans: list[Span] = []
    for window in sorted(set(windows)):
        if spans and spans[-1].end == window:
            spans[-1] = Span(spans[-1].start, window + WINDOW_S)
        else:
            spans.append(Span(window, window + WINDOW_S))
    return spans


def windows_of(spans: Iterable[Span]) -> set[int]:
    """
    Return the windows of spans, the inverse of `spans_of`.

    >>> sorted(windows_of([Span(100, 120), Span(300, 310)]))
    [100, 110, 300]
    """
    return {window for span in spans for window in range(span.start, span.end, WINDOW_S)}


def in_steps(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """
    Yield steps of at most one hour of windows and at most `MAX_SPANS` spans, the limit of one condition.

    >>> [[str(span) for span in step] for step in in_steps([Span(0, 5400)])]
    [['1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z'], ['1970-01-01T01:00:00Z to 1970-01-01T01:30:00Z']]
    """
    longest = MAX_WINDOWS * WINDOW_S
    step: list[Span] = []
    room = longest
    for whole in spans:
        start = whole.start
        while start < whole.end:
            if not room or len(step) == MAX_SPANS:
                yield step
                step, room = [], longest
            end = min(whole.end, start + room)
            step.append(Span(start, end))
            room -= end - start
            start = end
    if step:
        yield step


def within(column: str, spans: Iterable[Span], reach: Reach = Reach()) -> str:  # noqa: B008 (it is frozen)
    """
    Return the SQL condition that an instant is in a window of the spans, extended by the reach.

    A list of numbers is data to Spark. Instants would be a part of the code that it generates, and each batch
    of a stream would compile its own.

    >>> within("at", [Span(100, 110)], Reach(lookback_s=15))
    'unix_seconds(at) - pmod(unix_seconds(at), 10) IN (80,90,100)'
    """
    windows = sorted(
        {
            window
            for span in spans
            for window in range(
                window_of(span.start - reach.lookback_s),
                window_of(span.end + reach.lookahead_s + WINDOW_S - 1),
                WINDOW_S,
            )
        }
    )
    second = f"unix_seconds({column})"
    return f"{second} - pmod({second}, {WINDOW_S}) IN ({','.join(map(str, windows))})"


def _instant(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"
