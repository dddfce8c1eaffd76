"""What a user writes, as `mypy --strict` sees it: all of it is right."""

from pathlib import Path
from typing import assert_type

import numpy as np

import neuralrules
from neuralrules import (
    ModelFileError,
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    compare,
    load,
    read_rules,
)
from neuralrules.plot import HistoryDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = X[:, 0] > X[:, 1]

assert_type(neuralrules.__version__, str)
model = NeuralRuleClassifier(3, n_epochs=20, monotone={0: 1}, random_state=0)
assert_type(model.fit(X, y), NeuralRuleClassifier)
assert_type(model.partial_fit(X, y).refit(X, y), NeuralRuleClassifier)
assert_type(model.simplify(X, y, tolerance=0.05), NeuralRuleClassifier)
assert_type(NeuralRuleClassifier.paper(4, n_epochs=10), NeuralRuleClassifier)
assert_type(NeuralRuleClassifierCV(cv=3).fit(X, y), NeuralRuleClassifierCV)
assert_type(NeuralRuleRegressor(loss="huber").fit(X, X[:, 0]), NeuralRuleRegressor)

texts: list[str] = [
    model.rules_text(style="sentences", max_rules=3),
    model.exact_text(),
    model.lineage_text(),
    model.to_sql("rows", dialect="duckdb"),
    model.to_python(),
]
probabilities: np.ndarray = model.predict_proba(X)
contributions: np.ndarray = model.explain(X).contributions
found: bool = model.counterfactual(X[0], fixed=[2]).found
n_rules: int = model.network_.n_rules
losses: list[float] = model.history_["loss"]
points: np.ndarray = model.scorecard(base=500).points(X)
card: Path = model.scorecard(X, y).to_html("card.html")
changed: str = str(compare(model, model, X, y))
page: Path = model.report("report.html", X, y, title="A report")
file: Path = model.save(Path("model.nrules"))
rounded = model.round_numbers(X, y, precision="friendly").model
HistoryDisplay.from_estimator(model)
again = read_rules(model.exact_text(), estimator=True)

try:
    again = load(file, max_bytes=10_000_000)
except ModelFileError as error:
    message: str = str(error)
