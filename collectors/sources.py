"""The sources of telemetry that has a URL: the URL without an address, so that no table gets one."""

import re
from collections.abc import Iterable, Iterator

from conf.settings import ScrapedEndpoint

_URL = re.compile(r"(?s)([^:/?#]+://)[^/?#]*?(:\d+)?(/[^?#]*)?(?:[?#].*)?")


def named_source(url: str, name: str) -> str:
    """
    Return a URL with a name instead of user info and host, and without its query, which may have addresses.

    >>> named_source("https://ann:secret@203.0.113.7:9404/metrics?target=203.0.113.8", "broker-1")
    'https://broker-1:9404/metrics'
    >>> named_source("http://[2001:db8::7]", "broker-1")
    'http://broker-1'
    """
    found = _URL.fullmatch(url)
    return f"{found[1]}{name}{found[2] or ''}{found[3] or ''}" if found else name


def sources_of(endpoints: Iterable[ScrapedEndpoint]) -> Iterator[str]:
    """
    Yield the source of each endpoint; further URLs with the same one are numbered, in the order of settings.

    >>> urls = ["http://a:9404/metrics", "http://b:9404/metrics", "http://a:9405/metrics"]
    >>> list(sources_of(ScrapedEndpoint(url=url, node="broker-1") for url in urls))
    ['http://broker-1:9404/metrics', 'http://broker-1:9404/metrics#2', 'http://broker-1:9405/metrics']
    """
    urls: dict[str, list[str]] = {}
    for endpoint in endpoints:
        source = named_source(endpoint.url, endpoint.node)
        same = urls.setdefault(source, [])
        if endpoint.url not in same:
            same.append(endpoint.url)
        number = same.index(endpoint.url) + 1
        yield source if number == 1 else f"{source}#{number}"
