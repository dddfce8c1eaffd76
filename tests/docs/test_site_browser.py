"""The site in a browser: for those who cannot see it, on a phone, and its search."""

from __future__ import annotations

import pytest
from browsing import new_page

from benchmarks.site import LOOKED_AT, VIEWS, served, violations

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(site):
    with served(site) as found:
        yield found


@pytest.fixture
def visit(browser, address):
    """Open a page of the site; afterwards nothing must have failed."""
    opened, faults = [], []

    def open_page(name, view="wide light"):
        # Colours are as they will stay: nothing fades in.
        page = new_page(browser, reduced_motion="reduce", **VIEWS[view])
        opened.append(page)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("response", lambda got: got.ok or got.status == 304 or faults.append(got.url))
        page.goto(f"{address}/{name}")
        return page

    yield open_page
    for page in opened:
        page.context.close()
    assert faults == []


@pytest.mark.parametrize("view", ["wide light", "phone dark"])
@pytest.mark.parametrize("name", ["front page", "tutorial", "gallery", "estimator", "method"])
def test_axe_finds_nothing(visit, name, view):
    assert violations(visit(LOOKED_AT[name], view)) == []


def test_axe_finds_what_is_wrong(visit):
    page = visit("index.html")
    page.evaluate("document.querySelector('article img').removeAttribute('alt')")
    assert [one.partition(":")[0] for one in violations(page)] == ["image-alt"]


def test_every_page_fits_a_phone(visit, site, address):
    page = visit("index.html", "phone light")
    wide = {}
    for path in sorted(site.rglob("*.html")):
        if not {"_modules", "_static", "live"} & {*path.parts}:
            page.goto(f"{address}/{path.relative_to(site)}")
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 390:
                wide[path.name] = width
    assert wide == {}


def test_the_search_finds_a_method(visit):
    page = visit("search.html?q=counterfactual")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert "counterfactual" in first.inner_text()


def test_live_pages_are_alive(visit):
    page = visit("live.html")
    report = page.frame_locator("iframe").first
    report.locator("html[data-ready=true]").wait_for(state="attached")
    before = report.locator("#prediction").inner_text()
    report.locator("#what-if-form").get_by_label("late_payments").fill("9")
    assert report.locator("#prediction").inner_text() != before
    for place, words in {1: "Score card", 2: "changed"}.items():
        frame = page.locator("iframe").nth(place)
        frame.scroll_into_view_if_needed()
        shown = page.frame_locator("iframe").nth(place).locator("body")
        shown.get_by_text(words).first.wait_for()


def test_dark_mode_is_chosen_by_the_system(visit):
    grounds = {
        view: visit("index.html", view).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for view in ("wide light", "wide dark")
    }
    assert len({*grounds.values()}) == 2
