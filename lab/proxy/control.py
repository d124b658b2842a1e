"""How the proxies are told their delays: one JSON line in, one JSON line out, on a loopback port."""

import asyncio
import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lab.errors import LabError
from lab.layout import CLIENTS, Lab, Link

NS_PER_MS = 1_000_000
MAX_DELAY_MS = 60_000.0
TIMEOUT_S = 5.0
Pair = tuple[int, int]


class Delayed(Protocol):
    """What can be told a delay."""

    link: Link
    delay_ns: int
    hold_ns: int
    connections: int
    exchanges: int


async def listen(ways: Mapping[Pair, Delayed], port: int) -> asyncio.Server:
    """Answer on the control port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        writer.write(json.dumps(answer_to(ways, line)).encode() + b"\n")
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", port)


def answer_to(ways: Mapping[Pair, Delayed], line: bytes) -> dict[str, Any]:
    """Return the answer to one line; a line that cannot be obeyed changes nothing and gets an `error`."""
    try:
        return _obey(ways, json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _obey(ways: Mapping[Pair, Delayed], order: dict[str, Any]) -> dict[str, Any]:
    """Apply `{"set": [[follower, leader, ms], ...]}`, `"hold"` alike, all or none; tell how every link is."""
    delays, holds = (
        [(ways[int(f), int(leader)], _delay_ns(ms)) for f, leader, ms in order.get(name, [])]
        for name in ("set", "hold")
    )
    for way, delay_ns in delays:
        way.delay_ns = delay_ns
    for way, hold_ns in holds:
        way.hold_ns = hold_ns
    return {"at_epoch_ns": time.time_ns(), "links": [_told(way) for way in ways.values()]}


def _delay_ns(ms: float) -> int:
    if not 0 <= float(ms) <= MAX_DELAY_MS:
        message = f"a delay is between 0 and {MAX_DELAY_MS:g} ms, not {ms}"
        raise ValueError(message)
    return round(float(ms) * NS_PER_MS)


def _told(way: Delayed) -> dict[str, Any]:
    return {
        "follower": way.link.follower,
        "leader": way.link.leader,
        "nominal_ms": way.delay_ns / NS_PER_MS,
        "hold_ms": way.hold_ns / NS_PER_MS,
        "connections": way.connections,
        "exchanges": way.exchanges,
    }


def set_delay(state: Path, pairs: Mapping[Pair, float]) -> int:
    """
    Give ordered pairs (follower, leader) a round-trip delay in ms; the others keep theirs.

    Returns:
        The instant from which it applies, in epoch nanoseconds.

    Raises:
        LabError: there is no such pair, the delay is out of range, or the proxies do not answer.

    """
    lab = Lab.load(state)
    unknown = sorted(set(pairs) - set(lab.pairs()))
    if unknown:
        message = f"no link follower {unknown[0][0]} -> leader {unknown[0][1]}: brokers are {lab.broker_ids}"
        raise LabError(message)
    answer = _ask(lab, {"set": [[f, leader, ms] for (f, leader), ms in pairs.items()]})
    return int(answer["at_epoch_ns"])


def set_hold(state: Path, holds: Mapping[int, float]) -> int:
    """
    Let the proxies for clients hold each response of a broker so many ms, one after another.

    Returns:
        The instant from which it applies, in epoch nanoseconds.

    Raises:
        LabError: there is no such broker, the hold is out of range, or the proxies do not answer.

    """
    lab = Lab.load(state)
    unknown = sorted(set(holds) - set(lab.broker_ids))
    if unknown:
        message = f"no broker {unknown[0]}: brokers are {lab.broker_ids}"
        raise LabError(message)
    answer = _ask(lab, {"hold": [[CLIENTS, leader, ms] for leader, ms in holds.items()]})
    return int(answer["at_epoch_ns"])


def links(state: Path) -> list[dict[str, Any]]:
    """Return each link's nominal delay, open connections and exchanges so far; those of clients left out."""
    told: list[dict[str, Any]] = _ask(Lab.load(state), {})["links"]
    return [link for link in told if link["follower"] != CLIENTS]


def _ask(lab: Lab, order: dict[str, Any]) -> dict[str, Any]:
    try:
        with socket.create_connection(("127.0.0.1", lab.control_port), TIMEOUT_S) as line:
            line.sendall(json.dumps(order).encode() + b"\n")
            answer: dict[str, Any] = json.loads(line.makefile().readline())
    except (OSError, ValueError) as error:
        message = f"the proxies of {lab.state} do not answer ({error}): look at `plumbline lab status`"
        raise LabError(message) from error
    if "error" in answer:
        raise LabError(answer["error"])
    return answer
