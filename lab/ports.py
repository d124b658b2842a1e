"""Loopback ports that nobody holds."""

import random
import socket
from collections.abc import Iterator

# Below Linux's ephemeral range (32768-60999), so that no outgoing connection takes a port between
# the moment it is found free and the moment a broker binds it.
LOWEST, HIGHEST = 20_000, 32_000


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the port now; one in TIME_WAIT counts as free, as for Kafka."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports() -> Iterator[int]:
    """
    Yield free ports, each once, from a random place on: two labs started at once do not meet.

    Raises:
        OSError: the whole range is taken.

    """
    first = random.randrange(LOWEST, HIGHEST)  # noqa: S311 (spreads labs over the range, protects nothing)
    for step in range(HIGHEST - LOWEST):
        port = LOWEST + (first - LOWEST + step) % (HIGHEST - LOWEST)
        if is_free(port):
            yield port
    message = f"no free port between {LOWEST} and {HIGHEST} on 127.0.0.1"
    raise OSError(message)
