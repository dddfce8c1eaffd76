"""Code that the benchmarks share: a description of the machine, and pages with results."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from benchmarks.files import write_whole

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARKER = "<!-- results -->"


def environment(*packages: str, code: str | None = None) -> dict[str, str]:
    """The CPU, the versions of packages and the commit: `code`, or that of the tree now."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if "model name" in line), cpu)
    names = ("numpy", "scikit-learn", "numba", *packages, "neuralrules")
    return {
        "CPU": f"{cpu}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        **{name: version(name) for name in names},
        "commit": code or commit(),
    }


def commit() -> str:
    """The commit of the working tree, or "unknown" if git cannot tell."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, cwd=DOCS, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def environment_list(found: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in found.items())


def write_page(name: str, results: str) -> None:
    """Replace the text after the marker in a page of the documentation."""
    page = DOCS / name
    head = page.read_text().split(MARKER)[0]
    write_whole(page, f"{head}{MARKER}\n\n{results.rstrip()}\n")
