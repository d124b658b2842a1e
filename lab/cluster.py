"""Start, inspect and stop a lab: N observed brokers, a telemetry broker, and proxies between the brokers."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

import conf.java
from lab import config, jvm, processes, topics
from lab.errors import LabError
from lab.layout import DEFAULT_STATE, Lab, lay_out
from lab.ports import free_ports
from lab.proxy import control

READY_TIMEOUT_S = 180.0
ALONE_WITHIN_S = 600.0
POLL_INTERVAL_S = 0.25
Say = Callable[[str], None]


def start(  # noqa: PLR0913 (the settings of a lab, by keyword)
    state: Path = DEFAULT_STATE,
    *,
    brokers: int = 3,
    kafka_version: str | None = None,
    request_log: bool = True,
    client_log: bool = True,
    telemetry_partitions: int = 2,
    fresh: bool = False,
    say: Say = print,
) -> Lab:
    """
    Start a lab. Return it when all brokers are registered and every replica is in sync.

    The observed cluster, its logs and the log of applied delays start empty. The telemetry broker keeps its
    data, so that streams resume from their checkpoints. `fresh` deletes that data. `kafka_version` is the
    release of the observed brokers; tools, loads and the telemetry broker stay with that of `.jars/kafka`.

    Raises:
        LabError: a lab already runs in this folder, the jars of the release are missing, or a process did not
            start (the message quotes its log).

    """
    state = state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    with _lifecycle_lock(state):
        _remove_leftovers(state, fresh=fresh, say=say)
        with alone(say):
            lab = lay_out(state, brokers, free_ports())
            lab.request_log, lab.client_log, lab.kafka_version = request_log, client_log, kafka_version
            lab.telemetry_partitions = telemetry_partitions
            try:
                _bring_up(lab, say)
            except BaseException:
                say("the start failed: stopping the processes of the lab")
                processes.end(lab.processes.values(), patience_s=3)
                lab.status = "failed"
                lab.save()
                raise
    return lab


def stop(state: Path = DEFAULT_STATE, *, say: Say = print) -> None:
    """
    Stop every process of the lab: SIGTERM, then SIGKILL for processes that do not end in time.

    Raises:
        LabError: there is no lab in this folder.

    """
    lab = Lab.load(state)
    with _lifecycle_lock(lab.state):
        _end(lab, say)


def status(state: Path = DEFAULT_STATE) -> dict[str, object]:
    """Return the processes, the addresses and the delay of each link, ready for JSON."""
    lab = Lab.load(state)
    is_alive = {name: processes.find(record) is not None for name, record in lab.processes.items()}
    links = _links(lab)
    return {
        "state": str(lab.state),
        "status": lab.status,
        "is_running": lab.status == "running"
        and all(is_alive[name] for name in lab.required_processes)
        and bool(links or len(lab.brokers) == 1),
        "started_at": lab.started_at,
        "bootstrap_servers": lab.bootstrap_servers,
        "telemetry_bootstrap_servers": lab.telemetry_bootstrap_servers,
        "settings_file": str(lab.settings_file),
        "request_log": lab.request_log,
        "kafka_version": lab.kafka_version or conf.java.brokers_version(),
        "processes": {
            name: {"pid": int(record["pid"]), "is_alive": is_alive[name]}
            for name, record in lab.processes.items()
        },
        "links": links,
    }


def _links(lab: Lab) -> list[dict[str, Any]]:
    try:
        return control.links(lab.state)
    except LabError:  # the proxies are down or stopping
        return []


def set_request_log(state: Path, *, is_on: bool) -> None:
    """Set `kafka.request.logger` of every running broker: DEBUG for on, WARN for off."""
    lab = Lab.load(state)
    for broker in lab.brokers:
        level = "DEBUG" if is_on else "WARN"
        jvm.set_logger(lab.bootstrap_servers, broker.id, "kafka.request.logger", level)
    lab = Lab.load(state)  # a load may have been added to lab.json since
    lab.request_log = is_on
    lab.save()


@contextmanager
def _lifecycle_lock(state: Path) -> Iterator[None]:
    try:
        with FileLock(state / ".lock", timeout=0):
            yield
    except Timeout:
        message = f"another `plumbline lab` is starting or stopping the lab in {state}: wait for it"
        raise LabError(message) from None


@contextmanager
def alone(say: Say = print) -> Iterator[None]:
    """
    Start brokers while no other lab of this user does: two starts at once on few cores miss time limits.

    Waits ten minutes at most, since the other start may hang.
    """
    lock = FileLock(Path(tempfile.gettempdir()) / f"plumbline-lab-{os.getuid()}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"waiting until another lab has started, at most {ALONE_WITHIN_S:g} s")
        with suppress(Timeout):
            lock.acquire(timeout=ALONE_WITHIN_S)
    try:
        yield
    finally:
        lock.release()


def _remove_leftovers(state: Path, *, fresh: bool, say: Say) -> None:
    if (state / "lab.json").exists():
        lab = Lab.load(state)
        alive = [name for name, record in lab.processes.items() if processes.find(record)]
        if lab.status == "running" and set(lab.required_processes) <= set(alive):
            message = f"a lab already runs in {state}. Run `plumbline lab stop --state {state}` first"
            raise LabError(message)
        if alive:
            say(f"stopping processes of an earlier lab: {', '.join(alive)}")
            _end(lab, say)
    for stale in [*state.glob("broker-*"), state / "logs", state / "proxy", state / "load"]:
        shutil.rmtree(stale, ignore_errors=True)
    if fresh:
        shutil.rmtree(state / "telemetry", ignore_errors=True)


def _bring_up(lab: Lab, say: Say) -> None:
    began = time.monotonic()
    config.write_all(lab)
    lab.save()
    _spawn(lab, "proxy", [sys.executable, "-m", "lab.proxy.server", str(lab.state)])
    say(f"formatting the storage of {len(lab.brokers)} brokers")
    jvm.format_storage(lab)
    for broker in lab.brokers:
        _spawn(lab, f"broker-{broker.id}", jvm.observed_broker(lab, broker))
    _spawn(lab, "telemetry", jvm.telemetry_broker(lab))
    say(f"waiting for {len(lab.brokers)} brokers and the telemetry broker")
    _wait(lab, lambda: topics.broker_count(lab.bootstrap_servers) >= len(lab.brokers))
    _wait(lab, lambda: topics.broker_count(lab.telemetry_bootstrap_servers) >= 1)
    say(f"brokers registered after {time.monotonic() - began:.1f} s, creating topics")
    topics.create_load_topic(lab)
    topics.create_telemetry_topics(lab)
    _wait(lab, lambda: topics.is_in_sync(lab))
    # The replicas of a new topic start in sync. Only an answered fetch shows that a link is in use.
    _wait(lab, lambda: all(link["exchanges"] for link in _links(lab)))
    lab.status, lab.started_at = "running", datetime.now(UTC).isoformat(timespec="microseconds")
    lab.save()
    say(f"ready after {time.monotonic() - began:.1f} s: brokers {lab.bootstrap_servers}")
    say(f"telemetry {lab.telemetry_bootstrap_servers}, settings for --conf: {lab.settings_file}")


def _spawn(lab: Lab, name: str, command: list[str]) -> None:
    lab.processes[name] = processes.spawn(command, output=output_of(lab, name))
    lab.save()  # at once: after a crash of this program, `stop` must still find the process


def output_of(lab: Lab, name: str) -> Path:
    """Return the file that holds stdout and stderr of a process of the lab."""
    return lab.state / "logs" / name / "output.txt"


def _wait(lab: Lab, is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not is_done():
        for name, record in lab.processes.items():
            if processes.find(record) is None:
                message = f"{name} ended while the lab was starting:\n{_last_log_lines(lab, name)}"
                raise LabError(message)
        if time.monotonic() > deadline:
            lines = "\n".join(_last_log_lines(lab, name) for name in lab.processes if name != "proxy")
            message = f"the lab was not ready within {READY_TIMEOUT_S:g} s:\n{lines}"
            raise LabError(message)
        time.sleep(POLL_INTERVAL_S)


def _last_log_lines(lab: Lab, name: str) -> str:
    logs = lab.state / "telemetry" / "logs" if name == "telemetry" else lab.state / "logs" / name
    return processes.tails(logs / "server.log", output_of(lab, name))


def _end(lab: Lab, say: Say) -> None:
    by_name = dict(lab.processes)
    proxy = by_name.pop("proxy", None)
    killed = processes.end(by_name.values())
    if proxy:  # last: brokers still need the proxies for their controlled shutdown
        killed += processes.end([proxy])
    lab.status, lab.processes = "stopped", {}
    lab.save()
    say(f"stopped the lab in {lab.state}" + (f" ({killed} processes needed SIGKILL)" if killed else ""))
