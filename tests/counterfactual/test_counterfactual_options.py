"""Directions, few changes, probabilities and several answers, against brute force."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from brute_force import check_smallest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import with_network
from strategies import real_numbers, small_networks, whole_numbers

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._counterfactual._ball import Ball, Moves, Together, highest_in

N_COLUMNS = 3
ROWS = np.array(list(itertools.product(range(4), repeat=N_COLUMNS)))
WHOLE = {"whole": range(N_COLUMNS), "bounds": dict.fromkeys(range(N_COLUMNS), (0, 3))}


def random_model(data, deep, scaling):
    """A classifier of two classes with a random network, and one of its rows."""
    X = data.draw(whole_numbers((40, N_COLUMNS), 4))
    X[-4:] = np.arange(4)[:, None]
    model = NeuralRuleClassifier(1, n_epochs=0, engine="numpy", scaling=scaling)
    model.fit(X * 1.1, np.arange(40) % 2)
    network = data.draw(small_networks(N_COLUMNS, deep=deep, spare=0))
    return with_network(model, network), X[0].astype(float)


@settings(max_examples=12)
@given(st.data(), st.booleans(), st.sampled_from(["standard", "quantile"]))
def test_directions_and_few_changes_match_brute_force(data, deep, scaling):
    model, x = random_model(data, deep, scaling)
    ways = [None, "increase", "decrease", "fixed"]
    chosen = data.draw(st.lists(st.sampled_from(ways), min_size=3, max_size=3))
    assume(set(chosen) != {"fixed"})
    directions = {i: way for i, way in enumerate(chosen) if way is not None}
    max_changes = data.draw(st.integers(1, 3))
    units = data.draw(real_numbers(N_COLUMNS, 0.3, 3))
    answer = model.counterfactual(
        x, units=dict(enumerate(units)), directions=directions, max_changes=max_changes, **WHOLE
    )
    steps = ROWS - x
    allowed = (np.count_nonzero(steps, axis=1) <= max_changes) & (
        model.predict(ROWS) != model.predict([x])
    )
    for i, way in directions.items():
        tests = {"increase": steps >= 0, "decrease": steps <= 0, "fixed": steps == 0}
        allowed &= tests[way][:, i]
    costs = (np.abs(ROWS - x) / units).sum(axis=1)
    check_smallest(answer, costs, allowed, np.abs(model.decision_function(ROWS)))
    if answer.found:
        assert len(answer.changes) <= max_changes


@settings(max_examples=12)
@given(st.data(), st.booleans(), st.sampled_from(["standard", "quantile"]))
def test_several_answers_match_brute_force(data, deep, scaling):
    model, x = random_model(data, deep, scaling)
    units = data.draw(real_numbers(N_COLUMNS, 0.3, 3))
    first = model.counterfactual(x, units=dict(enumerate(units)), n_answers=4, **WHOLE)
    wanted = model.predict(ROWS) != model.predict([x])
    gaps = np.abs(model.decision_function(ROWS))
    costs = (np.abs(ROWS - x) / units).sum(axis=1)
    answers = [first, *first.others]
    assert len(answers) == 4 or not answers[-1].found
    for answer in answers:
        check_smallest(answer, costs, wanted, gaps)
        assert answer.others == () or answer is first
        if answer.found:
            assert model.predict(answer.x)[0] == answer.prediction_after
            changed = answer.x[0] != x
            wanted &= (ROWS[:, changed] == x[changed]).any(axis=1)


@settings(max_examples=12)
@given(st.data(), st.booleans(), st.booleans(), st.integers(0, 1))
def test_probabilities_match_brute_force(data, deep, between, target):
    model, x = random_model(data, deep, "standard")
    chances = model.predict_proba(ROWS)[:, target]
    low = data.draw(st.floats(0.02, 0.98))
    high = min(low + data.draw(st.floats(0.05, 0.5)), 0.99) if between else np.inf
    now = model.predict_proba([x])[0, target]
    assume(not low <= now <= high)
    answer = model.counterfactual(
        x, target, probability=(low, high) if between else low, max_changes=2, **WHOLE
    )
    costs = (np.abs(ROWS - x) / [c.scale for c in model.encoder_.columns]).sum(axis=1)
    wanted = (low <= chances) & (chances <= high) & (np.count_nonzero(ROWS - x, axis=1) <= 2)
    gaps = np.minimum(np.abs(chances - low), np.abs(chances - high))
    check_smallest(answer, costs, wanted, np.where(gaps == 0, 1e-9, gaps))
    assert (answer.probability_of, answer.probability_before) == (target, pytest.approx(now))
    if answer.found:
        assert answer.probability_after == model.predict_proba(answer.x)[0, target]
        assert low <= answer.probability_after <= high


@given(st.data(), st.integers(1, 3), st.integers(1, 4))
def test_bounds_of_few_columns_hold(data, most, n_columns):
    n_moves = 2 * n_columns
    moves = Moves(
        effects=np.empty((n_moves, 0)),
        rates=np.ones(n_moves),
        most=data.draw(real_numbers(n_moves, 0.1, 3)),
        whole=np.zeros(n_moves, bool),
        first=np.ones(n_moves),
        groups=np.arange(n_columns).repeat(2),
        segments=np.full(n_moves, -1),
        together=Together(most),
    )
    slopes = data.draw(real_numbers(n_columns))
    gains = np.stack([slopes, -slopes], axis=1).reshape(1, n_moves)
    best = np.maximum(gains[0] * moves.most, 0).reshape(n_columns, 2).max(axis=1)
    (highest,) = highest_in(Ball(np.empty(0), moves, 100.0), gains, np.ones(1))
    assert highest == pytest.approx(1 + np.sort(best)[-most:].sum())


@pytest.fixture(scope="module")
def corner():
    """Class 1 is where both columns are above a half."""
    X = np.random.RandomState(0).uniform(-2, 2, (400, 2))
    frame = pd.DataFrame(X, columns=["u", "v"])
    y = (X > 0.5).all(axis=1).astype(int)
    return NeuralRuleClassifier.paper(2, random_state=0, n_epochs=30).fit(frame, y)


def test_text_of_several_answers(corner):
    result = corner.counterfactual({"u": 1.0, "v": 1.5}, n_answers=3)
    first, second, third = str(result).splitlines()
    assert re.fullmatch(
        r"Changing u from 1 to \S+ turns the prediction from 1 into 0\. "
        r"Cost \S+ \(proven smallest.*\)\.",
        first,
    )
    assert re.fullmatch(
        r"Or changing v from 1\.5 to \S+ turns the prediction from 1 into 0\. "
        r"Cost \S+ \(proven smallest of the others.*\)\.",
        second,
    )
    none = (
        "No other counterfactual for the prediction 1 was found, because there is none within "
        "the bounds: proven."
    )
    assert third == none
    assert (result.others[1].found, result.others[1].bound) == (False, np.inf)


def test_text_of_a_probability(corner):
    x = {"u": 1.0, "v": 1.5}
    low = corner.counterfactual(x, 1, probability=(None, 0.3))
    assert corner.predict_proba(low.x)[0, 1] <= 0.3
    start = re.escape(f"turns the probability of 1 from {low.probability_before:.3g} into 0.3.")
    assert re.search(start, str(low))
    assert corner.counterfactual(x, probability=0.7).cost == pytest.approx(low.cost, rel=1e-3)
    half = corner.counterfactual(x, probability=0.5)
    assert half.cost == pytest.approx(corner.counterfactual(x).cost, rel=1e-3)
    none = corner.counterfactual(x, probability=0.7, directions={"u": "increase", "v": "fixed"})
    assert not none.found
    assert "No counterfactual for the probability of 0 " in str(none)


def test_one_change_costs_more_than_two(corner):
    x = {"u": -1.0, "v": -0.5}
    both = corner.counterfactual(x)
    assert len(both.changes) == 2
    assert not corner.counterfactual(x, max_changes=1).found  # it would leave the table
    one = corner.counterfactual(x, max_changes=1, bounds=dict.fromkeys("uv", (None, None)))
    assert len(one.changes) == 1
    assert one.cost > 2 * both.cost
    assert one.optimal
    assert corner.counterfactual(x, max_changes=2).cost == pytest.approx(both.cost, rel=1e-3)


COUNT = "must be a whole number of at least 1."
CHANCE = (
    "probability must be a number p, for at least p, or a pair (low, high) with low < high, "
    "one of which may be None; all between 1e-06 and 1 - 1e-06. Got"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"directions": {"w": "fixed"}},
            "directions names the column 'w', which the model was not fitted on. Its columns "
            "are ['n', 'city'].",
        ),
        (
            {"directions": {"n": "up"}},
            "directions['n'] must be one of ['increase', 'decrease', 'fixed', 'either'], got "
            "'up'.",
        ),
        (
            {"directions": {"city": "increase"}},
            "directions['city'] must be 'fixed' or left out, because the column holds "
            "categories; got 'increase'. Name in bounds those that the cell may switch to.",
        ),
        (
            {"directions": "increase"},
            "directions must be a dict from column to value, got 'increase'. For example "
            "directions={'n': ...}.",
        ),
        (
            {"directions": {"n": "fixed", "city": "fixed"}},
            "directions hold all of the model's columns, ['n', 'city'], so that nothing can "
            "change. Leave out those that may.",
        ),
        ({"max_changes": 0}, f"max_changes=0 {COUNT}"),
        ({"max_changes": 1.5}, f"max_changes=1.5 {COUNT}"),
        ({"n_answers": True}, f"n_answers=True {COUNT}"),
        ({"probability": 1.0}, f"{CHANCE} 1.0."),
        ({"probability": "high"}, f"{CHANCE} 'high'."),
        ({"probability": (0.4, 0.2)}, f"{CHANCE} (0.4, 0.2)."),
        ({"probability": (None, None)}, f"{CHANCE} (None, None)."),
        ({"probability": 0.8, "target": 7}, "target=7 is none of the model's classes [0, 1]."),
    ],
)
def test_errors_name_what_came_and_the_remedy(options, message):
    frame = pd.DataFrame({"n": np.arange(10), "city": ["Rome", "Oslo"] * 5})
    model = NeuralRuleClassifier.paper(1, n_epochs=0).fit(frame, frame["n"] // 5)
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        model.counterfactual({"n": 5, "city": "Rome"}, **options)


def test_errors_of_probabilities_say_where_there_are_some(corner):
    x = {"u": 1.0, "v": 1.5}
    now = corner.predict_proba(pd.DataFrame([x]))[0, 1]
    message = (
        f"probability=0.5 holds already: that of class 1 is {now:.6g} for the row. Ask for "
        "another range or target."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        corner.counterfactual(x, 1, probability=0.5)
    X, y = np.arange(30.0)[:, None], np.arange(30) // 10
    needs = "probability needs two classes and loss='logistic'; this model has"
    for classes, loss in ((3, "logistic"), (2, "hinge")):
        model = NeuralRuleClassifier(1, n_epochs=0, loss=loss).fit(X, y % classes)
        has = re.escape(f"{needs} {classes} classes and loss={loss!r}. Leave it out")
        with pytest.raises(ValueError, match=has):
            model.counterfactual(X[0], probability=0.8)
    with pytest.raises(ValueError, match=r"^probability is for classifiers\. Ask a regressor"):
        NeuralRuleRegressor(1, n_epochs=0).fit(X, y).counterfactual(X[0], probability=0.8)
