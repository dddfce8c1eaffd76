"""Numbers that stay with a model, against scikit-learn's and plain sums."""

import numpy as np
import pytest
from models import KINDS, activity_on, fitted, performance_on
from sklearn import metrics

from neuralrules._estimators._base import engine_of
from neuralrules._fitted._performance import (
    BINS,
    area_under_roc,
    calibration_curve,
)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["two classes", "hinge", "three classes", "mixed"])
def test_metrics_of_classes_are_scikit_learns(kind, weighted):
    model, X, y = fitted(kind)
    weights = np.random.RandomState(0).rand(len(y)) if weighted else None
    found = performance_on(model, X, y, weights)
    predicted = model.predict(X)
    options = {"sample_weight": weights}
    expected = {
        "accuracy": metrics.accuracy_score(y, predicted, **options),
        "balanced accuracy": metrics.balanced_accuracy_score(y, predicted, **options),
    }
    if len(model.classes_) == 2:
        decision = model.decision_function(X)
        expected["ROC AUC"] = metrics.roc_auc_score(y, decision, **options)
    if kind == "hinge":
        expected["hinge loss"] = metrics.hinge_loss(2 * y - 1, decision, **options)
    else:
        expected["log loss"] = metrics.log_loss(y, model.predict_proba(X), **options)
    assert found.metrics == pytest.approx(expected, rel=1e-5)
    confusion = metrics.confusion_matrix(y, predicted, labels=model.classes_, **options)
    np.testing.assert_allclose(found.confusion, confusion, rtol=1e-5)
    assert len(found.calibration) == (kind != "hinge")


def test_the_area_under_the_curve_splits_ties():
    rng = np.random.RandomState(0)
    decision, codes = rng.randint(0, 5, 200).astype(float), rng.randint(0, 2, 200)
    weights = rng.rand(200)
    expected = metrics.roc_auc_score(codes, decision, sample_weight=weights)
    assert area_under_roc(decision, codes, weights) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["numbers", "two targets"])
def test_metrics_of_numbers_are_scikit_learns(kind):
    model, X, y = fitted(kind)
    found = performance_on(model, X, y)
    predicted = model.predict(X)
    assert found.metrics == pytest.approx(
        {
            "R²": metrics.r2_score(y, predicted),
            "root mean squared error": metrics.root_mean_squared_error(y, predicted),
            "mean absolute error": metrics.mean_absolute_error(y, predicted),
        },
        rel=1e-4,
    )
    assert found.confusion is None
    assert found.calibration.shape == (model.network_.n_outputs, BINS, 3)
    for k, curve in enumerate(found.calibration):
        truth = np.reshape(y, (len(y), -1))[:, k]
        assert np.average(curve[:, 1], weights=curve[:, 2]) == pytest.approx(
            truth.mean(), rel=1e-4
        )


def test_calibration_groups_rows_of_similar_prediction():
    rng = np.random.RandomState(0)
    predicted = rng.rand(1000)
    observed = (rng.rand(1000) < predicted).astype(float)
    curve = calibration_curve(predicted, observed, np.ones(1000))
    ranks = predicted.argsort().argsort() // 100
    for group in range(BINS):
        inside = ranks == group
        expected = [predicted[inside].mean(), observed[inside].mean(), 100]
        np.testing.assert_allclose(curve[group], expected, rtol=1e-2)
    assert np.abs(curve[:, 0] - curve[:, 1]).max() < 0.15


def test_calibration_of_ties_leaves_groups_empty():
    curve = calibration_curve(np.zeros(50), np.ones(50), np.ones(50))
    assert curve[:, 2].sum() == 50
    assert np.isnan(curve[curve[:, 2] == 0, 0]).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "forest"])
def test_errors_with_only_the_most_important_rules(kind):
    model, X, y = fitted(kind)
    found = performance_on(model, X, y)
    n = model.network_.n_rules
    steps = np.arange(n + 1) if n <= 50 else np.linspace(0, n, 51).astype(int)
    np.testing.assert_array_equal(found.n_rules, steps)
    assert found.errors[-1] == pytest.approx(1 - model.score(X, y), rel=1e-4, abs=1e-9)
    order = model.rules_table(X, y).index.to_numpy()
    network, encoded = model.network_, model.encoder_.transform(X)
    for size, error in zip(found.n_rules[1:], found.errors[1:], strict=True):
        best = network.take(order[:size])
        outputs = engine_of(model).decide(best, encoded) + network.intercept
        assert error == pytest.approx(naive_error(model, outputs, y), rel=1e-3, abs=1e-9)


def naive_error(model, outputs, y):
    if not hasattr(model, "classes_"):
        return 1 - metrics.r2_score(y, outputs)
    codes = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
    return np.mean(model.classes_[codes] != y)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_fit_keeps_is_what_its_rows_give(kind):
    model, X, y = fitted(kind)
    found, kept = performance_on(model, X, y), model.fitted_.performance
    assert found.metrics == kept.metrics
    assert found.n_rows == kept.n_rows == len(X)
    np.testing.assert_array_equal(found.errors, kept.errors)
    measured, activity = activity_on(model, X, y), model.fitted_.activity
    for name, value in vars(measured).items():
        np.testing.assert_array_equal(value, vars(activity)[name], err_msg=name)
