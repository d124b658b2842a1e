"""The metrics of a process, served to Prometheus."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server

from conf.exit_codes import WrongUseError
from conf.http_hosts import LOOPBACK, answering, names_of

LARGEST_PORT = 65_535


@contextmanager
def metrics_endpoint(
    registry: CollectorRegistry,
    port: int,
    setting: str,
    host: str = LOOPBACK,
    names: Iterable[str] = (),
) -> Iterator[str]:
    """
    Serve the metrics until the block ends, and yield their URL; for port 0 the system picks a free port.

    `names` are further names under which others reach the server (`http_hosts.is_own`).

    Raises:
        WrongUseError: the port is no port; the message names the setting.
        OSError: the port is taken or the address is not of this machine; the message names the setting.

    """
    if not 0 <= port <= LARGEST_PORT:
        message = f"{setting} = {port}: must be a port, 0 to {LARGEST_PORT}"
        raise WrongUseError(message)
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        message = f"{setting} = {port}: no metrics at {host}:{port} ({error.strerror}); use a free port, or 0"
        raise OSError(message) from error
    server.set_app(answering(make_wsgi_app(registry), names_of(host, names)))
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
