"""The pages: their addresses, words and filters, and the functions that make them."""

from collections.abc import Callable
from dataclasses import dataclass

from dash.development.base_component import Component

from serving.dashboard.pages import clients, links
from serving.dashboard.pages import comparison as page_comparison
from serving.dashboard.pages import fetches as page_fetches
from serving.dashboard.pages import pair as page_pair
from serving.dashboard.pages import throttles as page_throttles
from serving.dashboard.request import DashboardRequest


@dataclass(frozen=True, slots=True)
class DashboardPage:
    """One page of the dashboard."""

    path: str
    word: str  # in the navigation; empty for one that is reached from another
    title: str
    filters: tuple[str, ...]
    make: Callable[[DashboardRequest], list[Component]]


PAGES = (
    DashboardPage("/", "Who is slow", "Who is slow", ("span", "broker"), links.page),
    DashboardPage(
        "/fetches", "Fetches", "True fetch latency", ("span", "broker", "client"), page_fetches.page
    ),
    DashboardPage(
        "/partitions", "Partitions", "Partition skew", ("span", "topic", "client"), clients.partitions
    ),
    DashboardPage("/throttles", "Throttles", "Throttles and moves", ("span", "broker"), page_throttles.page),
    DashboardPage(
        "/redirects",
        "Redirects",
        "Leader redirects",
        ("span", "broker", "topic", "client"),
        clients.redirects,
    ),
    DashboardPage("/lookups", "Lookups", "Metadata lookups", ("span", "client"), clients.lookups),
    DashboardPage("/comparison", "Comparison", "Run comparison", ("run",), page_comparison.page),
    DashboardPage("/pair", "", "A pair of brokers", ("span",), page_pair.page),
)
BY_PATH = {page.path: page for page in PAGES}


def page_of(path: str | None) -> DashboardPage | None:
    """Return the page of an address; None if there is none."""
    return BY_PATH.get("/" + (path or "").strip("/"))
