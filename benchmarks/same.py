"""Are the results of two versions of the code equal to the bit?

    python -m benchmarks.same record before.json     # on the code before a change
    python -m benchmarks.same compare before.json    # on the code after it

The first command fits every case below and writes fingerprints of all answers of the model:
its scores, the scores of the saved file, of SQL, of ONNX and of the Python module, and its
texts. The second command fits every case again and lists the differences. Both commands must
run on one machine, because another processor may round differently.

A change that only moves code keeps every fingerprint. A change of words may change only `text`.
`compare` lists such differences apart and does not count them as failures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
    load,
    read_rules,
)
from neuralrules._estimators._candidates import default_candidates

SCORED_ROWS = 200  # rows of each table that every export scores
QUICK: dict[str, Any] = {"random_state": 0, "n_epochs": 12, "n_trees": 4, "max_depth": 3}
WORDS = "text"  # the fingerprint that may change with the English


def applicants(n_rows: int = 900) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of numbers, a flag, dates and text, with some missing cells; two classes."""
    rng = np.random.RandomState(1)
    frame = pd.DataFrame(
        {
            "late": rng.poisson(0.8, n_rows).astype(float),
            "income": rng.lognormal(10, 0.6, n_rows).round(2),
            "debt": rng.beta(2, 3, n_rows),
            "owner": rng.rand(n_rows) > 0.4,
            "opened": np.datetime64("2012-01-01")
            + rng.randint(0, 4000, n_rows).astype("timedelta64[D]"),
            "region": rng.choice(["north", "south", "east"], n_rows).astype(object),
            "branch": [f"b{code}" for code in np.minimum(rng.geometric(0.05, n_rows), 70)],
        }
    )
    odds = frame["late"] + 4 * frame["debt"] - 2 + (frame["region"] == "east") - frame["owner"]
    y = np.where(rng.rand(n_rows) < 1 / (1 + np.exp(-odds)), "bad", "good")
    frame.loc[::9, "late"] = np.nan
    frame.loc[::10, "income"] = np.nan
    frame.loc[::11, "opened"] = pd.NaT
    frame.loc[::13, "region"] = None
    return frame, y


def amounts() -> tuple[pd.DataFrame, np.ndarray]:
    frame, y = applicants()
    noise = np.random.RandomState(2).randn(len(frame))
    return frame, 3000 + 900 * (y == "bad") + 2000 * frame["debt"].to_numpy() + 100 * noise


def grades() -> tuple[pd.DataFrame, np.ndarray]:
    frame, y = applicants()
    high = (frame["debt"] > 0.5).to_numpy()
    return frame, np.where(y == "good", "A", np.where(high, "C", "B"))


def claims() -> tuple[pd.DataFrame, np.ndarray]:
    frame, _ = applicants()
    rate = np.exp(frame["debt"] * 2 - 1 + 0.3 * frame["late"].fillna(0))
    return frame, np.random.RandomState(3).poisson(rate)


def two_amounts() -> tuple[pd.DataFrame, np.ndarray]:
    frame, y = amounts()
    return frame, np.column_stack([y, 40 - frame["debt"] * 30])


def cancer() -> tuple[np.ndarray, np.ndarray]:
    return load_breast_cancer(return_X_y=True)


def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    return load_diabetes(return_X_y=True)


def fitted(estimator: Callable[..., Any], table: Callable[[], Any], **options: Any) -> Any:
    X, y = table()
    return estimator(**(QUICK | options)).fit(X, y), X


def weighted(table: Callable[[], Any], **options: Any) -> Any:
    X, y = table()
    weights = np.random.RandomState(4).randint(0, 4, len(y)).astype(float)
    return NeuralRuleClassifier(**(QUICK | options)).fit(X, y, weights), X


def in_parts(estimator: Callable[..., Any], table: Callable[[], Any]) -> Any:
    X, y = table()
    model = estimator(**QUICK)
    extra = {"classes": np.unique(y)} if hasattr(model, "predict_proba") else {}
    for start in (0, 300, 600):
        model.partial_fit(X[start : start + 300], y[start : start + 300], **extra)
    return model, X


def trained_again(table: Callable[[], Any]) -> Any:
    X, y = table()
    model = NeuralRuleClassifier(**QUICK, warm_start=True).fit(X, y)
    return model.fit(X, y), X


