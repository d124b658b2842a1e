import socket
import threading

import pytest

from lab.errors import LabError
from lab.ports import free_ports
from lab.proxy.probe import probe


def test_a_port_where_nobody_listens_is_a_clear_error():
    port = next(free_ports())

    with pytest.raises(LabError, match=f"no answer to ApiVersions on 127.0.0.1:{port}"):
        probe({"direct": port}, n=10)


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10, bytes([0, 0, 0, 4, 0, 0, 0, 9])]
)
def test_something_that_is_not_kafka_is_told_so(answer):
    """A web server, and a server that answers a request nobody sent."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            with server.accept()[0] as line:
                line.recv(100)
                line.sendall(answer)

        talking = threading.Thread(target=talk)
        talking.start()
        with pytest.raises(LabError, match="does not speak Kafka"):
            probe({"direct": server.getsockname()[1]}, n=10)
        talking.join()
