"""
One process that stands between each follower and each leader and adds a delay that can be changed.

A round-trip delay of D ms is D/2 each way: bytes are queued as they are read and written D/2 later, in
order, while later bytes are already being read (a longer wire, not a slower one). A hold of H ms is the
other thing: responses are written one after another, each H ms after the one before at the earliest (a slow
server, that answers so many requests a second and no more). What was really applied is logged for each
exchange: that log, not D, is the truth to compare a measurement with.
"""

import asyncio
import contextlib
import gc
import selectors
import signal
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from lab.layout import Lab, Link
from lab.proxy import applied_log
from lab.proxy import control as proxy_control
from lab.proxy.frames import FrameCounter

NS_PER_MS = 1_000_000
HIGH_WATER_BYTES = 4 * 1024 * 1024  # a replica fetch may bring 10 MiB; beyond this the reader waits


@dataclass(slots=True)
class Way:
    """One ordered pair; `delay_ns` is the round trip's, `hold_ns` a response's, read anew for every chunk."""

    link: Link
    log: applied_log.AppliedLog
    delay_ns: int = 0
    hold_ns: int = 0
    connections: int = 0
    exchanges: int = 0


@dataclass(slots=True)
class Chunk:
    """Bytes read at once, the frames that end in them, and when they may go on."""

    data: bytes
    frames: int
    read_ns: int
    nominal_ns: int
    release_ns: int


class Direction:
    """The bytes of one connection that go one way: a queue with a release time for each chunk."""

    def __init__(self, loop: asyncio.AbstractEventLoop, way: Way, exchange: "Exchange", name: str) -> None:
        """`name` is "request" or "response"."""
        self._loop = loop
        self._way = way
        self._exchange = exchange
        self._name = name
        self._frames = FrameCounter()
        self._queue: deque[Chunk] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._last_release_ns = 0
        self._is_ended = False
        self.sink: asyncio.Transport | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes that were read just now; without a delay they are written before this returns."""
        read_ns = time.monotonic_ns()
        nominal_ns = self._way.delay_ns // 2
        ends = self._frames.ends_in(data)
        if self._name == "response" and self._way.hold_ns:
            self._hold(data, ends, read_ns)
            return
        chunk = Chunk(data, len(ends), read_ns, nominal_ns, read_ns + nominal_ns)
        if self._queue:  # a delay that was just made shorter must not let bytes overtake others
            chunk.release_ns = max(chunk.release_ns, self._queue[-1].release_ns)
        elif not nominal_ns and self.sink is not None:
            self._write(chunk)
            return
        self._queue.append(chunk)
        self._arm()

    def _hold(self, data: bytes, ends: list[int], read_ns: int) -> None:
        """Queue each response by itself; the first bytes of one that is not whole yet wait with it."""
        hold_ns = self._way.hold_ns
        for start, end in pairwise([0, *ends, len(data)]):
            is_whole = end in ends
            if start == end:
                continue
            self._last_release_ns = max(self._last_release_ns, read_ns) + hold_ns * is_whole
            nominal_ns = hold_ns * is_whole
            self._queue.append(
                Chunk(data[start:end], int(is_whole), read_ns, nominal_ns, self._last_release_ns)
            )
        self._arm()

    def end(self) -> None:
        """Note that no more bytes come: the other side is closed once the queue is empty."""
        self._is_ended = True
        if not self._queue and self.sink is not None:
            self.sink.close()

    def connected(self, sink: asyncio.Transport) -> None:
        """Learn where to write; bytes may be waiting already."""
        self.sink = sink
        self._arm()
        if self._is_ended:
            self.end()

    def _arm(self) -> None:
        if self._queue and self._timer is None and self.sink is not None:
            # The loop's clock is time.monotonic(), the same as that of the chunks.
            self._timer = self._loop.call_at(self._queue[0].release_ns / 1e9, self._release)

    def _release(self) -> None:
        self._timer = None
        while self._queue and self._queue[0].release_ns <= time.monotonic_ns():
            self._write(self._queue.popleft())
        self._arm()
        if self._is_ended:
            self.end()

    def _write(self, chunk: Chunk) -> None:
        assert self.sink is not None  # noqa: S101 (callers have looked)
        if self.sink.is_closing():
            return
        self.sink.write(chunk.data)
        if chunk.frames:
            applied_ns = time.monotonic_ns() - chunk.read_ns
            self._exchange.passed(self._name, chunk.frames, applied_ns, chunk.nominal_ns)


@dataclass(slots=True)
class Exchange:
    """
    Pairs the k-th request with the k-th response of a connection: a broker answers in order.

    A request that gets no answer (a produce with acks=0) would shift the pairs; followers send none.
    """

    way: Way
    connection: int
    waiting: deque[tuple[int, int]] = field(default_factory=deque)

    def passed(self, name: str, frames: int, applied_ns: int, nominal_ns: int) -> None:
        """Take note that frames were written; a response completes an exchange, and its log line."""
        if name == "request":
            self.waiting.extend([(applied_ns, nominal_ns)] * frames)
            return
        for _ in range(min(frames, len(self.waiting))):
            request_ns, request_nominal_ns = self.waiting.popleft()
            self.way.exchanges += 1
            self.way.log.add(
                self.way.link, self.connection, request_nominal_ns + nominal_ns, request_ns, applied_ns
            )


class End(asyncio.Protocol):
    """One of the two sockets of a proxied connection."""

    def __init__(self, outward: Direction) -> None:
        """Begin unconnected."""
        self.outward = outward  # what is read here goes this way
        self.inward: Direction | None = None
        self.peer: End | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; what waits for this socket may be written now."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (a TCP transport always is)
        self.transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        if self.inward is not None:
            self.inward.connected(transport)

    def data_received(self, data: bytes) -> None:
        """Send on what came, after its delay."""
        self.outward.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (either way it is closed)
        """Close the other side after what is still on its way."""
        self.outward.end()

    def pause_writing(self) -> None:
        """Stop reading on the other side while the kernel takes no more here."""
        if self.peer and self.peer.transport:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read on."""
        if self.peer and self.peer.transport:
            self.peer.transport.resume_reading()


