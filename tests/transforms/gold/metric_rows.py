"""Series and samples of metrics as the parser would write them, from exposed lines and a few facts."""

import re
from datetime import UTC, datetime, timedelta
from zlib import crc32

from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES

AT = datetime(2026, 11, 21, 11, 20, tzinfo=UTC)
LINE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})?(?: (?P<value>\S+))?")
LABEL = re.compile(r'(\w+)="([^"]*)"')


def at(second):
    return AT + timedelta(microseconds=round(second * 1e6))


def series_id(line, node="broker-1"):
    """Give a series a number: the parser's differs, and nothing depends on which it is."""
    return crc32(f"{node}{line.rsplit(' ', 1)[0] if '} ' in line else line}".encode())


def series_row(line, node="broker-1"):
    """Make the row of a series from a line as an exporter writes it."""
    told = LINE.fullmatch(line)
    broker = re.search(r"(\d+)$", node)
    known = {
        "cluster": "lab",
        "series_id": series_id(line, node),
        "name": told["name"],
        "labels": dict(LABEL.findall(told["labels"] or "")),
        "node": node,
        "broker_id": int(broker[1]) if broker else None,
        "first_at": AT,
        "parser_version": 1,
    }
    return tuple(known.get(name) for name in METRIC_SERIES.schema.names)


def sample_row(line, second, value, node="broker-1"):
    told = {"cluster": "lab", "series_id": series_id(line, node), "at": at(second), "value": value}
    return tuple(told.get(name, at(second).date()) for name in METRIC_SAMPLES.schema.names)


def series_rows(lines, node="broker-1"):
    return [series_row(line, node) for line in lines]


def bean(name, statistic, request="Produce"):
    """Name a series of RequestMetrics as the exporter without rules does."""
    return f'kafka_network_RequestMetrics_{statistic}{{name="{name}",request="{request}"}}'


START = "process_start_time_seconds"


class TimedBroker:
    """A broker whose requests are timed by two beans, and what it shows when it is scraped."""

    def __init__(self, node="broker-1", started=0.0, request="Produce"):
        """Begin at a second."""
        self.node, self.request = node, request
        self.rows, self.lines = [], set()
        self.restart(started)

    def restart(self, second):
        """Begin anew."""
        self.started, self.n, self.total, self.remote, self.squares = second, 0, 0, 0, 0

    def serve(self, n, total_ms, remote_ms=0):
        """Serve requests, each of so many whole milliseconds."""
        self.n += n
        self.total += n * total_ms
        self.remote += n * remote_ms
        self.squares += n * remote_ms**2

    def scrape(self, second, *, behind=0, behind_ms=0, **changes):
        """
        Show what was counted; `changes` by `total_count`, `start`...: a value, or None for none.

        The bean of the waits is so many requests `behind`, each of which has waited so long.
        """
        n, waited = self.n - behind, self.remote - behind * behind_ms
        squares = self.squares - behind * behind_ms**2
        spread = max(0.0, (squares - waited**2 / max(n, 1)) / max(n - 1, 1)) ** 0.5
        shown = {
            "total_count": (bean("TotalTimeMs", "Count", self.request), float(self.n)),
            "total_mean": (bean("TotalTimeMs", "Mean", self.request), self.total / max(self.n, 1)),
            "remote_count": (bean("RemoteTimeMs", "Count", self.request), float(n)),
            "remote_mean": (bean("RemoteTimeMs", "Mean", self.request), waited / max(n, 1)),
            "remote_stddev": (bean("RemoteTimeMs", "StdDev", self.request), spread),
            "start": (START, AT.timestamp() + self.started),
        }
        for key, (line, value) in shown.items():
            told = changes.get(key, value)
            if told is not None:
                self.lines.add(line)
                self.rows.append(sample_row(line, second, told, self.node))

    def series(self):
        """Give the rows of its series."""
        return series_rows(sorted(self.lines), self.node)