def simplified(estimator: Callable[..., Any], table: Callable[[], Any], **options: Any) -> Any:
    X, y = table()
    model = estimator(**QUICK).fit(X, y)
    return model.simplify(X, y, **options), X


def changed(change: Callable[[Any, Any, Any], Any], table: Callable[[], Any]) -> Any:
    X, y = table()
    model = NeuralRuleClassifier(**QUICK).fit(X, y)
    return change(model, X, y), X


def from_parquet(n_files: int, estimator: Callable[..., Any], table: Callable[[], Any]) -> Any:
    X, y = table()
    with tempfile.TemporaryDirectory() as folder:
        for place, rows in enumerate(np.array_split(np.arange(len(X)), n_files)):
            part = X.iloc[rows].assign(target=y[rows])
            part.to_parquet(Path(folder) / f"part{place}.parquet")
        model = estimator(**QUICK).fit(folder, "target")
    return model, X


def from_ray(table: Callable[[], Any]) -> Any:
    import ray

    from neuralrules.ray import fit

    X, y = table()
    with tempfile.TemporaryDirectory() as folder:
        X.assign(target=y).to_parquet(Path(folder) / "rows.parquet")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            dataset = ray.data.read_parquet(str(Path(folder) / "rows.parquet"))
            model = fit(NeuralRuleClassifier(**QUICK), dataset, target="target")
        finally:
            ray.shutdown()
    return model, X


def by_command(*options: str, max_depth: int | None = 3) -> Any:
    from neuralrules._cli import main

    X, y = applicants()
    with tempfile.TemporaryDirectory() as folder:
        table, file = Path(folder) / "table.csv", Path(folder) / "model.nrules"
        X.assign(target=y).to_csv(table, index=False)
        quick = ["--n-epochs", "12", "--n-trees", "4", "--quiet"]
        if max_depth is not None:
            quick += ["--max-depth", str(max_depth)]
        done = main(
            ["fit", str(table), "--target", "target", "-o", str(file), *quick, *options]
        )
        assert done == 0, options
        return load(file), X


CLASSES = partial(fitted, NeuralRuleClassifier)
NUMBERS = partial(fitted, NeuralRuleRegressor)
SEARCH: dict[str, Any] = {"candidates": [{}, {"max_depth": 2}], "cv": 2, "n_epochs": 8}
EXPERT = ["late > 2 and debt > 0.6", "region = east and opened < 2016-01-01"]
FREE = [f"free: {rule}" for rule in EXPERT]

