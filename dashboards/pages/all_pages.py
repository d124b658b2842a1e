"""The pages: their addresses, words, the filters that each takes, and what makes them."""

from collections.abc import Callable
from dataclasses import dataclass

from dash.development.base_component import Component

from dashboards.asked import Asked
from dashboards.pages import clients, links
from dashboards.pages import comparison as page_comparison
from dashboards.pages import fetches as page_fetches
from dashboards.pages import pair as page_pair
from dashboards.pages import throttles as page_throttles


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the dashboard."""

    path: str
    word: str  # in the navigation; empty for one that is reached from another
    title: str
    filters: tuple[str, ...]
    make: Callable[[Asked], list[Component]]


PAGES = (
    Page("/", "Who is slow", "Who is slow", ("span", "broker"), links.page),
    Page("/fetches", "Fetches", "True fetch latency", ("span", "broker", "client"), page_fetches.page),
    Page("/partitions", "Partitions", "Partition skew", ("span", "topic", "client"), clients.partitions),
    Page("/throttles", "Throttles", "Throttles and moves", ("span", "broker"), page_throttles.page),
    Page(
        "/redirects",
        "Redirects",
        "Leader redirects",
        ("span", "broker", "topic", "client"),
        clients.redirects,
    ),
    Page("/lookups", "Lookups", "Metadata lookups", ("span", "client"), clients.lookups),
    Page("/comparison", "Comparison", "Run comparison", ("run",), page_comparison.page),
    Page("/pair", "", "A pair of brokers", ("span",), page_pair.page),
)
BY_PATH = {page.path: page for page in PAGES}


def page_of(path: str | None) -> Page | None:
    """Give the page of an address; None where there is none."""
    return BY_PATH.get("/" + (path or "").strip("/"))
