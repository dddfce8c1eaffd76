"""Importances find what is known to matter, and only that."""

import numpy as np
import pandas as pd
import pytest
from models import EVERY_MODEL, fitted, with_network
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    read_rules,
)
from neuralrules._data._encoder import Encoder
from neuralrules._estimators._base import engine_of


@pytest.fixture(scope="module")
def simulated():
    """y = 2 a b + c + noise; d, e and f do not matter."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (3000, 6)), columns=list("abcdef"))
    y = 2 * frame["a"] * frame["b"] + frame["c"] + rng.normal(0, 0.05, 3000)
    return NeuralRuleRegressor(5, random_state=0).fit(frame, y), frame


def test_known_columns_come_first(simulated):
    model, frame = simulated
    table = model.importances(frame, kind="columns", random_state=0).to_frame()
    assert set(table["column"][:3]) == {"a", "b", "c"}
    # The noise is not only behind them, it is surely behind them.
    assert table["low"][:3].min() > 3 * table["high"][3:].max()
    # Var 2ab = 4/9, Var c = 1/3: the total indices are 4/7 and 3/7.
    found = table.set_index("column")["importance"]
    np.testing.assert_allclose(found[["a", "b", "c"]], [4 / 7, 4 / 7, 3 / 7], atol=0.12)


def test_the_known_interaction_comes_first(simulated):
    model, frame = simulated
    table = model.importances(frame, kind="pairs", random_state=0).to_frame()
    assert set(table["pair"][0]) == {"a", "b"}
    assert table["low"][0] > 5 * table["high"][1]
    assert table["importance"][0] == pytest.approx(4 / 7, abs=0.12)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_rules_matter_by_their_mean_absolute_contribution(kind, deep):
    model, X, _ = fitted(kind, deep)
    found = model.importances(X, kind="rules", random_state=0, n_resamples=5)
    table = model.rules_table()
    np.testing.assert_allclose(
        found.values, table["importance"].sort_index(), rtol=1e-6, atol=1e-9
    )
    assert found.resamples.shape == (5, model.network_.n_rules)


@pytest.mark.parametrize("kind", ["two classes", "mixed", "two targets"])
def test_columns_by_the_definition_over_all_pairs_of_rows(kind, monkeypatch):
    """With every other row as donor the estimate is the plain double sum."""
    model, X, _ = fitted(kind)
    X = X[:40]
    monkeypatch.setattr("neuralrules._reading._importance.DONORS", 39)
    found = model.importances(X, random_state=0, n_resamples=2)
    encoded = model.encoder_.transform(X)
    sources = np.array([column.source for column in model.encoder_.columns])

    def decide(rows):
        outputs = engine_of(model).decide(model.network_, rows)
        return outputs - outputs.mean(axis=1, keepdims=True) if kind == "mixed" else outputs

    own = decide(encoded)
    variance = own.var(axis=0).sum()
    for name, importance in zip(found.names, found.values, strict=True):
        column = model.encoder_.names.index(name)
        total = 0.0
        for donor in range(len(encoded)):
            mixed = encoded.copy()
            mixed[:, sources == column] = encoded[donor, sources == column]
            total += ((own - decide(mixed)) ** 2).sum()
        expected = total / 2 / 40 / 39 / variance
        assert importance == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_weights_of_rows_count():
    """A weight of 2 is a row given twice, and a weight of 0 a row left out."""
    model, X, _ = fitted("two classes")
    weights = np.random.RandomState(0).randint(0, 3, len(X))
    weighted = model.importances(X, kind="rules", sample_weight=weights, random_state=0)
    repeated = model.importances(np.repeat(X, weights, axis=0), kind="rules", random_state=0)
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-9)
    columns = model.importances(X, sample_weight=weights, random_state=0)
    assert (columns.values != model.importances(X, random_state=0).values).any()
    with pytest.raises(ValueError, match=r"(?i)zero"):
        model.importances(X, sample_weight=np.zeros(len(X)))


def test_standard_errors_are_those_of_a_mean():
    """For rules the importance is a mean, whose standard error is known."""
    model, X, _ = fitted("two classes")
    found = model.importances(X, kind="rules", n_resamples=400, random_state=0)
    explanation = model.explain(X)
    activation = np.zeros((len(X), model.network_.n_rules))
    activation[explanation.rows, explanation.rules] = explanation.activations
    contributions = np.abs(activation * model.network_.values[:, 0])
    expected = contributions.std(axis=0) / np.sqrt(len(X))
    np.testing.assert_allclose(found.resamples.std(axis=0), expected, rtol=0.2)


def test_dependent_columns_may_exceed_the_variance():
    """As the documentation warns: x0 - x1 of two columns that are nearly the same."""
    rng = np.random.RandomState(0)
    first = rng.randn(1000)
    X = np.stack([first, first + 0.2 * rng.randn(1000)], axis=1)
    model = NeuralRuleRegressor(4, n_epochs=50, random_state=0).fit(X, X[:, 0] - X[:, 1])
    assert model.importances(X, random_state=0).values.min() > 1


def test_it_prints_the_most_important_ones():
    model, X, _ = fitted("two classes")
    found = model.importances(X, random_state=0)
    name = found.to_frame()["column"][0]
    assert repr(found).startswith(f"Importances(columns: {name}: ")
    assert repr(found).endswith(", …)")


def test_a_sum_has_no_pairs():
    """Rules about one column each: no pair explains anything."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (500, 2))
    model = NeuralRuleRegressor(2, n_epochs=0, random_state=0).fit(
        X, X[:, 0] + 3 * (X[:, 1] > 0)
    )
    network = model.network_
    lonely = network.take(np.arange(network.n_rules), np.arange(network.n_literals) % 2 == 0)
    model = with_network(model, lonely)
    assert (np.count_nonzero(lonely.weights, axis=1) == 1).all()
    assert (np.diff(lonely.offsets) == 1).all()
    found = model.importances(X, kind="pairs", random_state=0)
    np.testing.assert_allclose(found.values, 0, atol=1e-10)


