"""A headless browser that writes down everything a page asks for and complains about."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page


@dataclass
class Opened:
    """A page in the browser, what it asked for and what it said."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


class Chromium:
    """Opens pages from disk."""

    def __init__(self, browser: Browser) -> None:
        """Keep the running browser."""
        self._browser = browser

    def open(self, path: Path, *, color_scheme: str = "light") -> Opened:
        """Open a page and wait until every figure is drawn."""
        page = self._browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=color_scheme)
        opened = Opened(page)
        page.on("request", lambda request: opened.requests.append(request.url))
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelectorAll('[data-figure]:not(.js-plotly-plot)').length === 0")
        page.wait_for_timeout(300)
        return opened


@pytest.fixture(scope="session")
def chromium(browser: Browser) -> Chromium:
    return Chromium(browser)
