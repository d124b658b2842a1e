"""Which Host headers our HTTP servers answer: a page of another site must not read what they serve."""

import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "::1")

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def names_of(host: str, others: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of a server that listens on an address: the system's own, and those that are given."""
    own = () if host in LOOPBACKS else (socket.gethostname(), socket.getfqdn())
    return frozenset(name.rstrip(".").lower() for name in ("localhost", host, *own, *others))


def is_own(header: str, names: Iterable[str]) -> bool:
    """
    Return whether a Host header is an address, or one of the names.

    Another site can give its own name the address of this server (DNS rebinding). The browser of a victim
    then sends that name, so an address is always this server's own.

    >>> names = {"metrics-1"}
    >>> [is_own(header, names) for header in ("10.0.0.5:8050", "[::1]:80", "Metrics-1.:80", "evil.org", "")]
    [True, True, True, False, False]
    """
    try:
        name = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    try:
        return bool(ip_address(name))
    except ValueError:
        return name.rstrip(".").lower() in names


def answering(app: WsgiApp, names: frozenset[str]) -> WsgiApp:
    """Return an application that answers 400 to requests for another name."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if is_own(environ.get("HTTP_HOST", ""), names):
            return app(environ, start_response)
        start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"This server answers only to its address and its own names.\n"]

    return answer
