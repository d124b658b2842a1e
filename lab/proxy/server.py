"""
Proxies between followers and leaders that add an adjustable delay, all in one process.

A round-trip delay of D ms is D/2 each way. Bytes are queued when they are read and written D/2 later, in
order, while later bytes are already read: this models a longer wire. A hold of H ms models a slow server:
responses are written one after another, at least H ms apart, so a server answers at most 1000 / H requests
a second. The log has the delay that was applied to each exchange. Compare measurements with that log, not
with D.
"""

import asyncio
import contextlib
import gc
import selectors
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from conf.signals import SIGNALS
from lab.layout import Lab, Link
from lab.proxy import applied_log
from lab.proxy import control as proxy_control
from lab.proxy.frames import FrameCounter

NS_PER_MS = 1_000_000
HIGH_WATER_BYTES = 4 * 1024 * 1024  # a fetch response can have 10 MiB; beyond the limit the reader pauses


@dataclass(slots=True)
class ProxiedLink:
    """One ordered pair. `delay_ns` (round trip) and `hold_ns` (response) are read for every chunk."""

    link: Link
    log: applied_log.AppliedLog
    delay_ns: int = 0
    hold_ns: int = 0
    connections: int = 0
    exchanges: int = 0


@dataclass(slots=True)
class Chunk:
    """Bytes of one read, the number of frames that end in them, and when they may be written."""

    data: bytes
    frames: int
    read_ns: int
    nominal_ns: int
    release_ns: int


class Direction:
    """One direction of a connection: a queue of chunks with a release time each."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, proxied: ProxiedLink, exchange: "Exchange", name: str
    ) -> None:
        """Set up a direction. `name` is "request" or "response"."""
        self._loop = loop
        self._proxied = proxied
        self._exchange = exchange
        self._name = name
        self._frames = FrameCounter()
        self._queue: deque[Chunk] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._last_release_ns = 0
        self._is_ended = False
        self.sink: asyncio.Transport | None = None

    def feed(self, data: bytes) -> None:
        """Queue bytes that were just read. Without a delay, write them before this returns."""
        read_ns = time.monotonic_ns()
        nominal_ns = self._proxied.delay_ns // 2
        ends = self._frames.ends_in(data)
        if self._name == "response" and self._proxied.hold_ns:
            self._hold(data, ends, read_ns)
            return
        chunk = Chunk(data, len(ends), read_ns, nominal_ns, read_ns + nominal_ns)
        if self._queue:  # keep the byte order after the delay was shortened
            chunk.release_ns = max(chunk.release_ns, self._queue[-1].release_ns)
        elif not nominal_ns and self.sink is not None:
            self._write(chunk)
            return
        self._queue.append(chunk)
        self._arm()

    def _hold(self, data: bytes, ends: list[int], read_ns: int) -> None:
        """Queue each response separately. Bytes of an incomplete response get no hold of their own."""
        hold_ns = self._proxied.hold_ns
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
        """Record the end of input. Close the other side once the queue is empty."""
        self._is_ended = True
        if not self._queue and self.sink is not None:
            self.sink.close()

    def connected(self, sink: asyncio.Transport) -> None:
        """Set the sink. Bytes may already be in the queue."""
        self.sink = sink
        self._arm()
        if self._is_ended:
            self.end()

    def _arm(self) -> None:
        if self._queue and self._timer is None and self.sink is not None:
            # The loop and the chunks both use time.monotonic().
            self._timer = self._loop.call_at(self._queue[0].release_ns / 1e9, self._release)

    def _release(self) -> None:
        self._timer = None
        while self._queue and self._queue[0].release_ns <= time.monotonic_ns():
            self._write(self._queue.popleft())
        self._arm()
        if self._is_ended:
            self.end()

    def _write(self, chunk: Chunk) -> None:
        assert self.sink is not None  # noqa: S101 (callers check it)
        if self.sink.is_closing():
            return
        self.sink.write(chunk.data)
        if chunk.frames:
            applied_ns = time.monotonic_ns() - chunk.read_ns
            self._exchange.passed(self._name, chunk.frames, applied_ns, chunk.nominal_ns)


@dataclass(slots=True)
class Exchange:
    """
    Pairs the k-th request with the k-th response of a connection. A broker responds in order.

    A request without a response (produce with acks=0) would shift the pairs. Followers send none.
    """

    proxied: ProxiedLink
    connection: int
    waiting: deque[tuple[int, int]] = field(default_factory=deque)

    def passed(self, name: str, frames: int, applied_ns: int, nominal_ns: int) -> None:
        """Record that frames were written. A response completes an exchange and adds its log line."""
        if name == "request":
            self.waiting.extend([(applied_ns, nominal_ns)] * frames)
            return
        for _ in range(min(frames, len(self.waiting))):
            request_ns, request_nominal_ns = self.waiting.popleft()
            self.proxied.exchanges += 1
            self.proxied.log.add(
                self.proxied.link, self.connection, request_nominal_ns + nominal_ns, request_ns, applied_ns
            )


class ProxySocket(asyncio.Protocol):
    """One of the two sockets of a proxied connection."""

    def __init__(self, outward: Direction) -> None:
        """Set up the socket without a connection."""
        self.outward = outward  # for bytes that this socket reads
        self.inward: Direction | None = None
        self.peer: ProxySocket | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport. Bytes that wait for this socket can be written now."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (always true for TCP)
        self.transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        if self.inward is not None:
            self.inward.connected(transport)

    def data_received(self, data: bytes) -> None:
        """Forward bytes after their delay."""
        self.outward.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the reason does not matter)
        """Close the other side after the queued bytes are written."""
        self.outward.end()

    def pause_writing(self) -> None:
        """Stop reading on the other side while the kernel buffer of this socket is full."""
        if self.peer and self.peer.transport:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading on the other side."""
        if self.peer and self.peer.transport:
            self.peer.transport.resume_reading()


