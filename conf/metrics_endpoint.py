"""The metrics of a process, served to Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server

LOOPBACK = "127.0.0.1"


@contextmanager
def metrics_endpoint(
    registry: CollectorRegistry, port: int, setting: str, host: str = LOOPBACK
) -> Iterator[str]:
    """
    Serve the metrics until the block ends, and yield their URL; for port 0 the system picks a free port.

    Raises:
        OSError: the port is taken or the address is not of this machine; the message names the setting.

    """
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        message = f"{setting} = {port}: no metrics at {host}:{port} ({error.strerror}); use a free port, or 0"
        raise OSError(message) from error
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
