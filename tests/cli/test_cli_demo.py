"""`neuralrules demo`: what it shows and what it leaves."""

import re
import subprocess
import sys

import pandas as pd
from command_line import done, refused
from sklearn import model_selection
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from neuralrules import load
from neuralrules._cli import _demo
from neuralrules._cli._demo import FILES, verdict


def test_the_demo_compares_four_models_on_two_tables_reads_one_and_ships_it(
    tmp_path, monkeypatch
):
    # What is shown does not hang on how many rows and folds there are.
    few = _demo.rotated_xor(300)
    monkeypatch.setattr(_demo, "rotated_xor", lambda: few)
    monkeypatch.setattr(
        model_selection, "StratifiedKFold", lambda _, **more: StratifiedKFold(2, **more)
    )
    folder = tmp_path / "tour"
    shown = done("demo", "-o", folder).out
    for model in ("neural rules", "random forest", "gradient boosting", "MLP(100)"):
        assert len(re.findall(rf"^  {re.escape(model)} .* %", shown, re.MULTILINE)) == 2
    assert len(re.findall(r"Of the four, neural rules have the ", shown)) == 2
    assert len(re.findall(r"^Rule \d+: value", shown, re.MULTILINE)) >= 8
    fewer = re.search(r"Simplified from (\d+) to (\d+) parameters", shown)
    assert int(fewer[2]) < 0.5 * int(fewer[1])
    assert re.search(r"Row 0: \w+ \([\d.]+ %\), decision", shown)
    unfolded = " ".join(shown.split())
    assert re.search(r"turns the prediction from \w+ into \w+\. Cost [\d.]+ \(proven", unfolded)
    told, _, files = shown.partition(f"Ready to ship, in the folder {folder}:")
    assert max(map(len, told.splitlines())) <= 96
    assert [path.name for path in sorted(folder.iterdir())] == sorted(FILES)
    for name, what in FILES.items():
        assert re.search(rf"^  {re.escape(name)} .* {re.escape(what)}$", files, re.MULTILINE)

    # What was shipped goes on without the demo.
    model, table = folder / "breast_cancer.nrules", folder / "breast_cancer.csv"
    X = load_breast_cancer(as_frame=True).data
    for condition in re.findall(r"(?m)^  (?:now|and)   (.*[<>].*)$", load(model).rules_text()):
        holds = X.eval(condition.replace('"', "`").replace("·", "*"))
        assert 0 < holds.sum() < len(X), condition  # it tells rows apart
    scores = pd.read_csv(folder / "scores.csv")
    assert (scores["prediction"] == load(model).predict(X)).all()
    assert done("predict", model, table, "--proba").out == (folder / "scores.csv").read_text()
    assert done("evaluate", model, table, "--json").record["metrics"]["accuracy"] > 0.95
    assert (folder / "breast_cancer.html").stat().st_size > 50_000
    row = X.iloc[0].to_dict()
    script = f"import breast_cancer; print(breast_cancer.predict({row}))"
    alone = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append('.'); {script}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert alone.stdout == f"{scores['prediction'][0]}\n"


def test_the_verdict_is_that_of_the_numbers_shown():
    def scores(loss, error, size):
        others = {"error": 0.04, "log_loss": 0.1, "n_parameters": 4000}
        ours = {"error": error, "log_loss": loss, "n_parameters": size}
        return {
            "neural rules": ours,
            "random forest": others,
            "gradient boosting": others | {"error": 0.03},
            "MLP(100)": others | {"log_loss": 0.2},
        }

    assert verdict(scores(0.0504, 0.03001, 1000)) == (
        "Of the four, neural rules have the lowest log loss and the lowest error, "
        "and are 4.0 times smaller than the forest."
    )
    assert verdict(scores(0.15, 0.035, 8000)) == (
        "Of the four, neural rules have the third lowest log loss and the second lowest "
        "error, and are 2.0 times larger than the forest."
    )


def test_the_demo_needs_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    assert refused("demo", "-o", tmp_path / "file") == (
        f"--output '{tmp_path}/file' is a file. Give the name of a folder."
    )
