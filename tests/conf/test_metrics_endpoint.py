"""The metrics endpoint of a process."""

import socket

import pytest
import urllib3
from prometheus_client import CollectorRegistry, Counter
from urllib3.exceptions import HTTPError

from conf.metrics_endpoint import LOOPBACK, metrics_endpoint


def test_the_metrics_are_served_until_the_block_ends():
    registry = CollectorRegistry()
    Counter("lines", "Lines.", registry=registry).inc(3)
    with metrics_endpoint(registry, 0, "port") as url:
        assert b"lines_total 3.0" in urllib3.request("GET", url).data

    with pytest.raises(HTTPError):
        urllib3.request("GET", url, retries=False)


def test_a_taken_port_is_an_error_that_names_the_setting():
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(OSError, match=rf"^\[export\] port = {port}: .*already in use.*use a free port"),
            metrics_endpoint(CollectorRegistry(), port, "[export] port"),
        ):
            pass