def test_resamples_spread_like_the_estimate():
    model, X, _ = fitted("two classes")
    one = model.importances(X, random_state=0).to_frame()
    assert (one["low"] <= one["importance"] + 1e-12).all()
    assert (one["importance"] <= one["high"] + 1e-12).all()
    again = model.importances(X, random_state=0).to_frame()
    pd.testing.assert_frame_equal(one, again)
    fewer = model.importances(X, max_rows=100, random_state=0).to_frame()
    assert fewer["se"][0] > one["se"][0]


def test_columns_that_no_rule_uses_do_not_matter():
    model, X, _ = fitted("two classes")
    found = model.importances(X, random_state=0)
    assert sorted(found.names) == sorted(model.encoder_.names)
    used = {model.encoder_.names[feature] for feature in model.network_.features}
    assert {
        name for name, value in zip(found.names, found.values, strict=True) if value
    } == used


def test_a_constant_model_has_no_importances():
    model, X, _ = fitted("constant")
    assert model.importances(X).values.tolist() == [0]
    assert model.importances(X, kind="pairs").names == []
    assert len(model.importances(X, kind="pairs").to_frame()) == 0


def test_errors():
    model, X, _ = fitted("two classes")
    with pytest.raises(
        ValueError, match="kind='rule' is not one of 'rules', 'columns', 'pairs'"
    ):
        model.importances(X, kind="rule")
    with pytest.raises(ValueError, match="n_resamples=0 must be a whole number of at least 2"):
        model.importances(X, n_resamples=0)
    with pytest.raises(
        ValueError, match="n_resamples=None must be a whole number of at least 2"
    ):
        model.importances(X, n_resamples=None)
    with pytest.raises(ValueError, match=r"max_rows=1\.5 must be a whole number of at least 2"):
        model.importances(X, max_rows=1.5)
    with pytest.raises(ValueError, match="X has 1 row; importances need at least 2 to compare"):
        model.importances(X[:1])


def test_of_a_long_table_only_a_sample_is_encoded(monkeypatch):
    model, X, _ = fitted("two classes")
    encoded = []
    transform = Encoder.transform

    def recorded(self, table):
        encoded.append(table.shape[0])
        return transform(self, table)

    monkeypatch.setattr(Encoder, "transform", recorded)
    model.importances(X, max_rows=50, random_state=0)
    assert encoded == [50]


# Shares of columns that need no rows


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_shares_of_columns_sum_to_one_and_unused_columns_have_none(kind, deep):
    model, _, _ = fitted(kind, deep)
    shares = model.feature_importances_
    assert shares.shape == (model.n_features_in_,)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(0 if kind == "constant" else 1)
    used = model.fitted_.used_columns
    assert set(np.flatnonzero(shares)) <= set(used)


def test_shares_of_columns_find_the_ones_that_matter():
    rng = np.random.RandomState(0)
    X = rng.randn(600, 6) * [1, 100, 1, 1e-3, 1, 1]
    y = X[:, 1] / 100 + 0.5 * X[:, 3] * 1e3
    model = NeuralRuleRegressor(n_trees=8, n_epochs=50, random_state=0).fit(X, y)
    shares = model.feature_importances_
    assert list(np.argsort(-shares)[:2]) == [1, 3]
    assert shares[[1, 3]].sum() > 0.7


def test_shares_of_a_rule_are_those_of_its_contribution_and_weights():
    model, _, _ = fitted("mixed")
    expected = np.zeros(5)
    network = model.network_
    for rule in range(network.n_rules):
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        sizes = np.abs(network.weights[own]).sum(axis=0)
        values = network.values[rule] - network.values[rule].mean()
        contribution = np.abs(values).mean() * model.fitted_.activity.activation[rule]
        for feature, size in zip(network.features, sizes, strict=True):
            column = model.encoder_.columns[feature].source
            expected[column] += contribution * size / sizes.sum()
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-5)


def test_a_model_read_from_text_has_shares_too():
    model, _, _ = fitted("two classes")
    shares = read_rules(model.exact_text(), estimator=True).feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert set(np.flatnonzero(shares)) == set(np.flatnonzero(model.feature_importances_))


def test_an_estimator_that_is_not_fitted_has_no_shares():
    with pytest.raises(NotFittedError):
        _ = NeuralRuleClassifier().feature_importances_
    assert not hasattr(NeuralRuleClassifier(), "feature_importances_")


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("selector", ["from model", "one by one"])
def test_scikit_learn_selects_columns_by_their_shares(selector, search):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(300, 5), columns=list("abcde"))
    y = (X["b"] - X["d"] > 0).astype(int)
    options = {"n_trees": 4, "n_epochs": 10, "random_state": 0}
    model = NeuralRuleClassifier(**options)
    if search:
        model = NeuralRuleClassifierCV([{}], cv=2, **options)
    if selector == "from model":
        found = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, y)
    else:
        found = RFE(model, n_features_to_select=2).fit(X, y)
    assert list(found.get_feature_names_out()) == ["b", "d"]
