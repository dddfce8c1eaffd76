"""Pages of the report in a real browser."""

import pytest
from browsing import new_page


@pytest.fixture
def visit(browser):
    """Open a page; afterwards it must have logged and requested nothing."""
    opened, faults = [], []

    def open_page(path, **options):
        options.setdefault("viewport", {"width": 1280, "height": 900})
        page = new_page(browser, **options)
        opened.append(page)
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
    for page in opened:
        page.context.close()
    assert faults == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")
