"""Fitted models of every kind, for tests of what reads them."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, NeuralRuleRegressorCV
from neuralrules._estimators._base import checked_table, encoded_rows, engine_of
from neuralrules._fitted._activity import measure
from neuralrules._fitted._performance import perform
from neuralrules._network._network import Network
from neuralrules._training._training import State


def mixed_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories, rare categories, and holes in all of them; three classes."""
    rng = np.random.RandomState(0)
    n = 400
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, n),
            "children": rng.randint(0, 5, n),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "code": [f"c{i}" for i in np.minimum(rng.geometric(0.02, n), 90)],
            'a "b" [c]': rng.randn(n),
        }
    )
    y = (frame["income"] > 25000).astype(int) + (frame["city"] == "Rome") * 1
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "city"] = None
    frame.loc[::13, "code"] = None
    return frame, np.array(["low", "middle", "high"])[y]


def tailed_table() -> tuple[pd.DataFrame, np.ndarray]:
    """The same table with two classes that hang on two of its numbers, one with tails."""
    frame, _ = mixed_table()
    enough = frame["income"].fillna(3e4) > 15_000 * (1 + frame["children"])
    return frame, np.array(["poor", "rich"])[enough.astype(int)]


def credit_table(n_rows: int = 5000) -> tuple[pd.DataFrame, np.ndarray]:
    """Applicants of whom some 3 % turned out bad; which, hangs on several columns together."""
    rng = np.random.RandomState(0)
    opened = rng.randint(0, 7000, n_rows)
    frame = pd.DataFrame(
        {
            "late_payments": rng.poisson(0.8, n_rows),
            "utilisation": rng.beta(2, 3, n_rows).round(3),
            "income": rng.lognormal(10.3, 0.5, n_rows).round(-2),
            "age": rng.randint(19, 80, n_rows),
            "opened": np.datetime64("2005-01-01") + opened.astype("timedelta64[D]"),
            "region": rng.choice(
                ["north", "south", "east", "west"], n_rows, p=[0.4, 0.3, 0.2, 0.1]
            ),
        }
    )
    late, full = frame["late_payments"], np.maximum(frame["utilisation"] - 0.5, 0)
    odds = -6 + 1.2 * np.maximum(late - 1, 0) + 16 * full * (late > 0)
    odds += (frame["income"] < 20_000) + 0.9 * (opened > 6000) + (frame["region"] == "west")
    return frame, np.where(rng.rand(n_rows) < 1 / (1 + np.exp(-odds)), "bad", "good")


# Together they have every task, rule source, kind of columns, start and scaling, networks
# with and without intercept, and one that is the mean of several.
KINDS = {
    "two classes": lambda: (
        NeuralRuleClassifier,
        load_breast_cancer(return_X_y=True),
        {"n_trees": 3},
    ),
    "hinge": lambda: (
        NeuralRuleClassifier,
        load_breast_cancer(return_X_y=True),
        {"loss": "hinge", "n_trees": 3, "literal_columns": "own"},
    ),
    "three classes": lambda: (
        NeuralRuleClassifier,
        load_iris(return_X_y=True),
        {"n_trees": 2, "start": "leaf"},
    ),
    "mixed": lambda: (NeuralRuleClassifier.paper, mixed_table(), {"fit_intercept": True}),
    "numbers": lambda: (NeuralRuleRegressor.paper, load_diabetes(return_X_y=True), {}),
    "two targets": lambda: (
        NeuralRuleRegressorCV,
        (load_diabetes().data, load_diabetes().data[:, 2:4] * 1000 + 5e4),
        {"n_trees": 1, "candidates": [{}], "cv": 2},
    ),
    "forest": lambda: (
        NeuralRuleClassifier,
        load_breast_cancer(return_X_y=True),
        {"rule_source": "forest", "n_trees": 3},
    ),
    "quantiles": lambda: (
        NeuralRuleClassifier,
        tailed_table(),
        {"scaling": "quantile", "n_trees": 3},
    ),
    "constant": lambda: (NeuralRuleClassifier, (np.ones((20, 1)), np.arange(20) % 2), {}),
}


@cache
def fitted(kind: str, deep: bool = False, n_epochs: int = 40):
    """A fitted model with the table and the targets it was fitted on."""
    estimator, (X, y), options = KINDS[kind]()
    model = estimator(max_depth=3, deep=deep, n_epochs=n_epochs, random_state=0, **options)
    return model.fit(X, y), X, y


@cache
def simplified(kind: str, deep: bool):
    """The same model made smaller: a tenth of the loss is given for it."""
    model, X, y = fitted(kind, deep)
    return model.simplify(X, y, tolerance=0.1, X_val=X, y_val=y)


EVERY_MODEL = [(kind, deep) for kind in KINDS for deep in (False, True)]


def fitted_on_mixed(estimator, options):
    """A model of some kind that looks at numbers and categories, and its frame with holes."""
    X, labels = mixed_table()
    numbers = X["children"] + 4.5 * (labels == "low") + 6.5 * (X["city"] == "Rome") + 1e3
    y = labels if issubclass(estimator, ClassifierMixin) else numbers
    model = estimator(max_depth=3, n_epochs=10, random_state=0, **options).fit(X, y)
    kinds = {model.encoder_.columns[feature].stored_as for feature in model.network_.features}
    assert {"number", "category"} <= kinds
    return model, X


def fitted_on_rare_codes(with_holes: bool):
    """A model that looks at rare categories, and rows with rare, unseen and missing ones."""
    rng = np.random.RandomState(0)
    codes = np.array([f"c{i}" for i in np.minimum(rng.geometric(0.02, 1500), 200)], object)
    often = set(pd.Series(codes).value_counts().index[:55])
    y = np.array([code in often for code in codes])
    if with_holes:
        codes[::10] = None
        y[::10] = True
    model = NeuralRuleClassifier(3, n_epochs=10, random_state=0).fit(codes[:, None], y)
    kinds = {model.encoder_.columns[feature].stored_as for feature in model.network_.features}
    assert "rare" in kinds
    rows = np.array([["c1"], ["c170"], [None], ["never seen"]], object)
    return model, np.vstack([codes[:, None], rows])


def performance_on(model, X, y, sample_weight=None):
    """How good a fitted estimator is on some rows."""
    rows = encoded_rows(model, X, y, sample_weight)
    return perform(model.network_, rows, engine_of(model))


def activity_on(model, X, y, sample_weight=None):
    """What the rules of a fitted estimator do on some rows."""
    rows = encoded_rows(model, X, y, sample_weight)
    return measure(model.network_, model.rules_, rows, engine_of(model))


def with_network(model, network):
    """An estimator like a fitted one whose `network_` is the one given."""
    task = replace(
        model.fitted_.task,
        centre=np.zeros(network.n_outputs),
        scale=np.ones(network.n_outputs),
    )
    parts = {field.name: getattr(network, field.name) for field in fields(Network)}
    return with_fitted(model, state=State.start(Network(**parts)), task=task)


def with_fitted(model, **changes):
    """A copy of a fitted estimator with some parts of what it learned changed."""
    other = copy.copy(model)
    other.fitted_ = replace(model.fitted_, **changes)
    return other


def with_labels(model, labels):
    """A copy of a fitted classifier with other class labels, even impossible ones."""
    classes = np.empty(len(labels), object)
    classes[:] = labels
    return with_fitted(model, task=replace(model.fitted_.task, classes=classes))


def network_outputs(model, X):
    """Outputs of a fitted estimator's network, (n_rows, n_outputs) float64."""
    return model.fitted_.decide(checked_table(model, X), engine_of(model))
