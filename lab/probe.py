"""An independent look at a link: the time of a small request through its proxy and past it."""

import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from lab.errors import LabError
from lab.layout import Lab, Link

TIMEOUT_S = 10.0
_API_VERSIONS = 18
_CLIENT_ID = b"lab-probe"


@dataclass(frozen=True, slots=True)
class Probed:
    """Round-trip times in ms of ApiVersions v0 on one connection, whose own TCP port is `connection`."""

    n: int
    p10_ms: float
    p50_ms: float
    connection: int


def request(correlation_id: int) -> bytes:
    """
    Return a framed ApiVersions v0 request (header v1: api key, version, correlation id, client id).

    >>> request(7).hex()
    '00000013001200000000000700096c61622d70726f6265'
    """
    header = struct.pack(">hhih", _API_VERSIONS, 0, correlation_id, len(_CLIENT_ID)) + _CLIENT_ID
    return struct.pack(">i", len(header)) + header


def probe(port: int, *, n: int = 100, pause_s: float = 0.01) -> Probed:
    """
    Time n requests on a new connection, one after another, the first (a cold one) left out.

    Raises:
        LabError: nobody answers on the port, or what answers does not speak Kafka.

    """
    times_ms = []
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as wire:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for correlation_id in range(n + 1):
                began_ns = time.monotonic_ns()
                wire.sendall(request(correlation_id))
                _expect(wire, correlation_id, port)
                times_ms.append((time.monotonic_ns() - began_ns) / 1e6)
                time.sleep(pause_s)
            connection = wire.getsockname()[1]
    except OSError as error:
        message = f"no answer to ApiVersions on 127.0.0.1:{port}: {error}"
        raise LabError(message) from error
    deciles = quantiles(times_ms[1:], n=10, method="inclusive")
    return Probed(n, round(deciles[0], 4), round(deciles[4], 4), connection)


def _expect(wire: socket.socket, correlation_id: int, port: int) -> None:
    size, told = struct.unpack(">ii", _exactly(wire, 8))
    _exactly(wire, size - 4)
    if told != correlation_id:
        message = f"127.0.0.1:{port} answered {told} to request {correlation_id}: it does not speak Kafka"
        raise LabError(message)


def _exactly(wire: socket.socket, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        more = wire.recv(size - len(got))
        if not more:
            message = "the connection was closed"
            raise ConnectionError(message)
        got += more
    return bytes(got)


def probe_link(state: Path, follower: int, leader: int, *, n: int = 100) -> dict[str, Probed]:
    """
    Probe a link through its proxy (`proxied`) and the listener behind it (`direct`).

    Raises:
        LabError: there is no such link, or nobody answers.

    """
    lab = Lab.load(state)
    link: Link | None = next((x for x in lab.links if (x.follower, x.leader) == (follower, leader)), None)
    if link is None:
        message = f"no link follower {follower} -> leader {leader}: brokers are {lab.broker_ids}"
        raise LabError(message)
    return {"proxied": probe(link.listen_port, n=n), "direct": probe(link.target_port, n=n)}
