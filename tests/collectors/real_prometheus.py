"""A real Prometheus on loopback, in a folder of its own, ended by its process id."""

import json
import math
import re
import shutil
import socket
import struct
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

BASE_S = 1_700_000_400  # whole ten minutes
_TAKES_S = 30


class RealPrometheus:
    """One server; it may be ended and started again on the same port and data."""

    def __init__(self, folder, *options, scrape=""):
        """Write its configuration; nothing runs yet. CI has both programs, and lets no test skip."""
        if not (shutil.which("prometheus") and shutil.which("promtool")):
            pytest.skip("prometheus and promtool are not on the path: see .ci/run")
        self.folder, self.options = folder, options
        folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        (folder / "prometheus.yml").write_text(
            f"global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n{scrape}"
        )

    def fill(self, *lines):
        """Make blocks of OpenMetrics lines."""
        text = self.folder / "samples.txt"
        text.write_text("\n".join((*lines, "# EOF", "")))
        command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q"]
        subprocess.run([*command, str(text), str(self.folder / "data")], check=True, capture_output=True)

    def start(self):
        """Start it, and wait until it answers."""
        command = [
            "prometheus",
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address=127.0.0.1:{self.port}",
            *self.options,
        ]
        with (self.folder / "output.txt").open("ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output)
        give_up_at = time.monotonic() + _TAKES_S
        while time.monotonic() < give_up_at and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/-/ready", timeout=1):  # noqa: S310 (loopback)
                    return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError((self.folder / "output.txt").read_text())

    def stop(self):
        """End it at once."""
        if self.process:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def ask(self, query, at_s):
        """Give the series of an instant query."""
        url = f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": query, "time": at_s})
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 (loopback)
            return json.load(answer)["data"]["result"]

    def held(self, query, until_s):
        """Give all samples of a range selector, as `read_back` does, with all labels."""
        return {
            (name_and_labels(each["metric"]), round(at * 1_000), bits(float(value)))
            for each in self.ask(query, until_s)
            for at, value in each["values"]
        }


def name_and_labels(labels, *, less=()):
    """Give a series as a value that can be compared."""
    return tuple(sorted((name, value) for name, value in labels.items() if name not in less))


def bits(value):
    """Give a double's bits; all NaNs are one, for text has but one."""
    return "NaN" if math.isnan(value) else struct.pack(">d", value).hex()


def read_back(page):
    """Give the samples of a page as the reference parser reads them: series, instant in ms, bits."""
    return [
        (
            name_and_labels({"__name__": sample.name, **sample.labels}),
            _ms(sample.timestamp),
            bits(sample.value),
        )
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    ]


def types_of(page):
    """Give the TYPE lines of a page."""
    return set(re.findall(r"^# TYPE (.+)$", page.decode(), re.MULTILINE))


def _ms(timestamp):
    return None if timestamp is None else round(float(timestamp) * 1_000)
