"""Pages from disk in a headless browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.opened import Opened


class Chromium:
    """Opens pages from disk."""

    def __init__(self, browser: Browser) -> None:
        """Keep the running browser."""
        self._browser = browser

    def open(self, path: Path, *, color_scheme: str = "light") -> Opened:
        """Open a page and wait until every figure is drawn."""
        view = {"viewport": {"width": 1200, "height": 900}, "color_scheme": color_scheme}
        opened = Opened.in_browser(self._browser, **view)
        page = opened.page
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelectorAll('[data-figure]:not(.js-plotly-plot)').length === 0")
        page.wait_for_timeout(300)
        return opened


@pytest.fixture(scope="session")
def chromium(browser: Browser) -> Chromium:
    return Chromium(browser)
