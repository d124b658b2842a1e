"""A consumer that is slow to take what it asked for: the leader's own work is long, for its sends wait."""

import socket
import struct
import threading
import time
from contextlib import closing
from random import Random

FETCH, VERSION = 1, 4
FETCH_BYTES = 2 * 1024 * 1024
STEPS = 16
RECEIVE_BUFFER = 32 * 1024


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def fetch(topic, partition, correlation_id):
    """Write a FETCH of the first bytes of a partition."""
    head = struct.pack(">hhi", FETCH, VERSION, correlation_id) + text("slow-reader")
    limits = struct.pack(">iiiib", -1, 0, 1, FETCH_BYTES, 0)
    wanted = struct.pack(">i", 1) + text(topic) + struct.pack(">iiqi", 1, partition, 0, FETCH_BYTES)
    body = head + limits + wanted
    return struct.pack(">i", len(body)) + body


class SlowReader(threading.Thread):
    """Fetches the same bytes again and again and takes each answer within a time of the dice's choice."""

    def __init__(self, port, topic, partition, *, longest_ms):
        """Prepare; `start` begins and `end` ends it. A broker that goes away is waited for."""
        super().__init__(name=f"slow-reader-{port}", daemon=True)
        self._port, self._topic, self._partition = port, topic, partition
        self._longest_s, self._dice, self._is_ended = longest_ms / 1000, Random(port), threading.Event()
        self.answers = 0

    def run(self):
        """Fetch until told to end."""
        while not self._is_ended.is_set():
            try:
                self._fetch_on()
            except (OSError, struct.error):
                self._is_ended.wait(0.2)

    def end(self):
        """End it."""
        self._is_ended.set()
        self.join(10)

    def _fetch_on(self):
        with closing(socket.socket()) as broker:
            # Set before connecting, or the window is as wide as the system likes.
            broker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            broker.settimeout(10)
            broker.connect(("127.0.0.1", self._port))
            for correlation_id in range(1 << 30):
                if self._is_ended.is_set():
                    return
                broker.sendall(fetch(self._topic, self._partition, correlation_id))
                self._take(broker, self._dice.uniform(0, self._longest_s))
                self.answers += 1

    def _take(self, broker, within_s):
        (left,) = struct.unpack(">i", _received(broker, 4))
        step = max(1, left // STEPS)
        while left:
            left -= len(_received(broker, min(step, left)))
            time.sleep(within_s / STEPS)


def _received(broker, size):
    parts = []
    while size:
        part = broker.recv(min(size, 1 << 16))
        if not part:
            message = "the broker went away"
            raise ConnectionError(message)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
