"""A page in a headless browser, with its requests and messages."""

from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page


@dataclass
class Opened:
    """A page, the addresses that it requested, and the errors and messages of its console."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def in_browser(cls, browser: Browser, **options):
        """Open an empty page."""
        opened = cls(browser.new_page(**options))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        return opened
