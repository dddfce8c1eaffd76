"""Pages whose Python and bash blocks run, and whose text blocks are what they print.

    python -m benchmarks.blocks README.md docs/reading.md

runs these blocks of each page, one after the other in an empty folder with the examples in
it, Python in one process, and writes what each prints into the text block that follows it.
The tests compare the two: words to the letter, and numbers as numbers, since another CPU
rounds another way.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```(python|bash|text)\n(.*?)```", re.DOTALL)
END = "\0"  # printed after each block
# A number that stands by itself: not a part of N002 or x0.
NUMBER = re.compile(r"(?<![\w.])([-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w])")
# Training rounds to float32 at every step, and each kind of CPU in its own order. After some
# hundred steps the digits that our texts show, four, are the same; the others need not be.
TRAINED = 1e-4


def scripts(text: str) -> list[str]:
    """The Python blocks of a page."""
    return [body for kind, body in BLOCK.findall(text) if kind == "python"]


def program(text: str, first: str = "") -> str:
    """A program that runs all blocks of a page, and some Python before them."""
    lines = [first, "import subprocess"]
    for kind, body in BLOCK.findall(text):
        if kind == "bash":
            lines.append(f"subprocess.run(['bash', '-euc', {body!r}], check=True)")
        if kind == "python":
            lines.append(body)
        if kind != "text":
            lines.append(f"print({END!r}, end='', flush=True)")
    return "\n".join(lines)


def outputs(text: str, first: str = "") -> list[str]:
    """What each block of a page prints on standard output; some Python may run before them."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "examples", Path(folder) / "examples")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        result = subprocess.run(
            [sys.executable, "-c", program(text, first)],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            # Threads that wait for each other must not spin while others need their cores:
            # boosting takes thirty times as long then.
            env={**os.environ, "PATH": path, "OMP_WAIT_POLICY": "passive"},
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


def differences(expected: str, printed: str, relative: float = 1e-6) -> list[str]:
    """Where two texts differ: in a word, in a line more or less, in a number by too much.

    Numbers agree that differ by no more than `relative`, or by one unit of the last digit
    that is shown. Whole numbers below a thousand are counts, ranks and names: they must be
    equal. Spaces align columns, so they depend on the numbers, and their number is free.
    """
    wanted, found = expected.splitlines(), printed.splitlines()
    if len(wanted) != len(found):
        return [f"{len(wanted)} lines expected, {len(found)} printed:\n{printed}"]
    return [
        f"line {number}: {one!r} expected, {other!r} printed"
        for number, (one, other) in enumerate(zip(wanted, found, strict=True), 1)
        if not same_line(one, other, relative)
    ]


def same_line(expected: str, printed: str, relative: float) -> bool:
    wanted, found = NUMBER.split(expected), NUMBER.split(printed)  # words at even places
    return (
        len(wanted) == len(found)
        and all(
            one.split() == other.split()
            for one, other in zip(wanted[::2], found[::2], strict=True)
        )
        and all(
            same_number(one, other, relative)
            for one, other in zip(wanted[1::2], found[1::2], strict=True)
        )
    )


def same_number(expected: str, printed: str, relative: float) -> bool:
    wanted, found = (Decimal(text.replace(",", "")) for text in (expected, printed))
    last = wanted.as_tuple().exponent
    assert isinstance(last, int)  # no NaN: that is a word
    if last == 0 and abs(wanted) < 1000:
        return wanted == found
    return abs(wanted - found) <= max(Decimal(10) ** last, Decimal(relative) * abs(wanted))


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
