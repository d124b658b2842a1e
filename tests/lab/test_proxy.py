"""The proxies with a plain echo server: the same code and event loop as in a lab, without Kafka."""

import asyncio
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from lab.layout import Link
from lab.ports import free_ports
from lab.proxy import applied_log, control
from lab.proxy import server as proxy
from lab.proxy.server import ProxiedLink, listen, selecting_loop

NS_PER_MS = 1_000_000


def frame(body):
    return len(body).to_bytes(4) + body


async def read_frame(reader):
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


async def echo(reader, writer):
    try:
        while True:
            writer.write(frame(await read_frame(reader)))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


@asynccontextmanager
async def proxied(folder, *, is_leader_up=True):
    ports = free_ports()
    link = Link(follower=2, leader=1, listen_port=next(ports), target_port=next(ports))
    with applied_log.AppliedLog.open(folder) as log:
        way = ProxiedLink(link, log)
        async with await listen(way):
            if is_leader_up:
                async with await asyncio.start_server(echo, "127.0.0.1", link.target_port):
                    reader, writer = await asyncio.open_connection("127.0.0.1", link.listen_port)
                    yield way, reader, writer
                    writer.close()
                    await writer.wait_closed()
                    while way.connections:  # noqa: ASYNC110 (the proxy has no event for a test to wait on)
                        await asyncio.sleep(0.01)
            else:
                yield way, *await asyncio.open_connection("127.0.0.1", link.listen_port)


def run(scene):
    """Run a scene in a new thread, because the shared browser keeps a loop running in this one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(_run, scene).result()


def _run(scene):
    with asyncio.Runner(loop_factory=selecting_loop) as runner:
        return runner.run(scene)


async def exchange(reader, writer, body=b"ping"):
    began = time.monotonic()
    writer.write(frame(body))
    assert await read_frame(reader) == body
    return (time.monotonic() - began) * 1000


def logged(folder):
    return list(applied_log.read(folder, since_ns=0, until_ns=2**63))


@pytest.mark.parametrize("delay_ms", [3.0, 20.0])
def test_the_log_has_the_delay_that_a_client_observes(tmp_path, delay_ms):
    """The applied delay is at least the nominal one, half each way, and at most the client's wait."""

    async def scene():
        async with proxied(tmp_path) as (way, reader, writer):
            way.delay_ns = round(delay_ms * NS_PER_MS)
            return [await exchange(reader, writer) for _ in range(20)]

    felt_ms = run(scene())
    lines = logged(tmp_path)

    assert len(lines) == 20
    for felt, line in zip(felt_ms, lines, strict=True):
        assert line["nominal_ms"] == delay_ms
        assert min(line["request_ms"], line["response_ms"]) >= delay_ms / 2
        assert line["applied_ms"] == pytest.approx(line["request_ms"] + line["response_ms"], abs=2e-4)
        assert line["applied_ms"] < felt


def test_no_delay_means_written_before_anything_else_happens(tmp_path):
    async def scene():
        async with proxied(tmp_path) as (_, reader, writer):
            for _ in range(50):
                await exchange(reader, writer)

    run(scene())

    assert sorted(line["applied_ms"] for line in logged(tmp_path))[25] < 0.5


def test_a_delay_adds_latency_and_does_not_limit_throughput(tmp_path):
    """The responses to twenty requests sent at once come together after one delay, in order."""

    async def scene():
        async with proxied(tmp_path) as (way, reader, writer):
            way.delay_ns = 100 * NS_PER_MS
            began = time.monotonic()
            for number in range(20):
                writer.write(frame(b"%d" % number))
                await asyncio.sleep(0.001)
            came = [await read_frame(reader) for _ in range(20)]
            return came, time.monotonic() - began

    came, took_s = run(scene())

    assert came == [b"%d" % number for number in range(20)]
    assert took_s < 0.6  # 20 sequential delays would be 2 s


def test_bytes_keep_their_order_when_the_delay_is_removed(tmp_path):
    async def scene():
        async with proxied(tmp_path) as (way, reader, writer):
            way.delay_ns = 200 * NS_PER_MS
            writer.write(frame(b"early"))
            await asyncio.sleep(0.03)
            way.delay_ns = 0
            writer.write(frame(b"late"))
            return [await read_frame(reader), await read_frame(reader)]

    assert run(scene()) == [b"early", b"late"]