CASES: dict[str, Callable[[], Any]] = {
    **{
        f"default, {table.__name__}": partial(CLASSES, table)
        for table in (cancer, iris, applicants, grades)
    },
    **{
        f"default, {table.__name__}": partial(NUMBERS, table)
        for table in (diabetes, amounts, two_amounts)
    },
    **{
        f"{loss}, {table.__name__}": partial(CLASSES, table, loss=loss)
        for loss in ("hinge", "squared")
        for table in (applicants, grades)
    },
    "huber": partial(NUMBERS, amounts, loss="huber"),
    "poisson": partial(NUMBERS, claims, loss="poisson"),
    "paper, classes": partial(fitted, NeuralRuleClassifier.paper, cancer),
    "paper, text": partial(fitted, NeuralRuleClassifier.paper, applicants),
    "paper, numbers": partial(fitted, NeuralRuleRegressor.paper, diabetes),
    **{
        f"source {source}, {table.__name__}": partial(CLASSES, table, rule_source=source)
        for source in ("tree", "forest")
        for table in (cancer, grades)
    },
    "source tree, numbers": partial(NUMBERS, amounts, rule_source="tree"),
    "leaf start": partial(CLASSES, applicants, start="leaf"),
    "leaf start, numbers": partial(NUMBERS, two_amounts, start="leaf"),
    "deep": partial(CLASSES, applicants, deep=True),
    "deep, three classes, leaf": partial(CLASSES, grades, deep=True, start="leaf"),
    "deep, numbers": partial(NUMBERS, amounts, deep=True),
    "own columns": partial(CLASSES, applicants, literal_columns="own"),
    "tree columns": partial(CLASSES, applicants, literal_columns="tree"),
    "quantiles": partial(CLASSES, applicants, scaling="quantile"),
    "quantiles, numbers": partial(NUMBERS, amounts, scaling="quantile"),
    "max_rules": partial(CLASSES, applicants, max_rules=6),
    "max_terms": partial(CLASSES, applicants, max_rules=8, max_terms=1),
    "max_literals": partial(CLASSES, applicants, max_depth=2),
    "no intercept": partial(CLASSES, applicants, fit_intercept=False),
    "no dropout, constant rate": partial(
        CLASSES, applicants, rule_dropout=0.0, schedule="constant"
    ),
    "no early stopping": partial(CLASSES, applicants, early_stopping=False),
    "whole batch": partial(CLASSES, iris, batch_size=150, early_stopping=False),
    "balanced": partial(CLASSES, grades, class_weight="balanced"),
    "class weights": partial(CLASSES, applicants, class_weight={"bad": 3.0, "good": 1.0}),
    "row weights": partial(weighted, applicants),
    "row weights, quantiles, tree": partial(
        weighted, applicants, scaling="quantile", rule_source="tree"
    ),
    "expert rules": partial(CLASSES, applicants, expert_rules=FREE),
    "expert rules frozen": partial(CLASSES, applicants, expert_rules=EXPERT),
    "expert rules alone": partial(CLASSES, applicants, expert_rules=FREE, rule_source="expert"),
    "monotone": partial(CLASSES, applicants, monotone={"late": -1, "debt": -1}),
    "monotone, one class": partial(CLASSES, grades, monotone={"debt": {"C": 1}}),
    "monotone, numbers": partial(NUMBERS, amounts, monotone={"debt": 1, "opened": -1}),
    "interactions": partial(CLASSES, applicants, interactions=[["late", "debt"]]),
    "exclude": partial(CLASSES, applicants, exclude=["region", "opened"]),
    "numpy engine": partial(CLASSES, applicants, engine="numpy", n_epochs=3),
    "torch engine": partial(CLASSES, applicants, engine="torch", n_epochs=3),
    "torch engine, numbers": partial(NUMBERS, claims, engine="torch", loss="poisson"),
    "two threads": partial(CLASSES, cancer, n_jobs=2),
    "no epochs": partial(CLASSES, applicants, n_epochs=0),
    "warm start": partial(trained_again, applicants),
    "partial fit": partial(in_parts, NeuralRuleClassifier, applicants),
    "partial fit, numbers": partial(in_parts, NeuralRuleRegressor, amounts),
    "search, mean": partial(fitted, NeuralRuleClassifierCV, applicants, **SEARCH),
    "search, single": partial(fitted, NeuralRuleClassifierCV, grades, refit="single", **SEARCH),
    "search, numbers": partial(fitted, NeuralRuleRegressorCV, two_amounts, **SEARCH),
    "search, few rules": partial(
        fitted, NeuralRuleClassifierCV, applicants, max_rules=6, scoring="roc_auc", **SEARCH
    ),
    "search, own candidates": partial(
        fitted,
        NeuralRuleClassifierCV,
        iris,
        candidates=[{"max_depth": 3}, *default_candidates(None, 3)[1:]],
        cv=2,
        n_trees=1,
        n_epochs=3,
    ),
    "search, default candidates": partial(
        fitted, NeuralRuleClassifierCV, iris, cv=2, n_trees=1, n_epochs=3, max_depth=None
    ),
    "simplify": partial(simplified, NeuralRuleClassifier, applicants),
    "simplify, tolerance": partial(simplified, NeuralRuleClassifier, grades, tolerance=0.1),
    "simplify, numbers": partial(simplified, NeuralRuleRegressor, amounts, tolerance=0.05),
    "edit": partial(
        changed,
        lambda model, X, y: model.edit(
            drop=[0], replace={2: "late > 3"}, values={1: 0.5}, freeze=[3]
        ),
        applicants,
    ),
    "refit": partial(changed, lambda model, X, y: model.refit(X, y), applicants),
    "round numbers": partial(
        changed, lambda model, X, y: model.round_numbers(X, y).model, applicants
    ),
    "read from text": partial(
        changed, lambda model, X, y: read_rules(model.exact_text(), estimator=True), applicants
    ),
    "one Parquet file": partial(from_parquet, 1, NeuralRuleClassifier, applicants),
    "Parquet files": partial(from_parquet, 3, NeuralRuleClassifier, grades),
    "Parquet files, numbers": partial(from_parquet, 2, NeuralRuleRegressor, amounts),
    "command": partial(by_command),
    "command, search of default candidates": partial(by_command, "--cv", max_depth=None),
    "command, missing": partial(by_command, "--missing", "north", "--missing", "0"),
    "Ray": partial(from_ray, applicants),
}


