"""Measure a link independently: the time of a small request through its proxy and directly."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from lab.errors import LabError
from lab.layout import Lab, Link

TIMEOUT_S = 10.0
_API_VERSIONS = 18
_CLIENT_ID = b"lab-probe"
_CORRELATION_BYTES = 4
_MAX_RESPONSE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """Round-trip times (ms) of ApiVersions v0 on one connection. `connection` is its local TCP port."""

    connection: int
    times_ms: list[float] = field(default_factory=list)

    @property
    def summary(self) -> dict[str, float | int]:
        """Number of requests, p10 and p50."""
        deciles = quantiles(self.times_ms, n=10, method="inclusive")
        return {"n": len(self.times_ms), "p10_ms": round(deciles[0], 4), "p50_ms": round(deciles[4], 4)}


def request(correlation_id: int) -> bytes:
    """
    Return a framed ApiVersions v0 request (header v1: api key, version, correlation id, client id).

    >>> request(7).hex()
    '00000013001200000000000700096c61622d70726f6265'
    """
    header = struct.pack(">hhih", _API_VERSIONS, 0, correlation_id, len(_CLIENT_ID)) + _CLIENT_ID
    return struct.pack(">i", len(header)) + header


def probe(ports: dict[str, int], *, n: int = 100, pause_s: float = 0.01) -> dict[str, ProbeTimes]:
    """
    Time n requests to each port, in turns, so that a busy moment affects all ports alike.

    Excludes the first request of each connection, which includes the broker's connection setup.

    Raises:
        LabError: a port does not answer, or the server does not speak Kafka.

    """
    with ExitStack() as wires:
        opened = {name: wires.enter_context(_connection(port)) for name, port in ports.items()}
        probes = {name: ProbeTimes(wire.getsockname()[1]) for name, wire in opened.items()}
        for correlation_id in range(n + 1):
            for name, wire in opened.items():
                took_ms = _ask(wire, correlation_id)
                if correlation_id:
                    probes[name].times_ms.append(took_ms)
                time.sleep(pause_s)
    return probes


@contextmanager
def _connection(port: int) -> Iterator[socket.socket]:
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as wire:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield wire
    except OSError as error:
        message = f"no answer to ApiVersions on 127.0.0.1:{port}: {error}"
        raise LabError(message) from error


def _ask(wire: socket.socket, correlation_id: int) -> float:
    """Return the duration of one request, in ms."""
    began_ns = time.monotonic_ns()
    wire.sendall(request(correlation_id))
    size, answered_id = struct.unpack(">ii", _exactly(wire, 8))
    if answered_id != correlation_id or not _CORRELATION_BYTES <= size < _MAX_RESPONSE_BYTES:
        message = (
            f"{wire.getpeername()} answered {answered_id} to request {correlation_id}: "
            "it does not speak Kafka"
        )
        raise LabError(message)
    _exactly(wire, size - _CORRELATION_BYTES)
    return (time.monotonic_ns() - began_ns) / 1e6


def _exactly(wire: socket.socket, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        more = wire.recv(size - len(got))
        if not more:
            message = "the connection was closed"
            raise ConnectionError(message)
        got += more
    return bytes(got)


def probe_link(state: Path, follower: int, leader: int, *, n: int = 100) -> dict[str, ProbeTimes]:
    """
    Probe a link through its proxy (`proxied`) and at the leader's listener (`direct`).

    Raises:
        LabError: the link does not exist, or a port does not answer.

    """
    lab = Lab.load(state)
    link: Link | None = next((x for x in lab.links if (x.follower, x.leader) == (follower, leader)), None)
    if link is None:
        message = f"there is no link {follower} -> {leader}: the brokers are {lab.broker_ids}"
        raise LabError(message)
    return probe({"proxied": link.listen_port, "direct": link.target_port}, n=n)
