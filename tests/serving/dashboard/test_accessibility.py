"""Report and dashboard for everyone: no serious violation found by axe, and no page wider than its screen."""

from base64 import b64encode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from answers.fetches import latency
from answers.questions import QUESTIONS
from answers.throttles.limits import limits
from answers.throttles.listings import THROTTLES
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from tests.answers import made_gold
from tests.answers.selected import selected
from tests.serving.dashboard.conftest import DashboardInBrowser
from tests.serving.report import gold_rows
from tests.serving.report.test_page import listed, written

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


NO_SHADOWS = ".scroll { background-image: none !important; }"
"""Axe does not compute the contrast of text over a gradient; the shadows are at the edges of a box only."""


def violations(page):
    """Return the serious violations: rule, and the first elements that break it."""
    page.add_style_tag(content=NO_SHADOWS)
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


PIXEL = """async ([picture, share]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
  pen.drawImage(image, 0, 0);
  return [...pen.getImageData(share * (image.width - 1), 2, 1, 1).data].slice(0, 3);
}"""
CARD, SHADOW = [255, 255, 255], [184, 187, 190]


def edges_of(page, box):
    """Return the colours of the left and the right edge of a box, above the text of its first row."""
    picture = b64encode(box.screenshot()).decode()
    return [page.evaluate(PIXEL, [picture, share]) for share in (0, 1)]


def is_hidden(color):
    """Return whether the edge has the shadow of hidden columns."""
    return color == pytest.approx(SHADOW, abs=8)


@pytest.fixture(params=["report", "dashboard"])
def wide(request, browser, address, tmp_path):
    """Open a page with a table that is wider than its box at 1,280 px."""
    opened = DashboardInBrowser.in_browser(browser, viewport=DESKTOP)
    opened.address = address
    if request.param == "dashboard":
        opened.go("/throttles?cluster=east")
    else:
        opened.page.goto(written(listed(THROTTLES, made_limits()), tmp_path).as_uri())
    yield opened.page
    opened.page.close()


def made_limits():
    return limits(selected({THROTTLE_COMPLIANCE: [made_gold.throttle(0, [900_000] * 10)]}, cluster="east"))


def test_wide_table_scrolls_in_its_box_by_keys_and_shows_at_each_edge_that_columns_are_hidden(wide):
    box = wide.locator(".scroll:has(#throttle-table)")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") > 40
    assert not is_too_wide(wide)
    assert [box.get_attribute(name) for name in ("tabindex", "role", "aria-label")] == [
        *("0", "region", "Throttles")
    ]
    assert list(map(is_hidden, edges_of(wide, box))) == [False, True]

    box.focus()
    for _ in range(60):
        wide.keyboard.press("ArrowRight")
    wide.wait_for_function(
        "box => box.scrollLeft >= box.scrollWidth - box.clientWidth - 1", arg=box.element_handle()
    )

    assert list(map(is_hidden, edges_of(wide, box))) == [True, False]


def test_table_that_fits_has_no_shadow(browser, tmp_path):
    opened = DashboardInBrowser.in_browser(browser, viewport=DESKTOP)
    opened.page.goto(written(listed(latency.CONSUMERS, [gold_rows.consumer("app")]), tmp_path).as_uri())

    edges = edges_of(opened.page, opened.page.locator(".scroll"))
    opened.page.close()

    assert edges == [CARD, CARD]


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
