"""Charts of performance: thresholds, calibration and errors, as scikit-learn counts them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import credit_table
from sklearn.datasets import load_diabetes
from sklearn.metrics import confusion_matrix

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._charts._performance import (
    MAX_THRESHOLDS,
    Scored,
    error_charts,
    groups_of,
    roundest,
    thresholds_of,
    wilson,
)
from neuralrules._estimators._base import encoded_rows
from neuralrules._fitted._performance import Performance
from neuralrules._reading._notation import number


def scored_by(model, X, y, rare, weight=None):
    rows = encoded_rows(model, X, y, weight)
    return Scored.of(rows, model.decision_function(X)[:, None], rare)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("rare", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_threshold_counts_as_scikit_learn(loss, rare, weighted):
    X, y = credit_table(3000)
    model = NeuralRuleClassifier(random_state=0, n_epochs=3, loss=loss).fit(X, y)
    weight = np.random.RandomState(0).rand(len(y)) + 0.5 if weighted else np.ones(len(y))
    found = thresholds_of(scored_by(model, X, y, rare, weight if weighted else None))
    if loss == "logistic":
        scores = model.predict_proba(X)[:, rare]
    else:
        scores = model.decision_function(X) * (2 * rare - 1)
    assert found.values == sorted(found.values)
    assert len(found.values) <= MAX_THRESHOLDS + 1
    is_rare = y == model.classes_[rare]
    for cut, caught, alarms in zip(found.values, found.caught, found.alarms, strict=True):
        matrix = confusion_matrix(is_rare, scores >= cut, sample_weight=weight)
        assert caught == pytest.approx(matrix[1, 1], rel=1e-6)
        assert alarms == pytest.approx(matrix[0, 1], rel=1e-6)
    flagged = model.predict(X) == model.classes_[rare]
    own = confusion_matrix(is_rare, flagged, sample_weight=weight)
    assert found.caught[found.default] == pytest.approx(own[1, 1], rel=1e-6)
    assert found.alarms[found.default] == pytest.approx(own[0, 1], rel=1e-6)
    assert found.caught[0] == pytest.approx(weight[is_rare].sum(), rel=1e-6)
    assert found.caught[-1] == found.alarms[-1] == 0


@given(st.floats(-1e6, 1e6), st.floats(1e-12, 1e6), st.integers(-6, 3))
def test_a_threshold_lies_between_two_scores(low, step, power):
    low, high = sorted([low * 10.0**power, (low + step) * 10.0**power])
    if low == high:
        return
    number = roundest(low, high)
    assert low < number <= high
    if high - low > 1e-9 * max(abs(low), abs(high), 1e-3):
        assert number < high


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [(0.02931, 0.03012, 0.03), (0.2, 0.7, 0.6), (-3.5, 2.2, 2.0), (0.12341, 0.12349, 0.12348)],
)
def test_thresholds_are_round(low, high, number):
    assert roundest(low, high) == number


def test_intervals_of_shares():
    low, high = wilson(np.array([0.0, 0.5, 1.0]), np.array([20.0, 50.0, 7.0]))
    assert low[0] == 0
    assert high[0] == pytest.approx(0.119, abs=1e-3)  # 1.645² / (20 + 1.645²)
    assert low[1] + high[1] == pytest.approx(1)
    assert high[2] == pytest.approx(1)


def test_groups_of_training_rows_are_turned_round_for_the_first_class():
    """Files keep mean probability, share and weight of the second class."""
    kept = np.array([[[0.1, 0.2, 30], [0.6, 0.5, 10], [np.nan, np.nan, 0], [0.9, 1, 5]]])
    none = np.empty(0)
    performance = Performance(45, {}, np.eye(2), kept, none, none)
    second, first = (groups_of(performance, rare, None) for rare in (1, 0))
    np.testing.assert_array_equal(second, kept[0, [0, 1, 3]].T)
    np.testing.assert_allclose(first, [[0.1, 0.4, 0.9], [0, 0.5, 0.8], [5, 10, 30]], atol=1e-12)


def test_errors_of_numbers_by_prediction():
    X, y = load_diabetes(return_X_y=True)
    model = NeuralRuleRegressor(random_state=0, n_epochs=3).fit(X, y)
    rows = encoded_rows(model, X, y, None)
    (chart,) = error_charts(rows, model.predict(X)[:, None])
    (line,) = chart.lines
    predicted = model.predict(X)
    first = predicted <= np.quantile(predicted, 0.1)
    low, middle, high = np.quantile((y - predicted)[first], [0.1, 0.5, 0.9])
    texts = [number(value, 3) for value in (low, high, middle)]
    assert f"from {texts[0]} to {texts[1]}, median {texts[2]}" in line.texts[0]
    assert [line.low[0], line.y[0], line.high[0]] == pytest.approx([low, middle, high])
