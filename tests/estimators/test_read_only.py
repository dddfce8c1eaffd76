"""Arrays that nobody may write into: models mapped from files, tables, targets, weights."""

import joblib
import numpy as np
import pytest
from public_api import public_methods
from sklearn.datasets import load_iris

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    compare,
)

X = load_iris().data
CODES = (X[:, 0] * X[:, 1] > 17).astype(int)
NUMBERS = X[:, 0] * X[:, 1]
WEIGHTS = np.random.RandomState(0).uniform(0.5, 2, len(X))
for array in (X, CODES, NUMBERS, WEIGHTS):
    array.setflags(write=False)
SMALL = {"n_trees": 4, "n_epochs": 5, "random_state": 0}
WEIGHTED = {"sample_weight": WEIGHTS}
# What every public method is given, beside the model; a path lies in an empty folder.
CALLS = {
    "check_monotone": lambda model, folder: model.check_monotone({0: 1}),
    "counterfactual": lambda model, folder: model.counterfactual(X[0]),
    "decision_function": lambda model, folder: model.decision_function(X),
    "edit": lambda model, folder: model.edit(drop=[0]).predict(X),
    "exact_text": lambda model, folder: model.exact_text(),
    "explain": lambda model, folder: model.explain(X),
    "fit": lambda model, folder: model.set_params(warm_start=True).fit(X, CODES, **WEIGHTED),
    "importances": lambda model, folder: model.importances(X, n_resamples=3, **WEIGHTED),
    "lineage_text": lambda model, folder: model.lineage_text(),
    "paper": lambda model, folder: model.paper(3, n_epochs=1).fit(X, CODES, **WEIGHTED),
    "partial_fit": lambda model, folder: model.partial_fit(X, CODES, **WEIGHTED),
    "predict": lambda model, folder: model.predict(X),
    "predict_proba": lambda model, folder: model.predict_proba(X),
    "reasons": lambda model, folder: model.reasons(X),
    "refit": lambda model, folder: model.refit(X, CODES, **WEIGHTED),
    "report": lambda model, folder: model.report(folder / "a.html", X, CODES, **WEIGHTED),
    "round_numbers": lambda model, folder: model.round_numbers(X, CODES, **WEIGHTED),
    "rules_table": lambda model, folder: model.rules_table(X, CODES, **WEIGHTED),
    "rules_text": lambda model, folder: model.rules_text(),
    "save": lambda model, folder: model.save(folder / "model.nrules"),
    "scorecard": lambda model, folder: model.scorecard(X, CODES, **WEIGHTED),
    "shapes": lambda model, folder: model.shapes(X, **WEIGHTED),
    "simplification_path": lambda model, folder: model.simplification_path(
        X, CODES, X_val=X, y_val=CODES, **WEIGHTED
    ),
    "simplify": lambda model, folder: model.simplify(X, CODES, **WEIGHTED),
    "to_onnx": lambda model, folder: model.to_onnx(),
    "to_python": lambda model, folder: model.to_python(reasons=2, adverse=1),
    "to_sql": lambda model, folder: model.to_sql("rows", reasons=2, adverse=1),
}
OTHERS = {
    "compare": lambda model, folder: compare(model, model, X, CODES),
    "score": lambda model, folder: model.score(X, CODES, **WEIGHTED),
}


@pytest.fixture(scope="module", params=[False, True], ids=["shallow", "deep"])
def file(request, tmp_path_factory):
    """A model on disk, to be mapped."""
    model = NeuralRuleClassifier(deep=request.param, **SMALL).fit(X, CODES)
    path = tmp_path_factory.mktemp("mapped") / "model.joblib"
    joblib.dump(model, path)
    return path


def mapped(file):
    model = joblib.load(file, mmap_mode="r")
    assert not model.fitted_.state.network.biases.flags.writeable
    return model


def test_every_public_method_is_called():
    assert CALLS.keys() == public_methods(NeuralRuleClassifier).keys()


@pytest.mark.parametrize("name", [*CALLS, *OTHERS])
def test_a_model_that_is_mapped_from_a_file_does_everything(name, file, tmp_path):
    {**CALLS, **OTHERS}[name](mapped(file), tmp_path)


def test_a_mapped_model_becomes_the_same_as_one_in_memory(file):
    mapped_model, model = mapped(file), joblib.load(file)
    for change in (CALLS["refit"], CALLS["simplify"]):
        one, other = (change(some, None) for some in (mapped_model, model))
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("engine", ["numba", "numpy", "torch"])
def test_read_only_tables_are_fitted_by_every_engine(engine):
    if engine == "torch":
        pytest.importorskip("torch")
    options = {"engine": engine, "device": "cpu", **SMALL}
    NeuralRuleRegressor(**options).fit(X, NUMBERS, **WEIGHTED).predict(X)


def test_a_search_takes_read_only_tables():
    search = NeuralRuleClassifierCV(candidates=[{"max_depth": 2}], cv=2, **SMALL)
    search.fit(X, CODES, **WEIGHTED).simplify(X, CODES)
