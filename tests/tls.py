"""A certificate for 127.0.0.1, and a server that speaks TLS with it and nothing else."""

import ssl
import subprocess
import threading
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer


def self_signed(folder):
    """Make a certificate; return the paths of certificate and key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run([*command.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def server_context(folder):
    """Return the TLS side of a server with a new certificate of `folder`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*self_signed(folder))
    return context


@contextmanager
def tls_server(folder):
    """Yield the address of a server that only shakes hands, as a broker with a certificate of `folder`."""
    context = server_context(folder)

    class ShakeHands(BaseRequestHandler):
        def handle(self):
            try:
                context.wrap_socket(self.request, server_side=True).close()
            except OSError:
                return

    with ThreadingTCPServer(("127.0.0.1", 0), ShakeHands) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
