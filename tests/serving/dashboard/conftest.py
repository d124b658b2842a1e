"""One made warehouse and one browser for all tests of the dashboard."""

import pytest

from answers.gold.reader import GoldReader
from conf.http_hosts import names_of
from serving.dashboard.app import make
from serving.dashboard.serve import served
from tests.answers import made_gold
from tests.opened import Opened

WHOLE = "#content[aria-busy=false]"


class DashboardInBrowser(Opened):
    """The dashboard in the browser."""

    address = ""

    def go(self, path):
        """Open a page, and wait for its sentence and its sections."""
        self.page.goto(f"{self.address}{path.removeprefix('/')}")
        self.page.wait_for_selector(f"{WHOLE} #verdict h1")
        return self

    @property
    def verdict(self):
        """Return the sentence at the top."""
        return self.page.locator("#verdict h1").inner_text()

    def says(self, words):
        """Wait until the sentence at the top has these words, and its sections are there."""
        self.page.wait_for_selector(f"{WHOLE} #verdict h1:has-text({words!r})")
        return True


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return made_gold.warehouse(tmp_path_factory.mktemp("dashboards") / "warehouse")


@pytest.fixture(scope="session")
def gold(made):
    return GoldReader.of_warehouse(made)


@pytest.fixture(scope="session")
def address(gold):
    with served(make(gold, names_of("127.0.0.1"))) as at:
        yield at


def opened_in(browser, address, **more):
    opened = DashboardInBrowser.in_browser(browser, viewport={"width": 1280, "height": 900}, **more)
    opened.address = address
    return opened


@pytest.fixture
def opened(browser, address):
    shown = opened_in(browser, address)
    yield shown
    shown.page.close()
