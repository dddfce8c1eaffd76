"""Pages whose Python blocks run, and whose text blocks are what they print.

    python -m benchmarks.blocks README.md docs/reading.md

runs the Python blocks of each page, one after the other in one process, and writes what
each prints into the text block that follows it. The tests compare the two.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)
END = "\0"  # printed after each block


def scripts(text: str) -> list[str]:
    """The Python blocks of a page."""
    return [body for kind, body in BLOCK.findall(text) if kind == "python"]


def outputs(text: str) -> list[str]:
    """What each Python block of a page prints."""
    script = "".join(f"{body}\nprint({END!r}, end='')\n" for body in scripts(text))
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split(END)[:-1]


def expected(text: str) -> list[str]:
    """The text block after each Python block; empty where there is none."""
    found: list[str] = []
    for kind, body in BLOCK.findall(text):
        if kind == "python":
            found.append("")
        else:
            found[-1] += body
    return found


def refresh(page: Path) -> None:
    """Write what the blocks print into the page."""
    text = page.read_text()
    printed = iter(outputs(text))
    current = ""

    def replaced(match: re.Match[str]) -> str:
        nonlocal current
        if match[1] == "python":
            current = next(printed)
            return match[0]
        return f"```text\n{current}```"

    page.write_text(BLOCK.sub(replaced, text))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
