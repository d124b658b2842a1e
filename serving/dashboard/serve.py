"""Serving the dashboard: one process, threads, on loopback by default."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from dash import Dash
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """Log no requests. Errors are still logged."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def server(app: Dash, host: str, port: int) -> BaseWSGIServer:
    """
    Bind the address; port 0 takes a free one.

    Raises:
        OSError: the address is not available.

    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family):
        pass  # werkzeug would end the program if the address is taken
    return make_server(host, port, app.server, threaded=True, request_handler=Quiet)


def address_of(serving: BaseWSGIServer) -> str:
    """Return the address to open."""
    host = f"[{serving.host}]" if ":" in serving.host else serving.host
    return f"http://{host}:{serving.port}/"


@contextmanager
def served(app: Dash, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in a thread until the block ends; the block gets the address."""
    serving = server(app, host, port)
    thread = Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield address_of(serving)
    finally:
        serving.shutdown()
        thread.join()
        serving.server_close()