def answers(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    """All answers of a model about some rows, each with the way in which it was computed."""
    rows = X[:SCORED_ROWS]
    yield "scores", scores(model, X)
    with tempfile.TemporaryDirectory() as folder:
        yield "file", scores(load(model.save(Path(folder) / "model.nrules")), X)
    yield "sql", in_sqlite(model, rows)
    yield "onnx", in_onnxruntime(model, rows)
    yield "python", in_python(model, rows)
    yield WORDS, [model.rules_text(), model.exact_text()]


def scores(model: Any, X: Any) -> list[Any]:
    asked = [
        name
        for name in ("predict", "predict_proba", "decision_function")
        if hasattr(model, name)
    ]
    return [np.asarray(getattr(model, name)(X)) for name in asked]


def in_sqlite(model: Any, rows: Any) -> list[Any]:
    frame = pd.DataFrame(rows, columns=model.encoder_.names).copy()
    for name in frame.select_dtypes("datetime"):
        frame[name] = frame[name].dt.strftime("%Y-%m-%d")
    connection = sqlite3.connect(":memory:")
    frame.to_sql("t", connection, index=False)
    found = connection.execute(model.to_sql("t", dialect="sqlite")).fetchall()
    connection.close()
    return found


def in_onnxruntime(model: Any, rows: Any) -> list[Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    if isinstance(rows, np.ndarray):
        fed = {session.get_inputs()[0].name: rows.astype(float)}
    else:
        fed = {one.name: as_input(rows[one.name], one.type) for one in session.get_inputs()}
    return [np.asarray(answer) for answer in session.run(None, fed)]


def as_input(column: Any, kind: str) -> np.ndarray:
    if "string" in kind:
        cells = ["" if pd.isna(cell) else str(cell) for cell in column]
        return np.array(cells, object)[:, None]
    if column.dtype.kind == "M":
        days = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        return days.to_numpy()[:, None]
    return column.to_numpy(dtype=float)[:, None]


def in_python(model: Any, rows: Any) -> list[Any]:
    module: dict[str, Any] = {}
    exec(model.to_python(), module)
    frame = pd.DataFrame(rows, columns=model.encoder_.names).astype(object)
    records = frame.where(frame.notna(), None).to_dict("records")
    return [[module["predict"](row), module["decision"](row)] for row in records]


def fingerprint(answer: Any) -> str:
    """A short text that changes if a single bit of an answer changes."""
    found = hashlib.sha256()
    for part in answer:
        if isinstance(part, np.ndarray) and part.dtype != object:
            found.update(f"{part.dtype} {part.shape}".encode() + part.tobytes())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()[:16]


def run(case: Callable[[], Any]) -> dict[str, str]:
    """The fingerprints of a case, or the error that ended it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return {name: fingerprint(answer) for name, answer in answers(*case())}
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


def run_all(wanted: str) -> dict[str, dict[str, str]]:
    found = {}
    for name, case in CASES.items():
        if wanted in name:
            print(name, flush=True)
            found[name] = run(case)
    return found


def compare(before: dict[str, Any], after: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The results that differ, and the results of which only the words differ."""
    results, words = [], []
    for name, new in after.items():
        old = before.get(name, {})
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                (words if key == WORDS else results).append(f"{name}: {key}")
    return results, words


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    options = parser.parse_args()
    found = run_all(options.only)
    failed = [f"{name}: {own['error']}" for name, own in found.items() if "error" in own]
    if options.action == "record":
        options.file.write_text(json.dumps(found, indent=1))
        print(f"{len(found)} cases in {options.file}.", *failed, sep="\n")
        return bool(failed)
    results, words = compare(json.loads(options.file.read_text()), found)
    print(
        f"{len(found)} cases.",
        "Not the same:" if results else "All the same.",
        *results,
        sep="\n",
    )
    if words:
        print("Other words:", *words, sep="\n")
    return bool(results)


if __name__ == "__main__":
    sys.exit(main())
