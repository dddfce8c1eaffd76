"""Pages whose Python and bash blocks run, and whose text blocks are what they print.

    python -m benchmarks.blocks README.md docs/reading.md

runs these blocks of each page, one after the other in an empty folder with the examples in
it, Python in one process, and writes what each prints into the text block that follows it.
The tests compare the two.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```(python|bash|text)\n(.*?)```", re.DOTALL)
END = "\0"  # printed after each block


def scripts(text: str) -> list[str]:
    """The Python blocks of a page."""
    return [body for kind, body in BLOCK.findall(text) if kind == "python"]


def program(text: str) -> str:
    """A program that runs all blocks of a page."""
    lines = ["import subprocess"]
    for kind, body in BLOCK.findall(text):
        if kind == "bash":
            lines.append(f"subprocess.run(['bash', '-euc', {body!r}], check=True)")
        if kind == "python":
            lines.append(body)
        if kind != "text":
            lines.append(f"print({END!r}, end='', flush=True)")
    return "\n".join(lines)


def outputs(text: str) -> list[str]:
    """What each block of a page prints on standard output."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "examples", Path(folder) / "examples")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        result = subprocess.run(
            [sys.executable, "-c", program(text)],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PATH": path},
        )
    assert result.returncode == 0, result.stderr
    return result.stdout.split(END)[:-1]


def expected(text: str) -> list[str]:
    """The text block after each block that runs; empty where there is none."""
    found: list[str] = []
    for kind, body in BLOCK.findall(text):
        if kind != "text":
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
        if match[1] != "text":
            current = next(printed)
            return match[0]
        return f"```text\n{current}```"

    page.write_text(BLOCK.sub(replaced, text))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