class FollowerEnd(End):
    """The accepted socket; it opens the way to the leader."""

    def __init__(self, loop: asyncio.AbstractEventLoop, way: Way) -> None:
        """Begin with no leader's side."""
        self._loop = loop
        self._way = way
        self._opening: asyncio.Task[None] | None = None
        self._exchange = Exchange(way, 0)
        super().__init__(Direction(loop, way, self._exchange, "request"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Open the leader's side while the follower's first bytes arrive."""
        super().connection_made(transport)
        self._exchange.connection = transport.get_extra_info("peername")[1]
        self._way.connections += 1
        self._opening = self._loop.create_task(self._open())

    def connection_lost(self, exc: Exception | None) -> None:
        """Count down, then as any end."""
        self._way.connections -= 1
        super().connection_lost(exc)

    async def _open(self) -> None:
        assert self.transport is not None  # noqa: S101 (set when the connection was made)
        far = End(Direction(self._loop, self._way, self._exchange, "response"))
        far.inward, far.peer, self.peer = self.outward, self, far
        far.outward.connected(self.transport)
        try:
            await self._loop.create_connection(lambda: far, "127.0.0.1", self._way.link.target_port)
        except OSError:  # the leader is down: the follower sees a closed connection, as without a proxy
            self.transport.close()


async def serve(lab: Lab) -> None:
    """Serve every link and the control port until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    with applied_log.AppliedLog.open(lab.state / "proxy") as log:
        ways = {(link.follower, link.leader): Way(link, log) for link in (*lab.links, *lab.client_links)}
        async with contextlib.AsyncExitStack() as open_servers:
            for way in ways.values():
                await open_servers.enter_async_context(await listen(way))
            await open_servers.enter_async_context(await proxy_control.listen(ways, lab.control_port))
            gc.freeze()  # nothing made so far is ever garbage: later collections stay short
            await until_stopped(stop, log)


async def until_stopped(stop: asyncio.Event, log: applied_log.AppliedLog) -> None:
    """Return when told to stop; raise when the log cannot be written, since a delay unlogged is no truth."""
    stopping = asyncio.ensure_future(stop.wait())
    flushing = asyncio.ensure_future(log.keep_flushed())
    done, _ = await asyncio.wait({stopping, flushing}, return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, flushing):
        task.cancel()
    if flushing in done:
        flushing.result()


async def listen(way: Way) -> asyncio.Server:
    """Open the proxy of one ordered pair."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: FollowerEnd(loop, way), "127.0.0.1", way.link.listen_port)


def selecting_loop() -> asyncio.AbstractEventLoop:
    """Return a loop on select(2): epoll as Python calls it rounds timers up to a whole millisecond."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main(state: str) -> None:
    """Run the proxies of the lab in a state folder."""
    with asyncio.Runner(loop_factory=selecting_loop) as runner:
        runner.run(serve(Lab.load(Path(state))))


if __name__ == "__main__":
    main(*sys.argv[1:])
