"""
How long users of the dashboard wait: `python -m benchmarks.dashboard --warehouse DIR [--shots DIR]`.

In a real browser: from the address to the sentence at the top, each time in a new browser with nothing
cached, and from the choice of a filter to the filtered page. `--shots` takes the pictures of `docs/img`:
dashboard.png, and report.png of a `--report`. The picture of the example's report needs no warehouse:

    plumbline report --example --html build/example.html --json build/example.json
    python -m benchmarks.dashboard --report build/example.html --shots docs/img
"""

import argparse
import shutil
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from answers.gold.reader import GoldReader
from conf.http_hosts import names_of
from serving.dashboard.app import make
from serving.dashboard.serve import served

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
WIDTH, HEIGHT, PICTURE_HEIGHT = 1280, 900, 1250
VERDICT, FIGURES = "#verdict h1", ".dash-graph .main-svg"
UNTIL_NARROWED = """option => new Promise(done => {
  const rows = () => document.querySelectorAll("#pair-table tbody tr").length;
  const before = rows(), began = performance.now();
  new MutationObserver((_, watching) => {
    if (rows() === before) return;
    watching.disconnect();
    requestAnimationFrame(() => done(performance.now() - began));
  }).observe(document.body, {childList: true, subtree: true});
  option.click();
})"""


def main() -> None:
    """Measure, and print each median and maximum."""
    options = argparse.ArgumentParser(description="How long users of the dashboard wait.")
    options.add_argument("--warehouse", type=Path, help="without it, nothing is measured")
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--shots", type=Path, help="folder for dashboard.png and report.png")
    options.add_argument("--report", type=Path, help="report.html to photograph too")
    arguments = options.parse_args()
    if arguments.report and not arguments.shots:
        options.error("--report needs --shots, the folder of its picture")
    chromium = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        if arguments.warehouse:
            measure(browser, arguments.warehouse, arguments.rounds, arguments.shots)
        if arguments.report:
            photograph(browser, arguments.report.resolve().as_uri(), arguments.shots / "report.png")
        browser.close()


def measure(browser: Browser, warehouse: Path, rounds: int, shots: Path | None) -> None:
    """Serve a warehouse, print the waits, and take a picture if `shots` is a folder."""
    app = make(GoldReader.of_warehouse(warehouse.resolve()), names_of("127.0.0.1"))
    with served(app) as address:
        firsts = [first_page(browser, address) for _ in range(rounds)]
        print(f"the very first page of a server: {firsts[0]:.0f} ms")
        say("first page, nothing cached in the browser", firsts[1:])
        say("a filter", filters(browser, address, rounds))
        if shots:
            photograph(browser, address, shots / "dashboard.png")


def first_page(browser: Browser, address: str, until: str = VERDICT) -> float:
    """Open the first page; return the ms until its sentence is there, or until the first figures are."""
    with browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}) as context:
        page = context.new_page()
        began = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_selector(until)
        return (time.perf_counter() - began) * 1e3


def filters(browser: Browser, address: str, rounds: int) -> list[float]:
    """Choose a broker; return the ms from the click to the filtered table."""
    page, waits = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}), []
    for _ in range(rounds):
        page.goto(address)
        page.wait_for_selector(FIGURES)
        page.wait_for_timeout(700)
        page.locator("#of-broker .dash-dropdown").click()
        option = page.locator(".dash-dropdown-option").first
        option.wait_for()
        waits.append(option.evaluate(UNTIL_NARROWED))
    page.close()
    return waits


def photograph(browser: Browser, address: str, path: Path) -> None:
    """Take a picture of the first screen."""
    page: Page = browser.new_page(viewport={"width": WIDTH, "height": PICTURE_HEIGHT})
    page.goto(address)
    page.wait_for_selector(".main-svg")
    page.wait_for_timeout(1500)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    page.close()
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


def say(what: str, waits: list[float]) -> None:
    """Print the waits."""
    print(f"{what}: median {median(waits):.0f} ms, worst {max(waits):.0f} ms, n = {len(waits)}")


if __name__ == "__main__":
    main()
