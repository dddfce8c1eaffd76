"""A real browser, whose pages may take as long as a busy machine needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from waiting import HANG

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MILLISECONDS = 1000 * HANG  # in place of playwright's seconds


@contextmanager
def chromium() -> Iterator[Any]:
    """A running Chromium; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    playwright.expect.set_options(timeout=MILLISECONDS)
    program = shutil.which("chromium")
    with playwright.sync_playwright() as driver:
        if program is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip("needs a browser: apt install chromium, or playwright install chromium")
        running = driver.chromium.launch(
            executable_path=program, args=ARGUMENTS, timeout=MILLISECONDS
        )
        yield running
        running.close()


def new_page(browser: Any, **options: Any) -> Any:
    """A page in a context of its own, with options of that."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(MILLISECONDS)
    return page
