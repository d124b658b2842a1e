"""The metrics endpoint of a process."""

import socket

import pytest
import urllib3
from prometheus_client import CollectorRegistry, Counter
from urllib3.exceptions import HTTPError

from conf.exit_codes import WrongUseError
from conf.http_hosts import LOOPBACK
from conf.metrics_endpoint import metrics_endpoint


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


@pytest.mark.parametrize("port", [-5, 99_999])
def test_what_is_no_port_is_an_error_that_names_the_setting(port):
    with (
        pytest.raises(WrongUseError, match=rf"^\[export\] port = {port}: must be a port, 0 to 65535$"),
        metrics_endpoint(CollectorRegistry(), port, "[export] port"),
    ):
        pass


def test_a_page_of_another_name_reads_no_metrics():
    with metrics_endpoint(CollectorRegistry(), 0, "port", "0.0.0.0", ["metrics.example.org"]) as url:  # noqa: S104
        local = url.replace("0.0.0.0", LOOPBACK)  # noqa: S104
        hosts = (LOOPBACK, socket.gethostname(), "metrics.example.org:9400", "evil.example")
        found = [urllib3.request("GET", local, headers={"Host": host}).status for host in hosts]

    assert found == [200, 200, 200, 400]
