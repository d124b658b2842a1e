"""An HTTP server for tests, on a free port of this machine."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PageHandler(BaseHTTPRequestHandler):
    """Answers every request with `answer`, without a log."""

    def do_GET(self):
        """Answer the request."""
        self.answer()

    do_POST = do_GET  # noqa: N815 (the name in the base class)

    def log_message(self, *_):
        """Write nothing."""


@contextmanager
def serving(handler):
    """Give a server with this handler at `url`; it ends with the block."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
