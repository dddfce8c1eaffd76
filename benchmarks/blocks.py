"""Run the Python and bash blocks of pages, and write their output into the text blocks.

    python -m benchmarks.blocks README.md docs/reading.md

runs the blocks of each page, one after the other, in an empty folder with the examples in it.
All Python blocks run in one process. The output of each block is written into the text block
that follows it. The tests compare output and text block. Words must be equal to the letter.
Numbers are compared as numbers, because another CPU rounds in another way.
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
# A number that stands by itself, unlike the digits in N002 or x0.
NUMBER = re.compile(r"(?<![\w.])([-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w])")
# Training rounds to float32 at every step, and each kind of CPU adds in another order. After a
# few hundred steps, the four digits that our texts show are equal. Further digits may differ.
TRAINED = 1e-4


def scripts(text: str) -> list[str]:
    """The Python blocks of a page."""
    return [body for kind, body in BLOCK.findall(text) if kind == "python"]


def program(text: str, first: str = "") -> str:
    """A program that runs all blocks of a page, after the Python code `first`."""
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
    """The standard output of each block of a page. The Python code `first` runs before them."""
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
    """The text block after each block that runs; empty if there is none."""
    found: list[str] = []
    for kind, body in BLOCK.findall(text):
        if kind != "text":
            found.append("")
        else:
            found[-1] += body
    return found


def differences(expected: str, printed: str, relative: float = 1e-6) -> list[str]:
    """The places where two texts differ: in a word, in a number, or by a missing line.

    Two numbers agree if they differ by at most `relative`, or by one unit of the last digit
    that is shown. Whole numbers below a thousand must be equal, because they are counts, ranks
    and names. The number of spaces is free: spaces align columns, so it depends on numbers.
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
    """Write the output of the blocks into the page."""
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
