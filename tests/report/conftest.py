"""A real browser for tests of the report."""

import shutil
from pathlib import Path

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    chromium = shutil.which("chromium")
    with playwright.sync_playwright() as driver:
        if chromium is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip("needs a browser: apt install chromium, or playwright install chromium")
        running = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def visit(browser):
    """Open a page; afterwards it must have logged and requested nothing."""
    contexts, faults = [], []

    def open_page(path, **options):
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: faults.append(("console", message.text)))
        page.on("pageerror", lambda error: faults.append(("error", str(error))))
        page.on("dialog", lambda dialog: (faults.append(("dialog", "")), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                request.url == path.as_uri() or faults.append(("request", request.url))
            ),
        )
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready=true]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")
