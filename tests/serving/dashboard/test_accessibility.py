"""Report and dashboard for everyone: no serious violation found by axe, and no page wider than its screen."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from answers.questions import QUESTIONS
from tests.serving.dashboard.conftest import DashboardInBrowser
from tests.serving.report import gold_rows
from tests.serving.report.test_page import written

SERIOUS = ("serious", "critical")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
VIEWS = {
    "desktop": {"viewport": DESKTOP},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
}
SEEN = [
    (question, view)
    for question in QUESTIONS
    for view in VIEWS
    if view != "dark" or question.name in ("slow-links", "throttles")
]
"""The pages share their colours, so two of them are seen in the dark."""

# Plotly draws its own controls and text, whose colours follow the page only after a repaint.
OPTIONS = {"exclude": [[".js-plotly-plot"]]}


def violations(page):
    """Return the serious violations: rule, and the first elements that break it."""
    found = Axe().run(page, context=OPTIONS).response["violations"]
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in SERIOUS
    ]


def is_too_wide(page):
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


@pytest.mark.parametrize(("question", "view"), SEEN, ids=lambda one: getattr(one, "name", one))
def test_pages_of_the_dashboard(question, view, browser, address, tmp_path):
    opened = DashboardInBrowser.in_browser(browser, **VIEWS[view])
    opened.address = address
    opened.go(f"{question.path}?cluster=east&follower=3&leader=1")
    expect(opened.page.locator(".dash-graph:not(:has(.main-svg))")).to_have_count(0, timeout=30_000)
    opened.page.screenshot(path=tmp_path / f"{question.name}-{view}.png", full_page=True)

    found, wide = violations(opened.page), is_too_wide(opened.page)
    complaints = opened.complaints
    opened.page.close()

    assert (found, wide, complaints) == ([], False, [])


@pytest.mark.parametrize("view", VIEWS)
def test_page_of_a_report(view, browser, tmp_path):
    path = written(gold_rows.slow_link(), tmp_path)
    opened = DashboardInBrowser.in_browser(browser, **VIEWS[view])
    opened.page.goto(path.as_uri())
    opened.page.wait_for_function(
        "document.querySelectorAll('[data-figure]:not(.js-plotly-plot)').length === 0"
    )
    opened.page.screenshot(path=tmp_path / f"report-{view}.png", full_page=True)

    found, wide = violations(opened.page), is_too_wide(opened.page)
    opened.page.close()

    assert (found, wide) == ([], False)


def test_a_violation_is_found(browser, tmp_path):
    """Guard of the tests above: pale text on white."""
    (tmp_path / "pale.html").write_text(
        '<html lang="en"><title>t</title><main><p style="color:#ddd;background:#fff">pale</p></main></html>'
    )
    page = browser.new_page()
    page.goto((tmp_path / "pale.html").as_uri())

    found = [name for name, _ in violations(page)]
    page.close()

    assert "color-contrast" in found
