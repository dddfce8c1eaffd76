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
from command_line import done
from databases import connected

from neuralrules import load

EXAMPLES = Path(__file__).parents[2] / "examples"
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


def make_tables(folder: Path, target: str) -> pd.DataFrame:
    """Write the tables to learn from and to score; the latter."""
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
    return pd.read_csv(folder / "new.csv")


def scores(frame: pd.DataFrame) -> np.ndarray:
    """Probabilities if there are any, else predictions."""
    probabilities = frame.filter(like="probability_")
    return (probabilities if probabilities.shape[1] else frame["prediction"]).to_numpy(float)


def by_a_loaded_model(table: pd.DataFrame) -> np.ndarray:
    model = load("small.nrules")
    X = table[list(model.feature_names_in_)]
    return getattr(model, "predict_proba", model.predict)(X)


def by_onnx(table: pd.DataFrame) -> np.ndarray:
    done("export", "small.nrules", "--format", "onnx", "-o", "model.onnx")
    session = onnxruntime.InferenceSession("model.onnx")
    cells = {
        entry.name: table[[entry.name]].fillna("").to_numpy(object)
        if entry.type == "tensor(string)"
        else table[[entry.name]].to_numpy(np.float64)
        for entry in session.get_inputs()
    }
    return session.run(None, cells)[-1]


def by_plain_python() -> np.ndarray:
    done("export", "small.nrules", "--format", "python", "-o", "model.py")
    result = subprocess.run(
        [sys.executable, "-S", "-c", SCORE_IN_PYTHON],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = json.loads(result.stdout)
    return np.array([list(row.values()) if isinstance(row, dict) else row for row in rows])


def by_a_database(table: pd.DataFrame, dialect: str) -> np.ndarray:
    options = ("--table", "new birds", "--id", "id", "--dialect", dialect)
    query = done("export", "small.nrules", "--format", "sql", *options).out
    with connected(dialect) as database:
        database.write("new birds", table)
        result = database.read(query)
    return scores(result.set_index("id").loc[table["id"]])


@pytest.mark.parametrize("target", ["species", "body_mass_g"])
def test_every_score_agrees(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_tables(tmp_path, target)
    options = ("--target", target, "--drop", "id", "--max-depth", "3", "--json")
    fitted = done("fit", "train.csv.gz", *options, "-o", "model.nrules").record
    assert fitted["task"] == ("classification" if target == "species" else "regression")
    done("simplify", "model.nrules", "train.csv.gz", "-o", "small.nrules")
    evaluated = done("evaluate", "small.nrules", "new.csv", "--json").record
    assert "Rule 0" in done("rules", "small.nrules").out
    explained = done("explain", "small.nrules", "new.csv", "--row", "4").out
    assert explained.startswith("Row 4: ")
    done("report", "small.nrules", "new.csv", "-o", "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()[:200]

    proba = ("--proba",) if target == "species" else ()
    done("predict", "small.nrules", "new.csv", "--id", "id", *proba, "-o", "scored.csv")
    scored = pd.read_csv(tmp_path / "scored.csv")
    assert scored["id"].tolist() == table["id"].tolist()
    if target == "species":
        right = (scored["prediction"] == table["species"]).mean()
        assert evaluated["metrics"]["accuracy"] == pytest.approx(right)
        assert right > 0.95
    else:
        assert evaluated["metrics"]["R²"] > 0.8

    expected = scores(scored)
    assert (by_a_loaded_model(table) == expected).all()
    others = {
        "ONNX": by_onnx(table),
        "Python": by_plain_python(),
        "DuckDB": by_a_database(table, "duckdb"),
        "SQLite": by_a_database(table, "sqlite"),
        "PostgreSQL": by_a_database(table, "postgresql"),
    }
    spread = 1.0 if target == "species" else expected.std()
    for name, found in others.items():
        np.testing.assert_allclose(
            found / spread, expected / spread, rtol=0, atol=1e-5, err_msg=name
        )
