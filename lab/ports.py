"""Find free TCP ports on loopback."""

import random
import socket
from collections.abc import Iterator

# Below Linux's ephemeral range (32768-60999): no outgoing connection can take a port after this module
# found it free and before a broker binds it.
LOWEST, HIGHEST = 20_000, 32_000


def is_free(port: int) -> bool:
    """Return whether a server can listen on the port now. A port in TIME_WAIT is free, as for Kafka."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports() -> Iterator[int]:
    """
    Yield free ports, each once. The random first port keeps two labs apart that start at the same time.

    Raises:
        OSError: no port of the range is free.

    """
    first = random.randrange(LOWEST, HIGHEST)  # noqa: S311 (not a secret)
    for step in range(HIGHEST - LOWEST):
        port = LOWEST + (first - LOWEST + step) % (HIGHEST - LOWEST)
        if is_free(port):
            yield port
    message = f"no free port between {LOWEST} and {HIGHEST} on 127.0.0.1"
    raise OSError(message)
