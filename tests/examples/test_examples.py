"""The tutorials and the gallery run, and print what is recorded beside them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import blocks, examples
from neuralrules._engine._kernels._compile import VECTORS

# They take some seconds each, which the others all take together.
SLOW = {"diabetes", "number_of_rules", "tumours", "year_in_files"}
SCRIPTS = [
    pytest.param(script, id=script.stem, marks=[pytest.mark.slow] * (script.stem in SLOW))
    for script in examples.SCRIPTS
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_and_prints_what_is_recorded(script):
    """Without a warning: pytest makes them errors."""
    recorded = examples.record(script).read_text("utf-8")
    printed = examples.printed(script)
    assert "Warning" not in recorded
    if not VECTORS.fused:
        pytest.skip("The script runs. Other CPUs train to other words: see test_package.py.")
    assert blocks.differences(recorded, printed, blocks.TRAINED) == []


@pytest.mark.slow  # a variant of the test above: all at once, in a process of its own
def test_a_reader_runs_a_script_from_a_folder_beside_the_tables():
    script = examples.EXAMPLES / "gallery" / "shapes.py"
    with examples.working_folder():
        done = subprocess.run(
            [sys.executable, "-W", "error", script],
            capture_output=True,
            text=True,
            env={**os.environ, "MPLBACKEND": "Agg"},
            check=False,
        )
        assert done.stderr == ""
        assert done.returncode == 0
        assert list(Path.cwd().iterdir()) == []
    recorded = examples.record(script).read_text("utf-8").splitlines()
    lines = [line for line in recorded if not line.startswith("# cell")]
    assert len(done.stdout.splitlines()) == len(lines) > 0


@pytest.mark.parametrize("script", examples.SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_a_page(script):
    """A title, and cells that begin with text."""
    text = script.read_text("utf-8")
    assert re.match(r'"""\n(.+)\n(=+)\n\n', text), "no title"
    title, rule = text.splitlines()[1:3]
    assert len(title) == len(rule)
    cells = examples.CELLS.split(text)
    assert len(cells) >= (5 if script.parent.name == "tutorials" else 1)
    assert all(re.match(r"# %%\n# ", cell) for cell in cells[1:])


def test_every_record_has_its_script():
    records = {*examples.EXAMPLES.glob("*/*.txt")}
    assert records == {examples.record(script) for script in examples.SCRIPTS}
