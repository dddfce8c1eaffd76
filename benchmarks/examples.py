"""The scripts of examples/tutorials and examples/gallery, run as the site runs them.

    python -m benchmarks.examples
    python -m benchmarks.examples examples/tutorials/credit.py

runs these scripts, by default all of them, and writes the output of each script into a text
file beside it. The tests compare output and text file: words to the letter, and numbers as
numbers.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("tutorials/*.py")) + sorted(EXAMPLES.glob("gallery/*.py"))
CELLS = re.compile(r"^(?=# %%)", re.MULTILINE)


def record(script: Path) -> Path:
    """The path of the text file with the output of a script."""
    return script.with_suffix(".txt")


def printed(script: Path) -> str:
    """The output of a script, cell by cell, with the tables at the end of cells.

    The script runs in an empty folder, with copies of the tables in the folder above. It finds
    the tables there too when a reader or sphinx-gallery runs it in its own folder.
    """
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    output = io.StringIO()
    with working_folder(), contextlib.redirect_stdout(output):
        text = ""
        for number, cell in enumerate(CELLS.split(script.read_text("utf-8"))):
            print(f"# cell {number}")
            run("\n" * text.count("\n") + cell, str(script), names)
            text += cell
    plt.close("all")
    return output.getvalue()


@contextlib.contextmanager
def working_folder() -> Iterator[None]:
    """Work in an empty folder, with the tables in the folder above it."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as root:
        for table in EXAMPLES.glob("*.csv"):
            shutil.copy(table, root)
        folder = Path(root) / "work"
        folder.mkdir()
        os.chdir(folder)
        tempfile.tempdir = str(folder)  # temporary files of scripts are removed with it
        try:
            yield
        finally:
            tempfile.tempdir = None
            os.chdir(before)


def run(cell: str, name: str, names: dict[str, Any]) -> None:
    """Run a cell and, like a notebook, show the table at its end."""
    tree = ast.parse(cell, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if hasattr(value, "to_string"):
            print(value.to_string())


if __name__ == "__main__":
    for script in [Path(name).resolve() for name in sys.argv[1:]] or SCRIPTS:
        record(script).write_text(printed(script), "utf-8")