class FollowerSocket(ProxySocket):
    """The accepted socket. It opens the connection to the leader."""

    def __init__(self, loop: asyncio.AbstractEventLoop, proxied: ProxiedLink) -> None:
        """Set up the socket without a leader connection."""
        self._loop = loop
        self._proxied = proxied
        self._opening: asyncio.Task[None] | None = None
        self._exchange = Exchange(proxied, 0)
        super().__init__(Direction(loop, proxied, self._exchange, "request"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the leader while the follower's first bytes arrive."""
        super().connection_made(transport)
        self._exchange.connection = transport.get_extra_info("peername")[1]
        self._proxied.connections += 1
        self._opening = self._loop.create_task(self._open())

    def connection_lost(self, exc: Exception | None) -> None:
        """Decrement the connection count, then close as every proxied socket does."""
        self._proxied.connections -= 1
        super().connection_lost(exc)

    async def _open(self) -> None:
        assert self.transport is not None  # noqa: S101 (`connection_made` sets it)
        far = ProxySocket(Direction(self._loop, self._proxied, self._exchange, "response"))
        far.inward, far.peer, self.peer = self.outward, self, far
        far.outward.connected(self.transport)
        try:
            await self._loop.create_connection(lambda: far, "127.0.0.1", self._proxied.link.target_port)
        except OSError:  # the leader is down: close the follower's connection, as without a proxy
            self.transport.close()


async def serve(lab: Lab) -> None:
    """Serve every link and the control port until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop.set)
    with applied_log.AppliedLog.open(lab.state / "proxy") as log:
        proxied_links = {
            (link.follower, link.leader): ProxiedLink(link, log) for link in (*lab.links, *lab.client_links)
        }
        async with contextlib.AsyncExitStack() as open_servers:
            for proxied in proxied_links.values():
                await open_servers.enter_async_context(await listen(proxied))
            await open_servers.enter_async_context(
                await proxy_control.listen(proxied_links, lab.control_port)
            )
            gc.freeze()  # objects made so far stay alive: exclude them from collections
            await until_stopped(stop, log)


async def until_stopped(stop: asyncio.Event, log: applied_log.AppliedLog) -> None:
    """Return when `stop` is set. Raise if the log cannot be written: unlogged delays are no ground truth."""
    stopping = asyncio.ensure_future(stop.wait())
    flushing = asyncio.ensure_future(log.keep_flushed())
    done, _ = await asyncio.wait({stopping, flushing}, return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, flushing):
        task.cancel()
    if flushing in done:
        flushing.result()


async def listen(proxied: ProxiedLink) -> asyncio.Server:
    """Open the proxy of one ordered pair."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(
        lambda: FollowerSocket(loop, proxied), "127.0.0.1", proxied.link.listen_port
    )


def selecting_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop on select(2). Python's epoll selector rounds timeouts up to whole milliseconds."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main(state: str) -> None:
    """Run the proxies of the lab in a state folder."""
    with asyncio.Runner(loop_factory=selecting_loop) as runner:
        runner.run(serve(Lab.load(Path(state))))


if __name__ == "__main__":
    main(*sys.argv[1:])
