"""Usual outcomes of text values in estimators: their parameter, restrictions and order."""

import numpy as np
import pandas as pd
import pytest

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor
from neuralrules._data._columns import Usual

OPTIONS = {"n_trees": 3, "max_depth": 3, "n_epochs": 15, "random_state": 0}


def cities(n_rows=3000, seed=0):
    """A target that hangs on the city, most of which are too rare for an indicator."""
    rng = np.random.RandomState(seed)
    place = rng.randint(0, 300, n_rows)
    X = pd.DataFrame({"city": [f"city {i}" for i in place], "number": rng.randn(n_rows)})
    X["code"] = [f"k{i}" for i in rng.randint(0, 15, n_rows)]
    return X, 1e3 + 5 * np.sin(place) + X["number"] + 0.2 * rng.randn(n_rows)


def usual_of(model):
    return [column for column in model.encoder_.columns if isinstance(column, Usual)]


def test_usual_outcomes_tell_rare_values_apart():
    X, y = cities()
    new, expected = cities(seed=1)
    errors = [
        np.mean((model.predict(new) - expected) ** 2) / expected.var()
        for model in (
            NeuralRuleRegressor(**OPTIONS).fit(X, y),
            NeuralRuleRegressor(**OPTIONS, usual_outcomes=False).fit(X, y),
        )
    ]
    assert errors[0] < 0.3
    assert errors[1] > 0.8


def test_the_parameter_may_be_a_candidate():
    X, y = cities(1200)
    bad = y > y.mean()
    search = NeuralRuleClassifierCV(
        [{"usual_outcomes": False}, {"usual_outcomes": True}], cv=2, **OPTIONS
    )
    search.fit(X, bad)
    assert search.best_params_ == {"usual_outcomes": True}
    assert len(usual_of(search)) == 2


@pytest.mark.parametrize("n_classes", [2, 3, 11, 12])
def test_each_class_but_the_first_has_a_rate(n_classes):
    X, _ = cities()
    y = np.random.RandomState(0).randint(0, n_classes, len(X))
    model = NeuralRuleClassifier(2, n_epochs=0, early_stopping=False, random_state=0)
    if n_classes == 12:
        with pytest.warns(match="Rare texts all count as one category"):
            model.fit(X, y)
        assert not usual_of(model)
        return
    model.fit(X, y)
    columns = [column for column in usual_of(model) if column.source == 0]
    assert [column.outcome for column in columns] == list(range(n_classes - 1))
    for column in columns:
        rate = np.mean(y == column.outcome + 1)
        assert column.mean == pytest.approx(rate, abs=0.01)


def test_a_direction_of_a_text_column_is_refused():
    X, y = cities(600)
    message = "monotone={'code': 1} names a column of categories, which have no order"
    with pytest.raises(ValueError, match=message):
        NeuralRuleRegressor(**OPTIONS, monotone={"code": 1}).fit(X, y)


def test_an_excluded_column_has_no_usual_outcomes_in_rules():
    X, y = cities()
    model = NeuralRuleRegressor(**OPTIONS, exclude=["city"]).fit(X, y)
    used = {model.encoder_.columns[feature].source for feature in model.network_.features}
    assert 0 not in used


def test_groups_hold_for_usual_outcomes_too():
    X, y = cities()
    y = y + 3 * X["number"] * (np.sin(X["city"].str[5:].astype(int)) > 0)
    model = NeuralRuleRegressor(**OPTIONS, interactions=[["number", "code"]]).fit(X, y)
    network, columns = model.network_, model.encoder_.columns
    together = [
        {columns[feature].source for feature in network.features[own.any(axis=0)]}
        for own in np.split(network.weights != 0, network.offsets[1:-1])
    ]
    assert {0} in together
    assert all(len(sources) == 1 or 0 not in sources for sources in together)


def test_the_order_of_columns_changes_no_usual_outcome():
    X, y = cities()
    model, other = (
        NeuralRuleRegressor(**OPTIONS).fit(table, y) for table in (X, X[X.columns[::-1]])
    )
    own, found = (
        {
            model.encoder_.names[column.source]: (column.values, column.usual, column.mean)
            for column in usual_of(model)
        }
        for model in (model, other)
    )
    assert own == found
    assert own.keys() == {"city", "code"}


def test_an_identifier_does_no_harm():
    X, y = cities()
    new, expected = cities(seed=1)
    with_id = X.assign(id=[f"id {i}" for i in range(len(X))])
    with pytest.warns(match="in column 'id' "):
        model = NeuralRuleRegressor(**OPTIONS).fit(with_id, y)
    assert {column.source for column in usual_of(model)} == {0, 2}
    plain = NeuralRuleRegressor(**OPTIONS).fit(X, y)
    again = new.assign(id=[f"id {i}" for i in range(len(X))])  # known, but of other rows
    errors = [
        np.mean((one.predict(table) - expected) ** 2)
        for one, table in ((model, again), (plain, new))
    ]
    assert errors[0] < 1.1 * errors[1]


def test_further_training_keeps_the_usual_outcomes():
    X, y = cities()
    model = NeuralRuleRegressor(**OPTIONS).fit(X[:2000], y[:2000])
    before = [column.usual for column in usual_of(model)]
    model.refit(X[2000:], y[2000:])
    assert [column.usual for column in usual_of(model)] == before
