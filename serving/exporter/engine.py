"""A real Prometheus over blocks of history, on a free loopback port."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answers.exported.gold import ExportedSample, SecondsSpan

STEP_S = 10
"""The length of gold's windows; Prometheus uses a sample for no longer."""

_POINTS = 10_000  # of a series in one answer: Prometheus refuses more than 11,000
_STARTS_S = 30


class EngineError(Exception):
    """Prometheus is missing or refuses a query; the message says what to do."""


@dataclass(frozen=True, slots=True)
class QueriedSeries:
    """The instants and values of one set of labels."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Engine:
    """A running server."""

    url: str

    def over(self, expr: str, span: SecondsSpan) -> list[QueriedSeries]:
        """Return the series of an expression, evaluated every 10 s of a span."""
        points: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        at = span.since
        while at <= span.until:
            end = min(at + (_POINTS - 1) * STEP_S, span.until)
            for each in self._query_range({"query": expr, "start": at, "end": end, "step": STEP_S}):
                key = tuple(sorted(each["metric"].items()))
                points.setdefault(key, []).extend((float(t), float(v)) for t, v in each["values"])
            at = end + STEP_S
        return [QueriedSeries(dict(key), found) for key, found in points.items()]

    def _query_range(self, query: dict[str, object]) -> Any:  # noqa: ANN401 (JSON)
        body = urllib.parse.urlencode(query).encode()
        try:
            url = f"{self.url}/api/v1/query_range"
            with urllib.request.urlopen(url, body, timeout=120) as answer:  # noqa: S310 (loopback)
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            message = f"Prometheus refuses {query['query']!r}: {json.load(error).get('error')}"
            raise EngineError(message) from error


@contextmanager
def engine(history: Iterable[ExportedSample]) -> Iterator[Engine]:
    """
    Start a Prometheus with these samples in a temporary folder.

    Raises:
        EngineError: Prometheus is not on PATH, or it does not start.

    """
    missing = [name for name in ("prometheus", "promtool") if not shutil.which(name)]
    if missing:
        message = (
            f"{' and '.join(missing)} not on PATH: install it (on Debian: apt-get install prometheus), "
            "or unpack its release and put that folder on PATH"
        )
        raise EngineError(message)
    with tempfile.TemporaryDirectory(prefix="plumbline-backtest-") as named:
        folder = Path(named)
        _fill(folder, history)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(_command(folder, port), stdout=output, stderr=output)
            try:
                yield _ready(Engine(f"http://127.0.0.1:{port}"), process, folder)
            finally:
                process.kill()
                process.wait()


def _fill(folder: Path, history: Iterable[ExportedSample]) -> None:
    text = folder / "history.txt"
    (folder / "data").mkdir()
    (folder / "prometheus.yml").write_text("global: {}\n")
    with text.open("w") as lines:
        named = ""
        for sample in sorted(history, key=lambda each: (each.name, each.labels, each.at)):
            if sample.name != named:
                named = sample.name
                lines.write(f"# TYPE {named} gauge\n")
            labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels)
            lines.write(f"{named}{{{labels}}} {sample.value!r} {sample.at:.3f}\n")
        lines.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q", str(text), str(folder / "data")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        message = f"promtool could not make blocks: {made.stderr.strip()}"
        raise EngineError(message)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _command(folder: Path, port: int) -> list[str]:
    return [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--query.lookback-delta={STEP_S * 1000 - 1}ms",
    ]


def _ready(served: Engine, process: subprocess.Popen[bytes], folder: Path) -> Engine:
    give_up_at = time.monotonic() + _STARTS_S
    while time.monotonic() < give_up_at and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{served.url}/-/ready", timeout=1):  # noqa: S310 (loopback)
                return served
        except OSError:
            time.sleep(0.05)
    message = f"Prometheus did not start: {(folder / 'output.txt').read_text()[-500:]}"
    raise EngineError(message)
