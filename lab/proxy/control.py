"""Control the delays of the proxies: one JSON line in, one JSON line out, on a loopback port."""

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


class DelayedLink(Protocol):
    """A link with delays that can be set."""

    link: Link
    delay_ns: int
    hold_ns: int
    connections: int
    exchanges: int


async def listen(proxied_links: Mapping[Pair, DelayedLink], port: int) -> asyncio.Server:
    """Serve the control port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        writer.write(json.dumps(response_to(proxied_links, line)).encode() + b"\n")
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", port)


def response_to(proxied_links: Mapping[Pair, DelayedLink], line: bytes) -> dict[str, Any]:
    """Return the response to one line. An invalid line changes nothing and gets an `error`."""
    try:
        return _apply(proxied_links, json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _apply(proxied_links: Mapping[Pair, DelayedLink], command: dict[str, Any]) -> dict[str, Any]:
    """Apply `{"set": [[follower, leader, ms], ...]}` and `"hold"` likewise, all or none. Return all links."""
    delays, holds = (
        [(proxied_links[int(f), int(leader)], _delay_ns(ms)) for f, leader, ms in command.get(name, [])]
        for name in ("set", "hold")
    )
    for proxied, delay_ns in delays:
        proxied.delay_ns = delay_ns
    for proxied, hold_ns in holds:
        proxied.hold_ns = hold_ns
    return {
        "at_epoch_ns": time.time_ns(),
        "links": [_state_of(proxied) for proxied in proxied_links.values()],
    }


def _delay_ns(ms: float) -> int:
    if not 0 <= float(ms) <= MAX_DELAY_MS:
        message = f"a delay must be between 0 and {MAX_DELAY_MS:g} ms, not {ms}"
        raise ValueError(message)
    return round(float(ms) * NS_PER_MS)


def _state_of(proxied: DelayedLink) -> dict[str, Any]:
    return {
        "follower": proxied.link.follower,
        "leader": proxied.link.leader,
        "nominal_ms": proxied.delay_ns / NS_PER_MS,
        "hold_ms": proxied.hold_ns / NS_PER_MS,
        "connections": proxied.connections,
        "exchanges": proxied.exchanges,
    }


def set_delay(state: Path, pairs: Mapping[Pair, float]) -> int:
    """
    Set the round-trip delay (ms) of ordered pairs (follower, leader). Other pairs keep theirs.

    Returns:
        The instant from which the delay applies, in epoch nanoseconds.

    Raises:
        LabError: a pair does not exist, a delay is out of range, or the proxies do not answer.

    """
    lab = Lab.load(state)
    unknown = sorted(set(pairs) - set(lab.pairs()))
    if unknown:
        message = f"there is no link {unknown[0][0]} -> {unknown[0][1]}: the brokers are {lab.broker_ids}"
        raise LabError(message)
    answer = _ask(lab, {"set": [[f, leader, ms] for (f, leader), ms in pairs.items()]})
    return int(answer["at_epoch_ns"])


def set_hold(state: Path, holds: Mapping[int, float]) -> int:
    """
    Set how long the proxies for clients hold each response of a broker (ms), one after another.

    Returns:
        The instant from which the hold applies, in epoch nanoseconds.

    Raises:
        LabError: a broker does not exist, a hold is out of range, or the proxies do not answer.

    """
    lab = Lab.load(state)
    unknown = sorted(set(holds) - set(lab.broker_ids))
    if unknown:
        message = f"there is no broker {unknown[0]}: the brokers are {lab.broker_ids}"
        raise LabError(message)
    answer = _ask(lab, {"hold": [[CLIENTS, leader, ms] for leader, ms in holds.items()]})
    return int(answer["at_epoch_ns"])


def links(state: Path) -> list[dict[str, Any]]:
    """Return nominal delay, open connections and exchanges of each link between brokers."""
    states: list[dict[str, Any]] = _ask(Lab.load(state), {})["links"]
    return [link for link in states if link["follower"] != CLIENTS]


def _ask(lab: Lab, command: dict[str, Any]) -> dict[str, Any]:
    try:
        with socket.create_connection(("127.0.0.1", lab.control_port), TIMEOUT_S) as line:
            line.sendall(json.dumps(command).encode() + b"\n")
            answer: dict[str, Any] = json.loads(line.makefile().readline())
    except (OSError, ValueError) as error:
        message = f"the proxies of {lab.state} do not answer ({error}): see `plumbline lab status`"
        raise LabError(message) from error
    if "error" in answer:
        raise LabError(answer["error"])
    return answer
