"""The built site."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = DOCS / "_build" / "html"
WRITTEN = ("docs/*.*", "docs/guides/*", "docs/_[!b]*/**/*", "examples/**/*", "src/**/*", "*.md")


def is_new() -> bool:
    """Whether nothing was written since the site was built."""
    last = BUILT / "objects.inv"  # what Sphinx writes last
    written = (path for pattern in WRITTEN for path in ROOT.glob(pattern) if path.is_file())
    # What compilers cache beside the sources, while tests run, changes no page.
    sources = (
        path for path in written if path.suffix != ".inv" and "__pycache__" not in path.parts
    )
    return last.exists() and max(map(modified, sources)) < modified(last)


def modified(path: Path) -> float:
    return path.stat().st_mtime


@pytest.fixture(scope="session")
def site() -> Path:
    """The site without its long examples; `make test` has built it, usually."""
    BUILT.parent.mkdir(exist_ok=True)
    with FileLock(BUILT.parent / "site.lock"):
        if not is_new():
            command = [
                "sphinx",
                "-W",
                "-q",
                "-D",
                "plot_gallery=0",
                "-d",
                BUILT.parent / "doctrees",
            ]
            subprocess.run([sys.executable, "-m", *command, DOCS, BUILT], check=True)
    return BUILT
