"""One made warehouse and one browser for all tests of the dashboard."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from playwright.sync_api import Page

from dashboards.app import make
from dashboards.serve import names_of, served
from dashboards.warehouse import Warehouse
from tests.dashboards import made_gold


@dataclass
class Opened:
    """A page in the browser, what it asked for and what it said."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def go(self, path):
        """Open a page, and wait for its sentence."""
        self.page.goto(f"{self.address}{path.removeprefix('/')}")
        self.page.wait_for_selector("#verdict h1")
        return self

    @property
    def verdict(self):
        """Give the sentence on top."""
        return self.page.locator("#verdict h1").inner_text()

    def says(self, words):
        """Wait until the sentence on top has these words."""
        self.page.wait_for_selector(f"#verdict h1:has-text({words!r})")
        return True


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return made_gold.warehouse(tmp_path_factory.mktemp("dashboards") / "warehouse")


@pytest.fixture(scope="session")
def warehouse(made):
    return Warehouse(made, timedelta(days=1))


@pytest.fixture(scope="session")
def address(warehouse):
    with served(make(warehouse, names_of("127.0.0.1"))) as at:
        yield at


def opened_in(browser, address, **more):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **more)
    opened = Opened(page, address)
    page.on("request", lambda request: opened.requests.append(request.url))
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    return opened


@pytest.fixture
def opened(browser, address):
    shown = opened_in(browser, address)
    yield shown
    shown.page.close()
