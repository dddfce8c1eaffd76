"""Models that look at usual outcomes of text values, for tests of what prints a formula."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._data._columns import Usual

ODD = ["it's", 'a "b" [c]', "Ünï 数字 🙂", "back\\slash", "%s $1 {x}", " ", "a\nb", "007", "7"]
ODD += ["1.5", "2020-03-04", "1e5", "Oslo", "OSLO", "Oslo ", "True", "usual", "</script>"]
UNSEEN = ["Atlantis", "oslo", "", "NA", "7.0", "07", "1.50", "2020-03-04 00:00:00", "100000.0"]


def texts_table(n_values: int = 90, n_rows: int = 1500) -> tuple[pd.DataFrame, np.ndarray]:
    """Texts with an effect of their own each, another column of texts, numbers, and holes."""
    rng = np.random.RandomState(0)
    texts = [*ODD, "unknown", *(f"town {i}" for i in range(n_values - len(ODD) - 1))]
    own = rng.permutation(len(texts)) / len(texts)
    place = np.minimum(rng.geometric(4 / n_values, n_rows) - 1, len(texts) - 1)
    place[: 2 * len(texts)] = np.tile(np.arange(len(texts)), 2)[:n_rows]
    frame = pd.DataFrame(
        {
            "city": np.array(texts, object)[place],
            "code": [f"{code:02d}" for code in rng.randint(0, 20, n_rows)],
            "income": rng.lognormal(10, 0.5, n_rows).round(-2),
        }
    )
    y = 5 * own[place] + (frame["code"] > "14") + frame["income"] / 1e5
    frame.loc[::31, "city"] = None
    return frame, y.to_numpy()


def classes(y: np.ndarray, labels: list[str]) -> np.ndarray:
    """Classes of about the same size, by the size of numbers."""
    ends = np.quantile(y, np.arange(1, len(labels)) / len(labels))
    return np.array(labels)[np.searchsorted(ends, y)]


TASKS = {
    "two classes": lambda y: classes(y, ["bad", "good"]),
    "three classes": lambda y: classes(y, ["low", "it's", "high"]),
    "number": lambda y: y,
    "two numbers": lambda y: np.stack([y, 1e9 - 3 * y], axis=1),
    "far number": lambda y: 1e9 + y,
}


@cache
def fitted_on_texts(task: str, deep: bool = False, n_values: int = 90, n_rows: int = 1500):
    """A model that uses the usual outcomes of "city", and its table."""
    X, y = texts_table(n_values, n_rows)
    targets = TASKS[task](y)
    estimator = NeuralRuleClassifier if targets.dtype.kind == "U" else NeuralRuleRegressor
    model = estimator(
        max_depth=3, n_trees=3, deep=deep, n_epochs=5, missing="unknown", random_state=0
    ).fit(X, targets)
    used = [model.encoder_.columns[feature] for feature in model.network_.features]
    assert any(isinstance(column, Usual) and column.source == 0 for column in used)
    return model, X


def rows_of(X: pd.DataFrame, n_rows: int = 200) -> pd.DataFrame:
    """Every text of the table, texts that training did not have, and holes."""
    texts = [*X["city"].dropna().unique(), *UNSEEN, None, "unknown"]
    n_rows = max(n_rows, len(texts))
    rng = np.random.RandomState(1)
    rows = X.sample(n_rows, replace=True, random_state=1, ignore_index=True)
    rows["city"] = np.resize(np.array(texts, object), n_rows)
    rows["code"] = rows["code"].where(rng.rand(n_rows) < 0.7, rng.choice(["7", "99", None]))
    rows["income"] = rows["income"].where(rng.rand(n_rows) < 0.9)
    return rows


def network_outputs(model, X):
    """Probabilities, or numbers (n_rows, n_targets) in deviations of the targets."""
    if hasattr(model, "classes_"):
        return model.predict_proba(X)
    task = model.fitted_.task
    return (model.predict(X).reshape(len(X), -1) - task.centre) / task.scale
