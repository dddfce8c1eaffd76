"""Draw the pictures of docs/reading.md, from the models that the page fits.

    python -m benchmarks.gallery

The report and the score card are photographed if Playwright and Chromium are installed.
Otherwise their old pictures stay.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.blocks import scripts
from benchmarks.drawing import save
from benchmarks.pages import DOCS
from neuralrules.plot import (
    ImportanceDisplay,
    RuleDisplay,
    ShapeDisplay,
    SizeDisplay,
    SupportDisplay,
    WaterfallDisplay,
)

FIGURES = DOCS / "figures"
A4 = {"width": 794, "height": 1123}  # size of a page in a browser's pixels
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]


def names_of_the_page() -> dict[str, Any]:
    """Run the blocks of the page and return the variables that they define."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for script in scripts((DOCS / "reading.md").read_text()):
            exec(compile(script, "docs/reading.md", "exec"), names)
    return names


def draw(names: dict[str, Any]) -> None:
    """Draw and save one picture for each display."""
    model, small, X, y = (names[name] for name in ("model", "small", "X_test", "y_test"))
    rule = int(small.rules_table().index[0])
    displays = {
        "shape": ShapeDisplay.from_estimator(names["credit"], names["L_test"], "late_payments"),
        "size": SizeDisplay.from_path(names["path"], tolerance=0.01),
        "support": support(model, X, y),
        "rule": RuleDisplay.from_estimator(small, rule),
        "waterfall": WaterfallDisplay.from_explanation(names["explanation"]),
        "importance": ImportanceDisplay.from_importances(names["columns"], max_bars=8),
    }
    for name, display in displays.items():
        save(display.figure_, FIGURES / f"reading_{name}.png")
        plt.close(display.figure_)


def support(model: Any, X: Any, y: Any) -> SupportDisplay:
    """The support of the rule that stayed closest to its leaf, in a plane through both."""
    rule = int(model.rules_table()["overlap"].idxmax())
    leaf = model.rules_.covers(model.encoder_.transform(X))[:, rule]
    inside = model.explain(X)
    both = np.isin(np.arange(len(X)), inside.rows[inside.rules == rule]) & leaf
    return SupportDisplay.from_estimator(model, X, y, rules=[rule], others=X[both][:1])


def photograph(names: dict[str, Any]) -> None:
    """Photograph the top of the report in a browser, and the score card as it is printed."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("Pages were not photographed: pip install playwright", file=sys.stderr)
        return
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Pages were not photographed: apt install chromium", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = names["small"].report(
            Path(folder) / "model.html",
            names["X_test"],
            names["y_test"],
            title="Breast cancer",
            simplification=names["path"],
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 1500})
        page.goto(page_file.as_uri())
        page.screenshot(path=FIGURES / "reading_report.png")
        card_file = names["card"].to_html(Path(folder) / "card.html")
        sheet = browser.new_page(viewport=A4, device_scale_factor=1.5, bypass_csp=True)
        sheet.emulate_media(media="print")
        sheet.goto(card_file.as_uri())
        sheet.add_style_tag(content="body { margin: 12mm !important; }")
        sheet.screenshot(path=FIGURES / "reading_card.png")
        browser.close()


def main() -> None:
    names = names_of_the_page()
    draw(names)
    photograph(names)


if __name__ == "__main__":
    main()
