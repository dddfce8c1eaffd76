"""The size of the site, the time to build it, and the problems that axe finds in its pages.

    python -m benchmarks.site --write

builds the site twice from nothing, once without running the examples and once with running
them. Then it opens pages of each kind in Chromium, and rewrites the results in docs/site.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.pages import DOCS, environment, environment_list, write_page
from benchmarks.tables import markdown

BUILT = DOCS / "_build" / "html"
GENERATED = [DOCS / name for name in ("_build", "api", "gallery", "tutorials")]
LOOKED_AT = {
    "front page": "index.html",
    "tutorial": "tutorials/credit.html",
    "gallery": "gallery/index.html",
    "estimator": "api/neuralrules.NeuralRuleClassifier.html",
    "display": "api/neuralrules.plot.RuleDisplay.html",
    "command line": "command_line.html",
    "method": "method.html",
    "results": "frontier.html",
    "live pages": "live.html",
    "sliders": "interactive.html",
    "start": "start.html",
    "search": "search.html",
}
VIEWS = {
    f"{width} {scheme}": {"viewport": {"width": pixels, "height": 900}, "color_scheme": scheme}
    for width, pixels in {"wide": 1400, "phone": 390}.items()
    for scheme in ("light", "dark")
}
KINDS = {
    ".html": "pages",
    ".png": "pictures",
    ".gif": "pictures",
    ".ipynb": "notebooks",
    ".js": "scripts and the search index",
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]


def build(*options: str) -> str:
    """Build the site from nothing, and return the time that this takes as text."""
    for folder in GENERATED:
        shutil.rmtree(folder, ignore_errors=True)
    command = ["-m", "sphinx", "-W", "-q", "-j", "2", "-d", str(BUILT.parent / "doctrees")]
    begun, used = time.perf_counter(), cpu_seconds()
    subprocess.run([sys.executable, *command, *options, str(DOCS), str(BUILT)], check=True)
    passed, used = time.perf_counter() - begun, cpu_seconds() - used
    return f"{passed:.0f} s ({used:.0f} s of processor time)"


def cpu_seconds() -> float:
    """Seconds of computing of all child processes that have ended.

    Unlike elapsed time, they do not depend on other programs on the machine.
    """
    spent = os.times()
    return spent.children_user + spent.children_system


def sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Number and bytes of the files of each kind."""
    files, sums = Counter[str](), Counter[str]()
    for path in folder.rglob("*"):
        if path.is_file():
            kind = KINDS.get(path.suffix, "others")
            files[kind] += 1
            sums[kind] += path.stat().st_size
    return {
        kind: (files[kind], sums[kind]) for kind in [*dict.fromkeys(KINDS.values()), "others"]
    }


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site on this machine, and yield its address."""
    handler = partial(QuietHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without printing messages."""

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


def violations(page: Any) -> list[str]:
    """The problems that axe, a checker of accessibility, finds on an open page.

    Each text names the rule and the element.
    """
    from axe_playwright_python.sync_playwright import Axe

    page.emulate_media(reduced_motion="reduce")
    # Without this option, axe fetches the style sheets again, and looks in a wrong place for
    # the style sheets that they import.
    options = {"resultTypes": ["violations"], "preload": False}
    found = Axe().run(page, options=options).response["violations"]
    return [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]]


def checked(site: Path) -> list[list[object]]:
    """The number of violations of each kind of page in each view."""
    with served(site) as address, chromium() as browser:
        counts = {}
        for view, options in VIEWS.items():
            page = browser.new_context(**options).new_page()
            for name, path in LOOKED_AT.items():
                page.goto(f"{address}/{path}")
                found = violations(page)
                print(view, name, *found, sep="\n  ")
                counts[name, view] = len(found)
    return [[name, *(counts[name, view] for view in VIEWS)] for name in LOOKED_AT]


def results() -> str:
    where = environment("sphinx", "pydata-sphinx-theme", "sphinx-gallery")
    fast = build("-D", "plot_gallery=0")
    whole = build()
    parts = sizes(BUILT)
    total = sum(n_bytes for _, n_bytes in parts.values())
    pages = [
        [name, n_files, f"{n_bytes / 1e6:.1f}"] for name, (n_files, n_bytes) in parts.items()
    ]
    return "\n".join(
        [
            f"The fast build takes {fast}, the whole one {whole}. The site has "
            f"{total / 1e6:.0f} MB:",
            "",
            *markdown(["part", "files", "MB"], pages),
            "",
            "Violations that axe finds, of all its rules:",
            "",
            *markdown(["page", *VIEWS], checked(BUILT)),
            "",
            environment_list(where),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="update docs/site.md")
    options = parser.parse_args()
    text = results()
    print(text)
    if options.write:
        write_page("site.md", text)


if __name__ == "__main__":
    main()
