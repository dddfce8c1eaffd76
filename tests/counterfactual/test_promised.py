"""Counterfactuals of models with directions never advise against these."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import credit_table, with_fitted

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._counterfactual._choices import helpful_way
from neuralrules._data._restrictions import NEITHER
from neuralrules._training._training import State

FEW = {"n_trees": 3, "max_depth": 2, "n_epochs": 15, "random_state": 0}
# The second class is "good".
MONOTONE = {"late_payments": -1, "utilisation": -1, "income": 1}


@cache
def credit(task):
    X, y = credit_table(800)
    X = X.drop(columns=["opened"])
    risk = X["late_payments"] + 4 * X["utilisation"] - X["income"] / 2e4
    if task == "numbers":
        return NeuralRuleRegressor(monotone=MONOTONE, **FEW).fit(X, -risk), X
    if task == "three":
        labels = np.array(["bad", "fair", "good"])[np.digitize(-risk, [-2, -1])]
        single = {name: {"good": way} for name, way in MONOTONE.items()}
        return NeuralRuleClassifier(monotone=single, **FEW).fit(X, labels), X
    y = np.where(risk > 1.5, "bad", "good")
    named = {name: {"good": direction} for name, direction in MONOTONE.items()}
    return NeuralRuleClassifier(monotone=named, **FEW).fit(X, y), X


def wanted(model, x, task):
    """A target that the row does not have, and whether good must become more."""
    before = model.predict(x)[0]
    if task == "numbers":
        up = before < np.median(model.predict(credit(task)[1]))
        return ({"target": (before + 0.3, None) if up else (None, before - 0.3)}, up)
    if task == "three":
        return {"target": "bad" if before == "good" else "good"}, before != "good"
    return {}, before == "bad"


@settings(max_examples=15)
@given(st.sampled_from(["two", "three", "numbers"]), st.integers(0, 799))
def test_no_answer_goes_against_what_is_promised(task, row):
    model, X = credit(task)
    x = X.iloc[[row]]
    goal, up = wanted(model, x, task)
    answer = model.counterfactual(x, **goal)
    free = model.counterfactual(x, directions=dict.fromkeys(MONOTONE, "either"), **goal)
    assert answer.found == free.found
    for change in answer.changes:
        if change.column in MONOTONE:
            better = MONOTONE[change.column] * (float(change.after) - float(change.before)) > 0
            assert better == up
    # What does not help is in no cheapest answer anyway.
    if answer.found and answer.optimal and free.optimal and task != "three":
        assert answer.cost == pytest.approx(free.cost, rel=3e-3)


@settings(max_examples=8)
@given(st.integers(0, 799), st.booleans())
def test_nor_where_a_range_is_asked_for(row, several):
    """Between two ends it might be cheaper to go beyond and back by another column."""
    model, X = credit("two")
    x = X.iloc[[row]]
    now = float(model.predict_proba(x)[0, 1])
    low, high = (0.55, 0.56) if now < 0.55 else (0.3, 0.31) if now > 0.31 else (0.6, 0.61)
    answer = model.counterfactual(
        x, "good", probability=(low, high), n_answers=2 if several else 1
    )
    for one in (answer, *answer.others):
        for change in one.changes:
            if change.column in MONOTONE:
                step = float(change.after) - float(change.before)
                assert (MONOTONE[change.column] * step > 0) == (now < low)


def test_what_the_user_says_comes_first():
    model, X = credit("two")
    rejected = X.iloc[[int(np.argmin(model.predict_proba(X)[:, 1]))]]
    down = dict.fromkeys(X.columns, "fixed") | {"income": "decrease"}
    answer = model.counterfactual(rejected, directions=down)
    assert not answer.found  # as it says itself
    with pytest.raises(ValueError, match=r"must be one of .*'either'\], got 'up'"):
        model.counterfactual(rejected, directions={"income": "up"})


def test_a_promise_that_does_not_hold_restricts_nothing():
    """A network that was turned by hand is not monotone any more."""
    X = pd.DataFrame({"a": np.linspace(0, 1, 80), "b": np.tile([0.0, 1.0], 40)})
    model = NeuralRuleRegressor(monotone={"a": 1}, **FEW).fit(X, X["a"] * 3 + X["b"])
    network = model.fitted_.state.network
    turned = with_fitted(
        model, state=State.start(network.with_parameters(
            network.parameters._replace(values=-network.parameters.values)))
    )  # fmt: skip
    assert turned.check_monotone()
    x = X.iloc[[40]]
    before = float(turned.predict(x)[0])
    answer = turned.counterfactual(x, (before + 0.5, None), fixed=["b"])
    assert answer.found
    assert answer.changes[0].after < answer.changes[0].before


@pytest.mark.parametrize(
    ("direction", "need", "way"),
    [
        ([1], [1], 1),
        ([-1], [1], -1),
        ([1, -1, -1], [1, -1, 0], 1),
        ([-1, 1, -1], [1, -1, 0], -1),
        ([-1, -1, 1], [1, -1, 0], 0),  # a third class
        ([1, NEITHER, -1], [0, 1, -1], 1),
        ([1, 1], [1, -1], 0),  # one target up, another down
        ([1, 0], [1, -1], 1),
    ],
)
def test_the_way_that_helps(direction, need, way):
    assert helpful_way(np.array(direction), np.array(need, float)) == way


def test_the_call_of_a_committee():
    """A probability, directions and whole numbers in one question."""
    model, X = credit("two")
    worst = X.iloc[[int(np.argmin(model.predict_proba(X)[:, 1]))]].astype(
        {"late_payments": float}
    )
    answer = model.counterfactual(
        worst,
        probability=0.8,
        directions={"late_payments": "decrease", "age": "fixed"},
        whole=["late_payments"],
    )
    changed = {change.column: change for change in answer.changes}
    assert "age" not in changed
    late = changed["late_payments"]
    assert late.after < late.before
    assert late.after % 1 == 0


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_nobody_is_told_to_leave_the_range_of_training(scaling):
    X = pd.DataFrame({"late": np.tile([0.0, 1.0, 2.0, 3.0], 20), "b": np.linspace(0, 1, 80)})
    model = NeuralRuleRegressor(scaling=scaling, **FEW).fit(X, X["late"] + X["b"])
    low, row = float(model.predict(X).min()), X.iloc[[42]]
    asked = {"target": (None, low - 0.05), "fixed": ["b"]}
    assert not model.counterfactual(row, **asked).found
    free = model.counterfactual(row, bounds={"late": (None, None)}, **asked)
    if scaling == "standard":  # numbers scaled by quantiles change nothing beyond them
        assert free.changes[0].after < 0
    # A row that lies outside may stay there and go on within what it is in already.
    outside = row.assign(late=-2.0)
    (change,) = model.counterfactual(outside, (low + 1, None), fixed=["b"]).changes
    assert change.before == -2
    assert 0 < change.after <= 3
