"""Random targets and thousands of values: no way of training learns anything from its own rows.

If a training row saw its own target in the usual outcome of its value, the model would trust
this column, and be far worse than a constant on rows that it did not see.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from models import with_fitted
from parquet_tables import written
from sklearn.metrics import log_loss

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
)
from neuralrules._data._columns import Usual
from neuralrules._fitting._folds import on_columns_of

# Warnings say that a model is no better than a constant, which is what is wanted.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N = 6000
OPTIONS = {"n_trees": 4, "max_depth": 3, "n_epochs": 20, "random_state": 0}
# A constant has a loss of 1, and up to this more is the noise of the rows that were held out.
# A leak costs more than 0.3: see the last test.
SLACK = 0.04


def random_table(seed=0, n_rows=N):
    """Ten thousand values that say nothing: most have one row, some a few, some many."""
    rng = np.random.RandomState(seed)
    often, rare = rng.randint(0, 30, n_rows), rng.randint(0, 10_000, n_rows)
    values = np.where(rng.rand(n_rows) < 0.3, often, 30 + rare)
    X = pd.DataFrame({"value": [f"v{i}" for i in values], "few": rng.randint(0, 3000, n_rows)})
    return X.astype({"few": str}).add_prefix("the "), rng.rand(n_rows) < 0.4


def held_out_loss(model):
    """The loss on new rows with mostly the same values, divided by that of a constant."""
    X, y = random_table(1)
    if hasattr(model, "predict_proba"):
        constant = log_loss(y, np.full(N, y.mean()))
        return log_loss(y, np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6)) / constant
    return np.mean((model.predict(X) - y) ** 2) / y.var()


def classifier(**options):
    return NeuralRuleClassifier(**{**OPTIONS, **options})


def search(**options):
    return NeuralRuleClassifierCV(
        **{**OPTIONS, "candidates": [{}, {"n_trees": 2}], "cv": 3, **options}
    )


def warm_start(X, y):
    model = classifier(warm_start=True, early_stopping=False, n_epochs=5).fit(X, y)
    return model.set_params(n_epochs=15).fit(X, y)


def in_parts(X, y):
    model = classifier(early_stopping="auto")
    for start in range(0, N, 1500):
        part = slice(start, start + 1500)
        model.partial_fit(X[part], y[part], classes=[False, True])
    return model


def from_files(X, y):
    table = pa.Table.from_pandas(X.assign(y=np.where(y, "yes", "no")), preserve_index=False)
    path = written(table, from_files.folder / "table.parquet", 1000)
    return classifier().fit(path, "y")


def weighted(X, y):
    weights = np.random.RandomState(2).randint(0, 4, N)
    return classifier().fit(X, y, sample_weight=weights)


WAYS = {
    "fit": lambda X, y: classifier().fit(X, y),
    "fit without early stopping": lambda X, y: classifier(early_stopping=False).fit(X, y),
    "forest": lambda X, y: classifier(rule_source="forest").fit(X, y),
    "numbers": lambda X, y: NeuralRuleRegressor(**OPTIONS).fit(X, y.astype(float)),
    "weights": weighted,
    "class weights": lambda X, y: classifier(class_weight={False: 1, True: 1.2}).fit(X, y),
    "average": lambda X, y: search(refit="average").fit(X, y),
    "single": lambda X, y: search(refit="single").fit(X, y),
    "scoring": lambda X, y: search(refit="single", scoring="neg_log_loss").fit(X, y),
    "search of numbers": lambda X, y: NeuralRuleRegressorCV(
        **OPTIONS, candidates=[{}], cv=3
    ).fit(X, y.astype(float)),
    "simplify": lambda X, y: classifier().fit(X, y).simplify(X, y, tolerance=0.01),
    "refit": lambda X, y: classifier().fit(X, y).refit(X, y),
    "warm start": warm_start,
    "parts": in_parts,
    "files": from_files,
}


@pytest.mark.parametrize("way", WAYS)
def test_random_targets_teach_nothing(way, tmp_path):
    from_files.folder = tmp_path
    model = WAYS[way](*random_table())
    kinds = [type(column) for column in model.encoder_.columns]
    assert kinds.count(Usual) == 2
    assert held_out_loss(model) < 1 + SLACK


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize("refit", ["average", "single"])
def test_scores_of_a_search_on_random_targets_are_those_of_a_constant(refit, scoring):
    X, y = random_table()
    model = search(refit=refit, scoring=scoring).fit(X, y)
    constant = log_loss(y, np.full(N, y.mean()))
    losses = -model.cv_scores_[np.isfinite(model.cv_scores_)]  # some were dropped on the way
    assert (losses > constant * (1 - SLACK)).all()
    assert (losses < constant * (1 + SLACK)).all()


def test_a_leak_would_be_found(monkeypatch):
    """If rows see their own targets, the loss on new rows is far above that of a constant."""
    from neuralrules._data._usual import OutcomeSums

    def with_own_target(sums, codes, parts):
        return sums.usual()[codes]

    monkeypatch.setattr(OutcomeSums, "without_own_part", with_own_target)
    model = classifier(early_stopping=False).fit(*random_table())
    assert held_out_loss(model) > 1.1


@pytest.mark.parametrize("refit", ["single", "average"])
def test_targets_held_out_by_a_fold_change_no_prediction_of_it(refit):
    """The model of a fold, as the search's scorer sees it."""
    X, _ = random_table(n_rows=1500)
    numbers = np.random.RandomState(3).randn(1500)
    test = np.arange(500)
    changed = numbers.copy()
    changed[test] = numbers[test][::-1]
    seen = []

    def predictions(model, X, y):
        seen[-1].append(model.predict(X))
        return 0.0

    for targets in (numbers, changed):
        seen.append([])
        folds = [(np.arange(500, 1500), test)]
        NeuralRuleRegressorCV(
            **OPTIONS,
            candidates=[{}],
            cv=folds,
            refit=refit,
            scoring=predictions,
            early_stopping=False,
        ).fit(X, targets)
    assert seen[0][0].std() > 0
    np.testing.assert_array_equal(seen[0][0], seen[1][0])


def test_members_predict_the_same_on_the_columns_that_they_share():
    """Until they are joined, the usual outcomes of a fold are standardised by the fold."""
    X, _ = random_table(n_rows=1500)
    numbers = np.random.RandomState(3).randn(1500) + (X["the value"] < "v2")
    options = {**OPTIONS, "candidates": [{}], "refit": "average", "early_stopping": False}
    seen = []

    def predictions(model, X, y):
        seen.append(model)
        return 0.0

    search = NeuralRuleRegressorCV(**options, cv=2, scoring=predictions).fit(X, numbers)
    shared = search.encoder_
    first = seen[0]
    rules, network = on_columns_of(
        shared, first.encoder_, first.rules_, first.fitted_.state.network
    )
    assert first.encoder_.columns[-1].scale != shared.columns[-1].scale
    # The same cells, with the usual outcomes of the fold, encoded for the shared columns.
    columns = [
        replace(own, mean=other.mean, scale=other.scale)
        for own, other in zip(first.encoder_.columns, shared.columns, strict=True)
    ]
    encoder = replace(first.encoder_, columns=columns)
    other = with_fitted(
        first,
        encoder=encoder,
        rules=rules,
        state=replace(first.fitted_.state, network=network),
    )
    np.testing.assert_allclose(other.predict(X), first.predict(X), rtol=1e-4, atol=1e-5)
    before = first.rules_.covers(first.encoder_.transform(X))
    after = rules.covers(encoder.transform(X))
    assert (before == after).mean() > 0.999
    assert before.any()
