"""Default fits of growing tables, beside boosted trees.

    python -m benchmarks.growing [--rows 10000 100000 1000000] [--write]

fits 20 generated columns in memory with the defaults of our models, LightGBM, XGBoost and
CatBoost, one after the other on two threads. It measures the seconds of each fit and the loss
on other rows. On the longest table, our models are also fitted with up to 300 epochs, and with
trees that grow from all rows instead of at most 200,000. --write puts the results into
docs/growing.json and docs/speed.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from unittest import mock

import numpy as np
from sklearn.metrics import log_loss, mean_squared_error

from benchmarks.growing_page import render
from benchmarks.pages import DOCS, environment
from benchmarks.speed_page import write_speed
from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._rules import _sources

KINDS = ("two classes", "one in forty", "numbers")
TEST_ROWS = 100_000
OTHERS = {
    "LightGBM": ("lightgbm", "LGBMClassifier", {"n_jobs": 2, "verbose": -1}),
    "XGBoost": ("xgboost", "XGBClassifier", {"n_jobs": 2}),
    "CatBoost": (
        "catboost",
        "CatBoostClassifier",
        {"thread_count": 2, "verbose": 0, "allow_writing_files": False},
    ),
}


def table(kind: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Generated rows and their targets. Half of the 20 columns have long tails."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = rng.normal(size=(n_rows, 20)).astype(np.float32)
    X[:, 10:] = np.exp(X[:, 10:])
    if kind == "two classes":
        score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) * (X[:, 4] > 0)
        score += 0.5 * X[:, 6] * X[:, 7] * X[:, 8] - np.sin(2 * X[:, 5])
        return X, (score + rng.logistic(size=n_rows) > 0.5).astype(int)
    if kind == "one in forty":
        score = 2 * np.maximum(X[:, 0], X[:, 1]) + 2 * np.log(X[:, 10]) * (X[:, 2] > 0)
        score += X[:, 3] + np.minimum(X[:, 11], 3)
        return X, (score + 0.3 * rng.logistic(size=n_rows) > 7.5).astype(int)
    y = 10 * np.sin(X[:, 0] * X[:, 1]) + 5 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    y += 5 * np.log(X[:, 10]) * (X[:, 4] > 0) + 3 * rng.normal(size=n_rows)
    return X, y


def fit_record(kind: str, n_rows: int, name: str, model: object) -> dict:
    """Seconds of a fit in memory, and its loss on other rows."""
    X, y = table(kind, n_rows, 0)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    X, y = table(kind, TEST_ROWS, 1)
    if kind == "numbers":
        loss = mean_squared_error(y, model.predict(X))
    else:
        loss = log_loss(y, model.predict_proba(X))
    record = {"table": kind, "rows": n_rows, "name": name, "seconds": seconds, "loss": loss}
    print(record, file=sys.stderr, flush=True)
    return record


def ours(kind: str, n_epochs: int | str) -> object:
    estimator = NeuralRuleRegressor if kind == "numbers" else NeuralRuleClassifier
    return estimator(n_epochs=n_epochs, random_state=0, n_jobs=2)


def other(kind: str, name: str) -> object:
    package, estimator, parameters = OTHERS[name]
    module = importlib.import_module(package)
    if kind == "numbers":
        estimator = estimator.replace("Classifier", "Regressor")
    return getattr(module, estimator)(**parameters)


def fit_records(sizes: list[int]) -> list[dict]:
    """The records of fits by each library, on each kind and size of table."""
    ours("two classes", 1).fit(*table("two classes", 5000, 0))  # compiles the kernels
    records = []
    for kind in KINDS:
        for n_rows in sizes:
            records.append(fit_record(kind, n_rows, "neuralrules", ours(kind, "auto")))
            for name in OTHERS:
                records.append(fit_record(kind, n_rows, name, other(kind, name)))
        records += variant_records(kind, max(sizes))
    return records


def variant_records(kind: str, n_rows: int) -> list[dict]:
    """Fits to a long table without two savings of the defaults: fewer epochs, fewer rows.

    One fit has up to 300 epochs. In the other fit, the trees grow from all rows.
    """
    more = fit_record(kind, n_rows, "neuralrules, 300 epochs", ours(kind, 300))
    with mock.patch.object(_sources, "MAX_ROWS", n_rows):
        every = fit_record(kind, n_rows, "neuralrules, trees of all rows", ours(kind, "auto"))
    return [more, every]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = [10_000, 100_000, 1_000_000]
    parser.add_argument("--rows", type=int, nargs="+", default=sizes, help="of the tables")
    parser.add_argument("--write", action="store_true", help="update docs/speed.md")
    options = parser.parse_args()
    versions = environment("lightgbm", "xgboost-cpu", "catboost")
    results = {"environment": versions, "fits": fit_records(options.rows)}
    print(render(results))
    if options.write:
        (DOCS / "growing.json").write_text(json.dumps(results, indent=1) + "\n")
        write_speed()


if __name__ == "__main__":
    main()
