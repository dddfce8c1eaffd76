"""From a table to production, by the command line alone, on a real table with holes.

The path of docs/shipping.md, for classes and for numbers: each score that comes out at an
end, from whatever engine, is compared with the others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from tests.databases import DIALECTS, connected

EXAMPLES = Path(__file__).parents[1] / "examples"
COMMAND = Path(sys.executable).parent / "neuralrules"
SCORE_IN_PYTHON = """
import csv, json, sys
import model
rows = csv.DictReader(open("new.csv", newline=""))
def cell(name, text):
    if text == "":
        return None
    return text if name in ("island", "sex", "species") else float(text)
rows = [{name: cell(name, text) for name, text in row.items() if name != "id"} for row in rows]
function = getattr(model, "predict_proba", model.predict)
json.dump([function(row) for row in rows], sys.stdout)
"""
SCORE_A_LOADED_MODEL = """
import sys
import numpy, pandas, neuralrules
model = neuralrules.load("small.nrules")
X = pandas.read_csv("new.csv")[list(model.feature_names_in_)]
numpy.save("loaded.npy", getattr(model, "predict_proba", model.predict)(X))
"""


@pytest.fixture(scope="module", params=["species", "body_mass_g"])
def folder(request, tmp_path_factory) -> Path:
    """A folder with everything that the command line made of the table."""
    folder = tmp_path_factory.mktemp(request.param)
    target = request.param
    train, new = (
        pd.read_csv(EXAMPLES / name, dtype=str).dropna(subset=target)
        for name in ("penguins.csv", "penguins_new.csv")
    )
    # What training has not seen: an island, and holes where there were none.
    new.iloc[3, new.columns.get_loc("island")] = "Ross"
    new.iloc[4, new.columns.get_loc("island")] = None
    new.iloc[5, new.columns.get_loc("year")] = None
    train.to_csv(folder / "train.csv.gz", index=False)
    new.to_csv(folder / "new.csv", index=False)

    def run(*arguments: str) -> str:
        result = subprocess.run(
            [COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    options = ("--target", target, "--drop", "id", "--max-depth", "3", "--json")
    fitted = json.loads(run("fit", "train.csv.gz", *options, "-o", "model.nrules"))
    assert fitted["estimator"] == (
        "NeuralRuleClassifier" if target == "species" else "NeuralRuleRegressor"
    )
    run("simplify", "model.nrules", "train.csv.gz", "-o", "small.nrules")
    (folder / "evaluation.json").write_text(
        run("evaluate", "small.nrules", "new.csv", "--json")
    )
    assert "Rule 0" in run("rules", "small.nrules")
    assert run("explain", "small.nrules", "new.csv", "--row", "4").startswith("Row 4: ")
    run("report", "small.nrules", "new.csv", "-o", "report.html")
    assert "<html" in (folder / "report.html").read_text()[:200]
    proba = ("--proba",) if target == "species" else ()
    run("predict", "small.nrules", "new.csv", "--id", "id", *proba, "-o", "scored.csv")
    run("export", "small.nrules", "--format", "onnx", "-o", "model.onnx")
    run("export", "small.nrules", "--format", "python", "-o", "model.py")
    for dialect in DIALECTS:
        table = ("--table", "new birds", "--id", "id", "--dialect", dialect)
        run("export", "small.nrules", "--format", "sql", *table, "-o", f"{dialect}.sql")
    return folder


def scores(frame: pd.DataFrame) -> np.ndarray:
    """Probabilities if there are any, else predictions."""
    probabilities = frame.filter(like="probability_")
    return (probabilities if probabilities.shape[1] else frame["prediction"]).to_numpy(float)


@pytest.fixture(scope="module")
def expected(folder) -> np.ndarray:
    """What `neuralrules predict` wrote."""
    return scores(pd.read_csv(folder / "scored.csv"))


def agree(found: np.ndarray, expected: np.ndarray) -> None:
    spread = 1.0 if expected.ndim == 2 else expected.std()
    np.testing.assert_allclose(found / spread, expected / spread, rtol=0, atol=1e-5)


def test_it_keeps_the_ids_and_is_good(folder, expected):
    scored_rows = pd.read_csv(folder / "scored.csv")
    new = pd.read_csv(folder / "new.csv")
    assert scored_rows["id"].tolist() == new["id"].tolist()
    metrics = json.loads((folder / "evaluation.json").read_text())["metrics"]
    if expected.ndim == 2:
        right = (scored_rows["prediction"] == new["species"]).mean()
        assert metrics["accuracy"] == pytest.approx(right)
        assert right > 0.95
    else:
        assert metrics["R²"] > 0.8


def test_a_loaded_model_in_a_new_process(folder, expected):
    subprocess.run([sys.executable, "-c", SCORE_A_LOADED_MODEL], cwd=folder, check=True)
    assert (np.load(folder / "loaded.npy") == expected).all()


def test_onnx(folder, expected):
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    table = pd.read_csv(folder / "new.csv")
    cells = {
        entry.name: table[[entry.name]].fillna("").to_numpy(object)
        if entry.type == "tensor(string)"
        else table[[entry.name]].to_numpy(np.float64)
        for entry in session.get_inputs()
    }
    output = "probabilities" if expected.ndim == 2 else "prediction"
    agree(session.run([output], cells)[0], expected)


def test_plain_python(folder, expected):
    result = subprocess.run(
        [sys.executable, "-S", "-c", SCORE_IN_PYTHON],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = json.loads(result.stdout)
    found = [list(row.values()) if isinstance(row, dict) else row for row in rows]
    agree(np.array(found), expected)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql(dialect, folder, expected):
    table = pd.read_csv(folder / "new.csv")
    with connected(dialect) as database:
        database.write("new birds", table)
        result = database.read((folder / f"{dialect}.sql").read_text())
    result = result.set_index("id").loc[table["id"]]
    agree(scores(result), expected)
