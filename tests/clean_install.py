"""Build the wheel, install it alone into a fresh environment and fit a model there.

Not a pytest module: it takes its own minute, and `make test` runs it by itself. It
finds a dependency that is used but not declared, and a file missing from the wheel.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
import sys
import numpy as np
import neuralrules
from neuralrules import NeuralRuleClassifierCV, NeuralRuleRegressor
assert "numba" not in sys.modules and "matplotlib" not in sys.modules
rng = np.random.RandomState(0)
X = rng.randn(300, 4)
y = X[:, 0] * X[:, 1]
model = NeuralRuleClassifierCV((2, 4), cv=3, random_state=0).fit(X, y > 0)
assert model.score(X, y > 0) > 0.9
print(NeuralRuleRegressor(4).fit(X, y).score(X, y))
print(model.rules_text().splitlines()[0])
files = {file.name for file in neuralrules.__spec__.loader.get_resource_reader(
    "neuralrules").files().iterdir()}
assert "py.typed" in files, files
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(ROOT)],
            check=True,
        )
        (wheel,) = Path(folder).glob("neuralrules-*.whl")
        venv.create(Path(folder) / "clean", with_pip=True)
        python = str(Path(folder) / "clean" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], check=True)
        subprocess.run([python, "-m", "pip", "check"], check=True)
        subprocess.run([python, "-c", SCRIPT], check=True, cwd=folder)
    print("clean install: passed")


if __name__ == "__main__":
    main()
