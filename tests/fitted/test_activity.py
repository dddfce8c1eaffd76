"""What rules do on rows, against counting row by row."""

import numpy as np
import pytest
from models import EVERY_MODEL, activity_on, fitted

from neuralrules._estimators._base import encoded_rows, engine_of
from neuralrules._fitted import _activity
from neuralrules._fitted._activity import rule_importance


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_a_loop_over_the_rows(kind, deep, weighted):
    model, X, y = fitted(kind, deep)
    weights = np.random.RandomState(0).randint(0, 4, len(y)) * 1.0 if weighted else None
    found = activity_on(model, X, y, weights)
    rows = encoded_rows(model, X, y, weights)
    explanation = model.explain(X)
    each = rows.one_column_each()
    inside_leaf = model.rules_.covers(rows.X)
    covered, in_both, activation, highest = np.zeros((4, model.network_.n_rules))
    totals = np.zeros((model.network_.n_rules, each.shape[1]))
    for row, rule, strength in zip(
        explanation.rows, explanation.rules, explanation.activations, strict=True
    ):
        weight = float(rows.weights[row])
        covered[rule] += weight
        totals[rule] += weight * each[row]
        activation[rule] += weight * strength
        in_both[rule] += weight * inside_leaf[row, rule]
        highest[rule] = max(highest[rule], strength) if weight else highest[rule]
    assert found.n_rows == rows.weights.sum()
    np.testing.assert_allclose(found.covered, covered)
    np.testing.assert_allclose(found.totals, totals, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.activation, activation / found.n_rows, rtol=1e-6)
    np.testing.assert_allclose(found.highest, highest)
    np.testing.assert_allclose(found.in_both, in_both)
    np.testing.assert_allclose(found.in_leaf, rows.weights @ inside_leaf.astype(float))
    np.testing.assert_allclose(found.all_totals, rows.weights @ each, rtol=1e-5, atol=1e-3)


def test_chunks_of_rows_change_nothing(monkeypatch):
    model, X, y = fitted("two classes")
    whole = activity_on(model, X, y)
    monkeypatch.setattr(_activity, "CHUNK_CELLS", 1)
    pieces = activity_on(model, X, y)
    assert len(X) > 64  # rows are taken at least 64 at a time
    for name, value in vars(whole).items():
        np.testing.assert_allclose(vars(pieces)[name], value, err_msg=name)


@pytest.mark.parametrize("kind", ["two classes", "three classes", "two targets"])
def test_importance_is_the_mean_absolute_contribution(kind):
    model, X, y = fitted(kind)
    activity = activity_on(model, X, y)
    found = rule_importance(model.fitted_.task, model.network_, activity.activation)
    explanation = model.explain(X)
    contributions = explanation.contributions
    if kind == "three classes":
        contributions = contributions - contributions.mean(axis=1, keepdims=True)
    if kind == "two targets":
        contributions = contributions / model.fitted_.task.scale
    expected = np.bincount(
        explanation.rules, np.abs(contributions).mean(axis=1), model.network_.n_rules
    )
    np.testing.assert_allclose(found, expected / len(X), rtol=1e-6)
    assert engine_of(model) is not engine_of(model)  # each call has threads of its own
