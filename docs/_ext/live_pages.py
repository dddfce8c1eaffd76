"""The report, the score card, the comparison and the sliders of docs/reading.md's models."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from interactive_page import write_interactive  # noqa: E402

from benchmarks.blocks import scripts  # noqa: E402

FOLDER = "live"


def write_pages(app: Sphinx, error: Exception | None) -> None:
    """Write the pages beside those that Sphinx built, unless they are there already."""
    folder = Path(app.outdir) / FOLDER
    if error or app.builder.format != "html" or folder.exists():
        return
    logging.getLogger(__name__).info("writing live pages into %s", folder)
    names = names_of_the_first_half()
    rows, outcome = names["L_test"], names["o_test"]
    folder.mkdir()
    names["credit"].report(folder / "report.html", rows, outcome, title="Loans")
    names["card"].to_html(folder / "card.html")
    compared = names["compare"](names["credit"], names["changed"], rows, outcome)
    compared.to_html(folder / "comparison.html")
    write_interactive(names["credit"], rows, folder / "sliders.html", "Will this loan go bad?")


def names_of_the_first_half() -> dict[str, Any]:
    """Run the blocks of the page up to the model that the committee changed."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(ROOT):
        for script in scripts((ROOT / "docs" / "reading.md").read_text()):
            exec(compile(script, "docs/reading.md", "exec"), names)
            if "changed" in names:
                break
    return names


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