def test_a_frame_of_many_reads_arrives_whole_and_counts_once(tmp_path):
    body = bytes(range(256)) * 40_000  # 10 MiB, like one full replica fetch

    async def scene():
        async with proxied(tmp_path) as (way, reader, writer):
            way.delay_ns = 10 * NS_PER_MS
            await exchange(reader, writer, body)

    run(scene())

    (line,) = logged(tmp_path)
    assert line["applied_ms"] >= 10


def test_a_leader_that_is_down_is_a_closed_connection(tmp_path):
    """The follower observes the same as without a proxy, and does not hang."""

    async def scene():
        async with proxied(tmp_path, is_leader_up=False) as (_, reader, writer):
            received = await asyncio.wait_for(reader.read(), 5)
            writer.close()
            await writer.wait_closed()
            return received

    assert run(scene()) == b""


def test_bytes_in_flight_arrive_after_the_sender_disconnected(tmp_path):
    async def scene():
        got = asyncio.get_running_loop().create_future()

        async def keep(reader, writer):
            got.set_result(await reader.read())
            writer.close()

        ports = free_ports()
        link = Link(follower=2, leader=1, listen_port=next(ports), target_port=next(ports))
        with applied_log.AppliedLog.open(tmp_path) as log:
            way = ProxiedLink(link, log, delay_ns=100 * NS_PER_MS)
            async with await listen(way), await asyncio.start_server(keep, "127.0.0.1", link.target_port):
                with socket.create_connection(("127.0.0.1", link.listen_port)) as sender:
                    sender.sendall(frame(b"last words"))
                return await asyncio.wait_for(got, 5)

    assert run(scene()) == frame(b"last words")


def test_a_log_that_cannot_be_written_ends_the_proxies(tmp_path):
    """A delay that is applied but not logged would make the ground truth wrong."""
    log = applied_log.AppliedLog(tmp_path / "gone")
    log.add(Link(follower=2, leader=1, listen_port=1, target_port=2), 1, 0, 0, 0)

    with pytest.raises(FileNotFoundError):
        run(proxy.until_stopped(asyncio.Event(), log))


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"set": [[2, 1, -1]]}, "between 0 and"),
        ({"set": [[2, 1, float("nan")]]}, "between 0 and"),
        ({"set": [[2, 1, 5], [2, 9, 5]]}, "KeyError"),  # all or none
        ({"set": [[2, 1]]}, "ValueError"),
        ({"set": 7}, "TypeError"),
    ],
)
def test_a_wrong_command_changes_nothing(tmp_path, order, reason):
    way = ProxiedLink(
        Link(follower=2, leader=1, listen_port=1, target_port=2), applied_log.AppliedLog(tmp_path)
    )

    assert reason in control.response_to({(2, 1): way}, json.dumps(order).encode())["error"]
    assert way.delay_ns == 0


def test_the_loop_sleeps_finer_than_a_millisecond():
    """With epoll Python rounds every timer up to a whole millisecond."""

    async def scene():
        began = time.monotonic()
        for _ in range(20):
            await asyncio.sleep(0.0002)
        return time.monotonic() - began

    assert proxy.selecting_loop is selecting_loop
    assert min(run(scene()) for _ in range(3)) < 0.015


def test_the_log_is_rotated_and_only_the_newest_files_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(applied_log, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(applied_log, "MAX_FILES", 3)
    link = Link(follower=2, leader=1, listen_port=1, target_port=2)
    with applied_log.AppliedLog.open(tmp_path) as log:
        for _ in range(6):
            log.add(link, 40_000, 0, 10_000, 20_000)
            log.flush()

    assert [path.name for path in applied_log.files(tmp_path)] == [
        f"applied-00000{n}.jsonl" for n in (4, 5, 6)
    ]
    assert [line["applied_ms"] for line in logged(tmp_path)] == [0.03] * 3


def test_responses_are_held_one_after_another(tmp_path):
    """The responses to ten requests sent at once come 20 ms apart: a service rate, not parallel delays."""
    n, hold_ms = 10, 20

    async def scene():
        async with proxied(tmp_path) as (way, reader, writer):
            way.hold_ns = hold_ms * NS_PER_MS
            began = time.monotonic()
            writer.write(frame(b"ping") * n)
            at = []
            for _ in range(n):
                await read_frame(reader)
                at.append((time.monotonic() - began) * 1e3)
            return at

    at = run(scene())

    assert [ms >= hold_ms * nth - 1 for nth, ms in enumerate(at, 1)] == [True] * n
    assert at[-1] == pytest.approx(n * hold_ms, rel=0.2)
