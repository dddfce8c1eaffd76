"""Limits of rules, literals and terms: kept exactly, by training and by all that follows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    load,
)
from neuralrules._training._training import with_largest_weights


def table(n=240):
    """Numbers, categories and holes, and a target that hangs on many of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    X["town"] = rng.choice(["Lima", "Oslo", "Rome"], n)
    y = X["a"] + X["b"] * (X["c"] > 0) + (X["town"] == "Rome") - X["d"].clip(0)
    X.loc[::9, "a"] = np.nan
    return X, y.to_numpy()


def n_terms(model):
    """Columns of each literal."""
    return np.count_nonzero(model.network_.weights, axis=1)


def n_conditions(model):
    """Literals of each rule that ever looked at a column."""
    network = model.network_
    looks = network.origins >= 0
    owner = np.repeat(np.arange(network.n_rules), np.diff(network.offsets))
    return np.bincount(owner[looks], minlength=network.n_rules)


@settings(max_examples=12, deadline=None)
@given(
    max_terms=st.integers(1, 3),
    max_depth=st.integers(1, 4) | st.none(),
    max_rules=st.sampled_from([3, 16]),
    options=st.fixed_dictionaries(
        {
            "deep": st.booleans(),
            "literal_columns": st.sampled_from(["own", "rule", "tree"]),
            "start": st.sampled_from(["hinge", "leaf"]),
            "rule_source": st.sampled_from(["boosting", "tree", "forest"]),
            "engine": st.sampled_from(["numba", "numpy"]),
        }
    ),
    classes=st.booleans(),
)
def test_a_fit_keeps_its_limits(max_terms, max_depth, max_rules, options, classes):
    X, y = table()
    kind = NeuralRuleClassifier if classes else NeuralRuleRegressor
    model = kind(
        max_terms=max_terms,
        max_depth=max_depth,
        max_rules=max_rules,
        n_trees=4,
        n_epochs=4,
        random_state=0,
        **options,
    ).fit(X, y > 0 if classes else y)
    assert n_terms(model).max() <= max_terms
    assert max_depth is None or n_conditions(model).max() <= max_depth
    assert model.network_.n_rules <= max_rules


@pytest.mark.parametrize("rule_source", ["boosting", "tree", "forest"])
def test_trees_may_grow_without_a_limit_of_depth(rule_source):
    X, y = table()
    options = {"rule_source": rule_source, "n_trees": 2, "n_epochs": 0, "random_state": 0}
    depths = [
        n_conditions(NeuralRuleRegressor(max_depth=depth, **options).fit(X, y)).max()
        for depth in (4, None)
    ]
    assert depths[0] == 4
    assert depths[1] > 6


def test_without_limits_there_is_more():
    """Or the test above would prove nothing."""
    X, y = table()
    options = {"n_trees": 4, "n_epochs": 4, "max_depth": 4, "random_state": 0}
    model = NeuralRuleRegressor(literal_columns="tree", **options).fit(X, y)
    assert n_terms(model).max() > 3
    assert n_conditions(model).max() == 4
    assert model.network_.n_rules > 16


def test_the_largest_weights_are_kept_and_trained_on():
    X, y = load_diabetes(return_X_y=True)
    options = {"max_depth": 3, "n_epochs": 90, "random_state": 0}
    free = NeuralRuleRegressor(**options).fit(X, y)
    sparse = NeuralRuleRegressor(max_terms=1, **options).fit(X, y)
    assert sparse.n_iter_ > 30  # of which 30 were free
    assert len(sparse.history_["loss"]) == sparse.n_iter_
    assert sparse.score(X, y) > 0.9 * free.score(X, y)


def test_each_literal_keeps_its_largest_weights():
    X, y = load_diabetes(return_X_y=True)
    network = NeuralRuleRegressor(max_depth=4, n_epochs=20, random_state=0).fit(X, y).network_
    for max_terms in (1, 2, 3):
        kept = with_largest_weights(network, max_terms).weights
        sizes = np.sort(np.abs(network.weights), axis=1)[:, ::-1][:, :max_terms]
        np.testing.assert_array_equal(
            np.sort(np.abs(kept), axis=1)[:, ::-1][:, :max_terms], sizes
        )
        assert (np.count_nonzero(kept, axis=1) <= max_terms).all()
        assert ((kept == network.weights) | (kept == 0)).all()


def test_what_follows_keeps_them_too(tmp_path):
    X, y = table()
    model = NeuralRuleRegressor(max_depth=4, max_terms=2, n_trees=6, n_epochs=9, random_state=0)
    model.fit(X, y)
    before = model.network_.weights != 0
    model.save(tmp_path / "model.nrules")
    again = load(tmp_path / "model.nrules").set_params(warm_start=True, n_epochs=3)
    again.fit(X, 2 * y)
    assert ((again.network_.weights != 0) <= before).all()
    again.partial_fit(X, y)
    assert ((again.network_.weights != 0) <= before).all()
    assert n_terms(model.simplify(X, y)).max() <= 2
    first = NeuralRuleRegressor(
        max_depth=4, max_terms=2, n_trees=1, max_rules=8, random_state=0
    )
    assert n_terms(first.partial_fit(X, y)).max() <= 2


def test_a_search_keeps_them():
    X, y = load_breast_cancer(return_X_y=True)
    limits = {"max_rules": 8, "max_terms": 2, "max_depth": 2}
    search = NeuralRuleClassifierCV(cv=2, n_epochs=6, random_state=0, **limits).fit(X, y)
    assert search.network_.n_rules <= 8
    assert n_terms(search).max() <= 2
    assert n_conditions(search).max() <= 2
    with pytest.raises(ValueError, match=r"refit='average' .* max_rules allows .* refit="):
        NeuralRuleClassifierCV(refit="average", **limits).fit(X, y)


def test_no_text_hides_a_column_of_a_model_with_a_limit():
    X, y = table()
    model = NeuralRuleRegressor(max_depth=5, max_terms=4, n_trees=4, n_epochs=6, random_state=0)
    text = model.fit(X, y).rules_text()
    assert n_terms(model).max() == 4
    assert "…" not in text
    assert "…" in model.rules_text(max_terms=1)
