"""
Make the frozen warehouse of a release: `python -m tests.upgrade.freeze CHECKOUT NAME` (real brokers).

CHECKOUT is a checkout of the release with its jars, NAME the release. Its own commands collect, ingest and
build 20 seconds of `docs/example` in two batches, with one scrape, four performance tests, and one line that
no parser can read. Then they check quality and save a comparison. The archive has the warehouse and the
checkpoints.

The present one, of the last commit before the format was marked:

    git worktree add /tmp/release ffc3b13 && ln -s $PWD/.jars /tmp/release/.jars
    .venv/bin/python -m tests.upgrade.freeze /tmp/release ffc3b13
"""

import gzip
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from conf.settings import PROJECT

FOLDER = Path(__file__).parent
LOGS = PROJECT / "docs" / "example" / "logs"
METRICS = PROJECT / "tests" / "data" / "metrics" / "exporter.txt"
BATCHES = ("2026-11-26T20:56:1", "2026-11-26T20:56:2")
"""Beginnings of the lines of each batch: ten seconds."""

KINDS = {"kafka-request": "request-log", "network-client": "client-log", "state-change": "state-change"}
UNREADABLE = BATCHES[0] + '5.000000000Z 1 DEBUG Completed request:{"isForwarded":fal\n'


class Release:
    """The commands of a checkout, on folders of its own."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        """Write the settings; `lab.toml` of the lab has the address of the telemetry broker."""
        self.checkout, self.folder = checkout, folder
        self.lab, self.conf = folder / "lab", folder / "frozen.toml"

    def run(self, *words: str, expected: Sequence[int] = (0,)) -> None:
        """Run a command of the release; end with its output if its exit code is another."""
        command = [sys.executable, "-m", "plumbline", *words]
        environment = os.environ | {"PYTHONPATH": str(self.checkout)}
        done = subprocess.run(command, cwd=self.checkout, env=environment, check=False, timeout=300)
        if done.returncode not in expected:
            sys.exit(f"{' '.join(words)}: exit code {done.returncode}")

    def job(self, *words: str, expected: Sequence[int] = (0,)) -> None:
        """Run a command with the settings."""
        self.run(*words, "--conf", str(self.lab / "lab.toml"), "--conf", str(self.conf), expected=expected)

    def write_settings(self, endpoint: str) -> None:
        """Write the settings: all logs, and the address of one broker's metrics or none."""
        files = ", ".join(
            f'{{ path = "{self.folder}/logs/broker-{n}/{log}.log", kind = "{kind}", node = "broker-{n}" }}'
            for n in (1, 2, 3)
            for log, kind in KINDS.items()
        )
        self.conf.write_text(
            f'[collector]\ncluster = "frozen"\nstate = "{self.folder}/collector"\nfiles = [{files}]\n'
            + (
                f'endpoints = [{{ url = "{endpoint}", node = "broker-1" }}]\n'
                if endpoint
                else "endpoints = []\n"
            )
            + f'[warehouse]\nroot = "{self.folder}/warehouse"\ncheckpoints = "{self.folder}/checkpoints"\n'
        )

    def append_logs(self, begin: str, more: str) -> None:
        """Append the lines that begin so to the followed logs, and `more` to one of them."""
        for file in sorted(LOGS.glob("broker-*/*.log.gz")):
            lines = gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True)
            log = self.folder / "logs" / file.parent.name / file.name.removesuffix(".gz")
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("a") as written:
                written.writelines(line for line in lines if line.startswith(begin))
        with (self.folder / "logs" / "broker-1" / "kafka-request.log").open("a") as written:
            written.write(more)

    def publish_runs(self) -> None:
        """Publish the performance tests of the example."""
        for file in sorted(LOGS.glob("perf-test/*.txt.gz")):
            plain = self.folder / file.name.removesuffix(".gz")
            plain.write_bytes(gzip.decompress(file.read_bytes()))
            self.job("perf-test", "--file", str(plain))


@contextmanager
def served_metrics() -> Iterator[str]:
    """Serve a small page of an exporter; yield its address."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(METRICS.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{METRICS.name}"
        server.shutdown()


def _batch(release: Release, begin: str, more: str = "") -> None:
    release.append_logs(begin, more)
    release.job("collect", "--once")
    release.job("ingest", "--once")
    release.job("build-gold")


def freeze(release: Release) -> None:
    """Run the commands."""
    release.run("lab", "start", "--state", str(release.lab), "--brokers", "1", "--telemetry-partitions", "1")
    try:
        with served_metrics() as endpoint:
            release.write_settings(endpoint)
            release.publish_runs()
            _batch(release, BATCHES[0], UNREADABLE)
        release.write_settings("")
        _batch(release, BATCHES[1])
    finally:
        release.run("lab", "stop", "--state", str(release.lab))
    release.job("check-quality", "--layer", "silver")
    release.job("compare", "3.6.2", "3.9.1", "--save", expected=(0, 1, 2))


def archive(folder: Path, name: str) -> Path:
    """Write the archive of the warehouse and the checkpoints; return it."""
    file = FOLDER / f"{name}.tar.xz"
    with tarfile.open(file, "w:xz") as packed:
        for part in ("warehouse", "checkpoints"):
            packed.add(folder / part, arcname=part, filter=_without_locks)
    return file


def _without_locks(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if member.name.endswith((".lock", ".holder.json")) else member


def main() -> None:
    """Make the archive that the arguments name."""
    checkout, name = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="plumbline-freeze-") as folder:
        release = Release(checkout, Path(folder))
        freeze(release)
        file = archive(Path(folder), name)
    print(json.dumps({"archive": str(file), "bytes": file.stat().st_size}))


if __name__ == "__main__":
    main()
