"""Install the built wheel alone into fresh environments and fit a model there.

Once with the newest versions and no extras, once with the lowest versions that are
declared and the extras. It finds a dependency that is used but not declared, a file
missing from the wheel and a lower bound that is too low. Not a pytest module: it takes
its own minutes, and `make test-slow` runs it by itself.

With a folder, as `make release-check` gives one, it leaves there what is to be published:
wheel and source archive, after twine's check, and both installed as users do.
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
import sys
from importlib.resources import files
import numpy as np
import sklearn
from neuralrules import NeuralRuleClassifierCV, NeuralRuleRegressor, load, read_rules

assert "numba" not in sys.modules and "matplotlib" not in sys.modules
assert files("neuralrules").joinpath("py.typed").is_file()
rng = np.random.RandomState(0)
X = rng.randn(300, 4)
X[::9, 3] = np.nan
y = X[:, 0] * X[:, 1]
model = NeuralRuleClassifierCV(cv=3, random_state=0).fit(X, y > 0)
assert model.score(X, y > 0) > 0.9
assert NeuralRuleRegressor(n_jobs=2, random_state=0).fit(X, y).score(X, y) > 0.8
assert model.rules_text().startswith("Every row starts at ")
smaller = model.simplify(X, y > 0)
assert (read_rules(smaller.exact_text()).predict(X) == smaller.predict(X)).mean() > 0.99
assert "decision" in str(smaller.explain(X[:2]))
assert smaller.counterfactual(X[0]).found
model.save("model.nrules")
assert (load("model.nrules").predict_proba(X) == model.predict_proba(X)).all()
scope = {}
exec(smaller.to_python(), scope)
assert scope["predict"](dict(x0=1.0, x1=2.0, x2=0.0, x3=None)) in (True, False)
assert "LEAST" in smaller.to_sql("table")
print("  fits with NumPy", np.__version__, "and scikit-learn", sklearn.__version__)
"""
WITHOUT_EXTRAS = """
from neuralrules.plot import HistoryDisplay
for attempt, extra in (
    (lambda: model.rules_table(), "frames"),
    (lambda: HistoryDisplay.from_estimator(model), "plots"),
    (lambda: model.report("model.html"), "report"),
    (lambda: model.to_onnx(), "onnx"),
):
    try:
        attempt()
    except ImportError as error:
        assert f'pip install "neuralrules[{extra}]"' in str(error), error
    else:
        raise AssertionError(extra)
import subprocess
command = subprocess.run([sys.executable, "-m", "neuralrules"], capture_output=True, text=True)
assert command.returncode == 1
assert 'pip install "neuralrules[cli]"' in command.stderr and "Traceback" not in command.stderr
"""
WITH_EXTRAS = """
import matplotlib
from neuralrules.plot import HistoryDisplay
matplotlib.use("Agg")
assert len(model.rules_table()) == model.network_.n_rules
HistoryDisplay.from_estimator(model).figure_.savefig("history.png")
assert model.report("model.html", X, y > 0).stat().st_size > 10_000
assert len(model.to_onnx().SerializeToString()) > 1000
import contextlib, os, subprocess
from pathlib import Path
import pandas as pd
from neuralrules._cli import main
subprocess.run([Path(sys.executable).parent / "neuralrules", "--version"], check=True)
frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 0, "u", "v"), y=y > 0)
frame["id"] = range(len(frame))
for name in ("t.csv", "t.csv.gz", "t.parquet"):
    table = frame.to_parquet(name) if "parquet" in name else frame.to_csv(name, index=False)
    for arguments in (
        f"fit {name} --target y --drop id --n-epochs 5 -o m.nrules --quiet",
        f"evaluate m.nrules {name} --quiet",
        f"predict m.nrules {name} --id id --proba -o out-{name} --quiet",
    ):
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            assert main(arguments.split()) == 0, arguments
# Not by pandas, which hands pyarrow a file of Python: a thread of pyarrow 19 may let go of it
# when Python has ended, and aborts the process (apache/arrow issue 34314).
import pyarrow.parquet as pq
assert pq.read_table("out-t.parquet")["id"].to_pylist() == frame["id"].to_list()
"""


def lowest() -> list[str]:
    """The declared dependencies, and those of the extra `all`, at their lower bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = project["optional-dependencies"]
    (everything,) = map(Requirement, groups["all"])
    extras = [one for name in everything.extras for one in groups[name]]
    requirements = {*project["dependencies"], *extras}
    return sorted(requirement.replace(">=", "==") for requirement in requirements)


def check(name: str, requirements: list[str], script: str) -> None:
    print(f"clean install of the {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        command = [python, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run(
            [*command, "install", "--quiet", "--no-compile", *requirements], check=True
        )
        subprocess.run([*command, "check"], check=True)
        subprocess.run([python, "-c", SCRIPT + script], check=True, cwd=folder)


def build(folder: Path) -> tuple[str, str]:
    """The wheel, made of the source archive, and that."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    (wheel,), (archive,) = folder.glob("neuralrules-*.whl"), folder.glob("neuralrules-*.tar.gz")
    return str(wheel), str(archive)


def check_all(folder: Path, *, release: bool) -> None:
    wheel, archive = build(folder)
    checks = [
        ("wheel with the newest dependencies and no extras", [wheel], WITHOUT_EXTRAS),
        ("wheel with the lowest ones and extras", [wheel, *lowest()], WITH_EXTRAS),
    ]
    if release:
        twine = [sys.executable, "-m", "twine", "check", "--strict"]
        subprocess.run([*twine, wheel, archive], check=True)
        checks += [
            ("wheel with the newest ones and all extras", [f"{wheel}[all]"], WITH_EXTRAS),
            ("source archive", [archive], WITHOUT_EXTRAS),
        ]
    with ThreadPoolExecutor(max_workers=2) as two:
        for one in [two.submit(check, *arguments) for arguments in checks]:
            one.result()


def main() -> None:
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            check_all(Path(folder), release=False)
    else:
        folder = Path(sys.argv[1])
        shutil.rmtree(folder, ignore_errors=True)  # of what was built before
        check_all(folder, release=True)


if __name__ == "__main__":
    main()
