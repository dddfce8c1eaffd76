"""Counterfactuals, against everything else that could have been changed."""

import ctypes
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from brute_force import check_smallest
from hypothesis import assume, given
from hypothesis import strategies as st
from models import with_network
from patience import NoDeadline
from platforms import unix
from scipy.optimize import linprog, milp
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from strategies import real_numbers, seeds, small_networks, whole_numbers

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._counterfactual import _answer, _solve
from neuralrules._counterfactual._answer import class_goal
from neuralrules._counterfactual._ball import (
    Affine,
    Ball,
    Moves,
    highest_in,
    highest_of_rectified,
)
from neuralrules._counterfactual._choices import read_choices, read_options
from neuralrules._counterfactual._program import solve_in_ball
from neuralrules._counterfactual._solve import NO_ROW, Deadline, Problem, Wanted, search
from neuralrules._estimators._base import engine_of

CATEGORIES = ["Lima", "Oslo", "Rome"]
units_of_cost = st.floats(0.3, 3)


def classifier(X, y, depth=2, **options):
    return NeuralRuleClassifier.paper(depth, random_state=0, **{"n_epochs": 0, **options}).fit(
        X, y
    )


def class_gaps(model, rows):
    """How far the outputs are from those of another class."""
    outputs = model.decision_function(rows)
    return (
        np.abs(outputs)
        if outputs.ndim == 1
        else np.sort(outputs)[:, -1] - np.sort(outputs)[:, -2]
    )


def l1_ball(rng, n_rows, n_columns):
    """Points of cost at most 1, many of them near the surface."""
    directions = rng.exponential(size=(n_rows, n_columns)) * rng.choice([-1, 1], (n_rows, 1))
    directions *= rng.choice([-1, 0, 1], directions.shape)
    sums = np.abs(directions).sum(axis=1, keepdims=True)
    return directions / np.where(sums > 0, sums, 1) * rng.uniform(size=(n_rows, 1)) ** 0.3


# --- exactness ----------------------------------------------------------------------------


@given(
    whole_numbers((60, 4), 60),
    st.integers(2, 3),
    st.booleans(),
    st.sampled_from([0, 5, 20]),
    st.tuples(units_of_cost, units_of_cost),
)
def test_whole_numbers_and_categories_match_brute_force(
    cells, n_classes, deep, n_epochs, units
):
    frame = pd.DataFrame(
        {
            "age": cells[:, 0] % 5,
            "city": np.array(CATEGORIES)[cells[:, 1] % 3],
            "member": cells[:, 2] % 2 == 1,
        }
    )
    y = (frame["age"] + 2 * (frame["city"] == "Rome") + cells[:, 3] % 3) % n_classes
    y[:n_classes] = range(n_classes)  # all of them are there
    model = classifier(frame, y, 3, deep=deep, n_epochs=n_epochs)
    units = {"age": units[0], "city": units[1], "member": 0.7}
    row = frame.iloc[[0]]
    result = model.counterfactual(row, units=units, bounds={"age": (0, 5)})
    space = itertools.product(range(6), CATEGORIES, [False, True])
    rows = pd.DataFrame(space, columns=frame.columns)
    costs = (
        (rows["age"] - row["age"].item()).abs() / units["age"]
        + (rows["city"] != row["city"].item()) / units["city"]
        + (rows["member"] != row["member"].item()) / units["member"]
    ).to_numpy()
    before = model.predict(row)[0]
    predictions, gaps = model.predict(rows), class_gaps(model, rows)
    check_smallest(result, costs, predictions != before, gaps, ties=not deep)
    assert result.found == np.isfinite(result.cost)
    for target in np.setdiff1d(model.classes_, before):
        wanted = model.counterfactual(row, target, units=units, bounds={"age": (0, 5)})
        check_smallest(wanted, costs, predictions == target, gaps, ties=not deep)


@given(
    st.data(),
    st.sampled_from(["two classes", "three classes", "numbers"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_random_networks_match_brute_force(data, task, deep, n_features):
    n_columns = n_features + 2
    X = data.draw(whole_numbers((40, n_columns), 5))
    X[-5:] = np.arange(5)[:, None]  # deviations so small that no ball holds all rows are rare
    y = np.arange(40) % (2 if task == "two classes" else 3)
    kind = NeuralRuleRegressor if task == "numbers" else NeuralRuleClassifier
    scaling = data.draw(st.sampled_from(["standard", "quantile"]))
    # Knots of a scaled column may lie at whole numbers, or between them.
    shift = data.draw(st.sampled_from([0, 0.3]))
    model = kind(1, n_epochs=0, engine="numpy", scaling=scaling).fit(X * 1.1 + shift, y)
    n_outputs = 3 if task == "three classes" else 1
    network = data.draw(small_networks(n_features, n_outputs, deep=deep))
    model = with_network(model, network)
    x = X[0].astype(float)
    part = data.draw(st.integers(0, n_columns - 1))
    more = data.draw(st.sampled_from([0, 0.3]))
    x[part] = min(x[part] + more, 4)  # a number that is not whole may stay
    cells = [range(5)] * n_columns
    cells[part] = sorted({*range(5), x[part]})
    rows = np.array(list(itertools.product(*cells)))
    units = data.draw(real_numbers(n_columns, 0.3, 3))
    costs = (np.abs(rows - x) / units).sum(axis=1)
    predictions = model.predict(rows)
    before, target = model.predict(x[None])[0], None
    wanted = predictions != before
    gaps = np.ones(len(rows)) if task == "numbers" else class_gaps(model, rows)
    if task == "numbers":
        ends = predictions.min() - 0.1, predictions.max() + 0.1
        low, high = np.sort(data.draw(real_numbers(2, *ends)))
        target = (low, high) if data.draw(st.booleans()) else (low, None)
        high = np.inf if target[1] is None else high
        assume(low < high)  # or it is no range
        assume(not low <= before <= high)
        wanted = (predictions >= low) & (predictions <= high)
        gaps = np.minimum(np.abs(predictions - low), np.abs(predictions - high))
    result = model.counterfactual(
        x,
        target,
        units=dict(enumerate(units)),
        whole=range(n_columns),
        bounds=dict.fromkeys(range(n_columns), (0, 4)),
    )
    provable = check_smallest(result, costs, wanted, gaps)
    assert result.bound == pytest.approx(result.cost) or not provable


@pytest.mark.parametrize(
    ("n_classes", "deep", "scaling"),
    [
        (2, False, "standard"),
        (2, True, "standard"),
        (3, False, "standard"),
        (3, True, "standard"),
        (2, False, "quantile"),
        (3, True, "quantile"),
    ],
)
def test_one_column_matches_a_fine_grid(n_classes, deep, scaling):
    rng = np.random.RandomState(n_classes)
    X = rng.uniform(-3, 3, (150, 1))
    if scaling == "quantile":
        X = X**3 / 9
    y = (np.floor(X[:, 0] * 1.3) % n_classes).astype(int)
    model = classifier(X, y, 4, deep=deep, n_epochs=15, scaling=scaling)
    grid = np.linspace(-6, 6, 60_001)[:, None]  # a step is 0.0002
    predictions = model.predict(grid)
    for x in rng.uniform(-3, 3, 8):
        before = model.predict([[x]])[0]
        result = model.counterfactual([x], units={0: 1.0}, bounds={0: (-6, 6)})
        expected = np.abs(grid[predictions != before, 0] - x).min()
        assert result.cost == pytest.approx(expected, abs=4e-4)
        assert result.optimal


@pytest.mark.parametrize(
    ("task", "deep", "scaling"),
    [
        *itertools.product(
            ["two classes", "three classes", "numbers"], [False, True], ["standard"]
        ),
        pytest.param("two classes", True, "quantile", marks=pytest.mark.slow),
        ("numbers", False, "quantile"),
        ("boosted classes", False, "quantile"),
    ],
)
def test_no_row_within_the_cost_would_do(task, deep, scaling):
    rng = np.random.RandomState(1)
    X = rng.randn(200, 3)
    X = (np.sinh(2 * X) / 3 if scaling == "quantile" else X) * [1, 10, 0.1] + [0, 100, 0]
    score = X[:, 0] * (X[:, 1] - 100) / 10 + 10 * X[:, 2]
    y = score if task == "numbers" else np.digitize(score, [0.3, 1] if "three" in task else [0])
    kind = NeuralRuleRegressor if task == "numbers" else NeuralRuleClassifier
    options = {"deep": deep, "n_epochs": 30, "random_state": 0, "scaling": scaling}
    if task == "boosted classes":  # with an intercept, and caps of rules
        model = kind(n_trees=3, start="leaf", **options).fit(X, y)
    else:
        model = kind.paper(3, **options).fit(X, y)
    deviations = np.array([column.scale for column in model.encoder_.columns])
    for x in X[:4]:
        before = model.predict(x[None])[0]
        target = (before + 1, before + 2) if task == "numbers" else None
        result = model.counterfactual(x, target)
        inside = x + l1_ball(rng, 20_000, 3) * deviations * result.cost * (1 - 1e-3)
        predictions = model.predict(inside)
        if task == "numbers":
            assert target[0] <= model.predict(result.x)[0] <= target[1]
            assert not ((predictions >= target[0]) & (predictions <= target[1])).any()
        else:
            assert model.predict(result.x)[0] == result.prediction_after != before
            assert (predictions == before).all()
        assert result.optimal
        assert result.bound == pytest.approx(result.cost, rel=1e-3)
        changed = np.abs(result.x[0] - x) / deviations
        assert result.cost == pytest.approx(changed.sum())


def test_a_scaled_row_comes_back_from_outside_of_the_knots():
    X = np.random.RandomState(0).lognormal(0, 1, (200, 2))
    model = NeuralRuleClassifier.paper(2, n_epochs=20, scaling="quantile", random_state=0)
    model.fit(X, X[:, 0] > 1)
    far = [1e4, 1.0]
    assert model.predict([far])[0]
    result = model.counterfactual(far, fixed=[1])
    grid = np.column_stack([np.linspace(0, 2, 20_001), np.ones(20_001)])
    expected = grid[~model.predict(grid), 0].max()
    assert result.x[0] == pytest.approx([expected, 1], abs=2e-4)
    assert result.optimal
    # From there no way leads up, and not far enough down if it must stay outside.
    none = model.counterfactual(far, fixed=[1], bounds={0: (1e3, 1e5)})
    assert not none.found
    assert none.bound == np.inf


def test_a_scaled_row_does_not_take_back_the_cost_of_a_flat_way():
    """A flat segment before a steep one, and a steep one on the other side."""
    X = np.concatenate([np.linspace(0, 1, 50), np.linspace(90, 91, 50)])[:, None]
    model = NeuralRuleClassifier.paper(2, n_epochs=0, scaling="quantile", random_state=0)
    model.fit(X, X[:, 0] > 90.5)
    for start in (0.9, 1.5, 50.0, 90.2):
        result = model.counterfactual([start], units={0: 1.0})
        assert result.optimal
        assert result.x[0, 0] == pytest.approx(90.5, abs=0.05)
        assert result.cost == pytest.approx(result.x[0, 0] - start)


def test_whole_scaled_numbers_go_one_way_only():
    X = np.repeat(np.arange(7), [5, 10, 30, 3, 2, 2, 2])[:, None]
    model = NeuralRuleRegressor.paper(1, n_epochs=0, scaling="quantile").fit(X, X[:, 0])
    (column,) = model.encoder_.columns
    z = column.knots.z
    network = replace(
        model.network_.take(np.array([0])),
        own_weights=np.ones(1, np.float32),
        biases=np.full(1, 10, np.float32),
        values=np.ones((1, 1), np.float32),
        intercept=np.zeros(1),
    )
    model = with_network(model, network)
    # Up to 3 and down to 1 at once would meet it, and no whole number does.
    between = 10 + z[2] + (z[3] - z[2]) - (z[2] - z[1])
    assert np.abs(np.array(z) + 10 - between).min() > 0.06
    result = model.counterfactual([2], (between - 0.05, between + 0.05))
    assert not result.found
    assert result.bound == np.inf
    there = model.counterfactual([2], (10 + z[4] - 0.05, None))
    assert there.x[0, 0] == 4


@given(st.data(), st.integers(1, 4), st.floats(0.1, 3))
def test_bounds_in_a_ball_are_exact(data, n_columns, radius):
    n_moves = 2 * n_columns
    moves = Moves(
        effects=np.empty((n_moves, 0)),
        rates=np.repeat(data.draw(real_numbers(n_columns, 0.1, 3)), 2),
        most=np.array([0.5, 2, np.inf])[data.draw(whole_numbers(n_moves, 3))],
        whole=np.zeros(n_moves, bool),
        first=np.ones(n_moves),
        groups=np.arange(n_columns).repeat(2),
        segments=np.full(n_moves, -1),
    )
    slopes = data.draw(real_numbers((3, n_columns)))
    gains = np.stack([slopes, -slopes], axis=2).reshape(3, n_moves)
    highest = highest_in(Ball(np.empty(0), moves.within(radius), radius), gains, np.ones(3))
    for gain, high in zip(gains, highest, strict=True):
        box = list(zip(np.zeros(n_moves), moves.most, strict=True))
        expected = 1 - linprog(-gain, moves.rates[None], [radius], bounds=box).fun
        assert high == pytest.approx(expected)


@given(st.data(), st.integers(1, 3), st.integers(1, 4), st.floats(0.1, 3), seeds)
def test_bounds_of_a_second_layer_hold(data, n_columns, n_literals, radius, seed):
    n_moves = 2 * n_columns
    moves = Moves(
        effects=np.empty((n_moves, 0)),
        rates=np.ones(n_moves),
        most=np.full(n_moves, np.inf),
        whole=np.zeros(n_moves, bool),
        first=np.ones(n_moves),
        groups=np.arange(n_columns).repeat(2),
        segments=np.full(n_moves, -1),
    )
    ball = Ball(np.empty(0), moves.within(radius), radius)
    slopes = data.draw(real_numbers((n_literals, n_columns)))
    constants = data.draw(real_numbers(n_literals))
    gains = np.stack([slopes, -slopes], axis=2).reshape(n_literals, n_moves)
    low, high = -highest_in(ball, -gains, -constants), highest_in(ball, gains, constants)
    literals = Affine(gains, np.arange(n_moves), constants)
    mixing, shifts = data.draw(real_numbers((4, n_literals))), data.draw(real_numbers(4))
    highest = highest_of_rectified(ball, literals, low, high)(mixing, shifts)
    points = l1_ball(np.random.RandomState(seed), 2_000, n_columns) * radius
    points[:n_columns], points[n_columns:n_moves] = np.eye(n_columns), -np.eye(n_columns)
    points[:n_moves] *= radius
    values = np.maximum(points @ slopes.T + constants, 0) @ mixing.T + shifts
    assert (values <= highest + 1e-9).all()  # on the surface they are equal but for rounding


@given(st.data(), st.booleans(), st.floats(0.5, 2))
def test_categories_are_not_mixed(data, deep, unit):
    frame = pd.DataFrame({"a": list("pqrs") * 10, "b": list("uvwxy") * 8})
    model = classifier(frame, np.arange(40) % 2, engine="numpy")
    model = with_network(model, data.draw(small_networks(9, deep=deep, spare=0)))
    rows = pd.DataFrame(itertools.product("pqrs", "uvwxy"), columns=["a", "b"])
    row, units = rows.iloc[[7]], {"a": unit}
    result = model.counterfactual(row, units=units)
    costs = ((rows["a"] != "q") / units["a"] + (rows["b"] != "w")).to_numpy()
    wanted = model.predict(rows) != model.predict(row)
    check_smallest(result, costs, wanted, class_gaps(model, rows))


def test_a_cell_holds_one_category_only():
    # One rule gives 1 for q, another one 1 for r: no cell gives 2.
    frame = pd.DataFrame({"a": list("pqr") * 20, "b": np.arange(60.0)})
    y = 3.0 * (frame["a"] == "q") - 3.0 * (frame["a"] == "r") + 9 * (frame["b"] > 29.5)
    model = NeuralRuleRegressor(1, rule_source="boosting", n_trees=12, n_epochs=0)
    network = model.fit(frame, y).network_
    network.values[:] = network.intercept[:] = 0
    for category in "qr":
        places = [model.encoder_.columns[i].record[2] == category for i in network.features]
        rule = int(np.argmax(network.weights @ places > 0))
        network.values[rule] = 2 * model.encoder_.columns[network.features[places][0]].scale
    row = {"a": "p", "b": 3.5}
    assert model.counterfactual(row, (0.9, None)).cost == 1
    result = model.counterfactual(row, (1.5, None))
    assert not result.found
    assert result.optimal


def test_whole_numbers_are_not_missed_by_going_both_ways():
    X = np.linspace(-2, 2, 401)[:, None]
    model = classifier(X, (X[:, 0] > 0.35) & (X[:, 0] < 0.45))
    assert model.counterfactual([0.6]).found
    # Going up by 0.4 to 1 and down by 0.6 to 0 at once would lead to 0.4.
    result = model.counterfactual([0.6], whole=[0], bounds={0: (-2, 2)})
    assert (result.found, result.optimal, result.bound) == (False, True, np.inf)


# --- proofs -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def square():
    X = np.random.RandomState(0).uniform(-3, 3, (500, 1))
    return NeuralRuleRegressor.paper(4, random_state=0).fit(X, X[:, 0] ** 2)


@pytest.mark.parametrize("width", [0.1, 1e-3, 1e-4, 2e-5, 1e-6])
def test_narrow_ranges_are_reached_at_the_lowest_cost(square, width):
    wide = square.counterfactual([0.5], (4, 5))
    result = square.counterfactual([0.5], (4, 4 + width))
    assert 4 <= square.predict(result.x)[0] <= 4 + width
    assert result.optimal
    assert result.cost == pytest.approx(wide.cost, rel=1e-3)
    grid = np.linspace(-6, 6, 1_000_001)
    outputs = square.predict(grid[:, None])
    inside = (outputs >= 4) & (outputs <= 4 + width)
    costs = np.abs(grid - 0.5) / square.encoder_.columns[0].scale
    assert result.bound <= costs[inside].min(initial=np.inf)


def test_a_range_too_narrow_for_float32_is_not_called_impossible(square):
    result = square.counterfactual([0.5], (4, np.nextafter(4, 5)))
    assert not result.optimal
    assert result.bound <= square.counterfactual([0.5], (4, 5)).cost
    assert "proven" not in str(result)


@given(st.data(), st.booleans(), st.integers(1, 3), st.integers(0, 63), st.integers(-14, -2))
def test_bounds_hold_for_every_row_that_predict_accepts(data, deep, n_outputs, row, digits):
    """Targets that are predictions: a float's width decides whether a row counts."""
    X = data.draw(whole_numbers((40, 3), 4))
    y = data.draw(real_numbers((40, n_outputs), 0, 1))
    y[:2] = [[0], [1]]  # no target is constant
    model = NeuralRuleRegressor.paper(1, n_epochs=0, engine="numpy").fit(X, y)
    model = with_network(model, data.draw(small_networks(1, n_outputs, deep=deep)))
    rows = np.array(list(itertools.product(range(4), repeat=3)))
    # One by one: NumPy's sums depend on how many rows there are.
    outputs = np.array([model.predict(row[None]).ravel() for row in rows])
    wanted = outputs[row]
    high = np.maximum(wanted + 10.0**digits, np.nextafter(wanted, np.inf))
    inside = ((outputs >= wanted) & (outputs <= high)).all(axis=1)
    assume(not inside[0])
    target = list(zip(wanted, high, strict=True))
    result = model.counterfactual(
        rows[0],
        target if n_outputs > 1 else target[0],
        units=dict.fromkeys(range(3), 1.0),
        bounds=dict.fromkeys(range(3), (0, 3)),
    )
    lowest = rows[inside].sum(axis=1).min()  # the wanted row at least
    assert result.bound <= lowest + 1e-6
    assert lowest <= result.cost + 1e-6
    assert not result.optimal or result.cost == pytest.approx(lowest, rel=1e-3)


@pytest.mark.parametrize("deep", [False, True])
def test_bounds_hold_for_classes_at_the_boundary(deep):
    """Rows just beyond the boundary, found by bisection, are never below the bound."""
    rng = np.random.RandomState(2)
    X = rng.randn(200, 2)
    model = classifier(X, X[:, 0] * X[:, 1] > 0.2, 3, deep=deep, n_epochs=20)
    for x in X[:12]:
        result = model.counterfactual(x, fixed=[1], units={0: 1.0})
        if not result.found:
            continue
        near, far = x[0], result.x[0, 0]
        for _ in range(80):
            middle = (near + far) / 2
            same = model.predict([[middle, x[1]]])[0] == result.prediction_before
            near, far = (middle, far) if same else (near, middle)
        assert result.optimal
        assert result.bound <= abs(far - x[0]) <= result.cost
        assert abs(far - x[0]) == pytest.approx(result.cost, rel=1e-3, abs=1e-4)


def test_text_says_to_what_a_cost_is_proven(square):
    result = square.counterfactual([0.5], (4, 5))
    known = "(proven smallest to 0.1 %)."
    assert str(replace(result, bound=result.cost * (1 - 1e-4))).endswith(known)
    assert str(replace(result, bound=result.cost)).endswith("(proven smallest).")


# --- options ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corner():
    """Class 1 is where both columns are above a half; both count the same."""
    X = np.random.RandomState(0).uniform(-2, 2, (400, 2))
    frame = pd.DataFrame(X, columns=["u", "v"])
    return classifier(frame, (X > 0.5).all(axis=1).astype(int)), frame


def test_units_choose_what_changes(corner):
    model, _ = corner
    x = {"u": 1.0, "v": 1.0}
    assert [c.column for c in model.counterfactual(x, units={"u": 5}).changes] == ["u"]
    assert [c.column for c in model.counterfactual(x, units={"v": 5}).changes] == ["v"]
    dear, cheap = (model.counterfactual(x, units={"u": u, "v": u}) for u in (0.5, 1))
    assert dear.cost == pytest.approx(2 * cheap.cost)


def test_fixed_columns_stay(corner):
    model, _ = corner
    x = {"u": 0.7, "v": 1.0}
    assert [c.column for c in model.counterfactual(x).changes] == ["u"]
    result = model.counterfactual(x, fixed=["u"])
    assert [c.column for c in result.changes] == ["v"]
    assert result.x["u"].item() == 0.7


def test_integers_end_at_whole_numbers(corner):
    model, _ = corner
    x = {"u": -1.5, "v": -0.5}
    result = model.counterfactual(x, whole=["u"], units={"u": 1, "v": 1})
    assert result.x["u"].item() == 1
    assert result.x["v"].item() == pytest.approx(0.5, abs=0.1)
    assert result.cost == pytest.approx(2.5 + 1, abs=0.1)
    away = model.counterfactual({"u": 0.9, "v": 0.9}, whole=["u"], fixed=["v"])
    assert away.x["u"].item() == 0


def test_bounds_hold_and_can_exclude_everything(corner):
    model, _ = corner
    x = {"u": 1.0, "v": 1.0}
    result = model.counterfactual(x, bounds={"u": (0.8, None)})
    assert [c.column for c in result.changes] == ["v"]
    none = model.counterfactual(x, bounds={"u": (0.8, 4), "v": [0.8, 4]})
    assert (none.found, none.optimal, none.bound, none.cost) == (False, True, np.inf, np.inf)
    assert (none.x, none.changes, none.prediction_after) == (None, (), None)
    assert str(none) == (
        "No counterfactual for the prediction 1 was found, because there is none within the "
        "bounds: proven."
    )
    assert none.to_frame().empty


def test_the_search_ends_at_its_largest_radius(corner):
    model, _ = corner
    far = model.counterfactual(
        {"u": 1.0, "v": 1.0}, bounds={"u": (0.8, None), "v": (0.8, None)}
    )
    assert not far.found
    assert far.optimal
    assert 32 < far.bound < np.inf
    known = f"because none costs up to {far.bound:.1f}: proven."
    assert str(far) == f"No counterfactual for the prediction 1 was found, {known}"


def test_rows_without_an_active_rule_are_counterfactuals():
    # Only the rule of class 1 is left: elsewhere the output is 0, which means class 0.
    X = np.arange(20.0)[:, None]
    model = classifier(X, X[:, 0] > 9.5, 1, max_rules=2)
    model.network_.values[model.network_.values[:, 0] < 0] = 0
    result = model.counterfactual([12], whole=[0], units={0: 1})
    assert result.x.tolist() == [[9]]
    assert result.optimal


def test_several_targets_are_reached_together():
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, (300, 2))
    model = NeuralRuleRegressor.paper(4, n_epochs=30, random_state=0).fit(
        X, X @ [[1, 1], [1, -1]]
    )
    x = np.array([0.2, 0.1])
    result = model.counterfactual(x, [(1, None), (None, -0.5)])
    first, second = model.predict(result.x)[0]
    assert first >= 1
    assert second <= -0.5
    inside = x + l1_ball(rng, 20_000, 2) * X.std(axis=0) * result.cost * (1 - 1e-3)
    outputs = model.predict(inside)
    assert not ((outputs[:, 0] >= 1) & (outputs[:, 1] <= -0.5)).any()


# --- tables -------------------------------------------------------------------------------


def test_every_kind_of_column(mixed_frame):
    frame, y = mixed_frame
    model = classifier(frame, y, 4, n_epochs=20)
    for index in (0, 1, 7, 11, 13, 35):  # with holes here and there
        row = frame.iloc[[index]]
        result = model.counterfactual(row)
        assert result.optimal
        assert model.predict(result.x)[0] != model.predict(row)[0]
        assert (result.x.dtypes == row.dtypes).all()
        assert result.x.index.equals(row.index)
        changed = [change.column for change in result.changes]
        same = [name for name in frame if name not in changed]
        pd.testing.assert_frame_equal(result.x[same], row[same])
        assert not result.x[changed].isna().any(axis=None)
        numbers = [name for name in changed if name not in ("city", "grade", "code")]
        assert not row[numbers].isna().any(axis=None)  # a missing number stays missing
        assert result.to_frame()["cost"].sum() == pytest.approx(result.cost)


@pytest.mark.parametrize("name", ["city", "grade", "code", "employed", "member", "children"])
def test_each_kind_of_column_can_change(mixed_frame, name):
    frame, _ = mixed_frame
    column = frame[name]
    y = (column == column.dropna().iloc[0]).fillna(False).astype(bool).to_numpy()
    model = classifier(frame, y, 2)
    index = int(np.flatnonzero(y)[0])
    result = model.counterfactual(frame.iloc[[index]], fixed=set(frame) - {name})
    assert [change.column for change in result.changes] == [name]
    assert result.x.dtypes[name] == column.dtype
    assert not model.predict(result.x)[0]
    dear = model.counterfactual(
        frame.iloc[[index]], fixed=set(frame) - {name}, units={name: 0.1}
    )
    if name != "children":  # a switch
        assert (result.cost, dear.cost) == (1, pytest.approx(10))
        assert result.x[name].item() in set(column)


def test_a_switch_of_a_truth_value_costs_one():
    rare = np.arange(50) % 10 == 0  # its deviation is 0.3
    forms = [rare[:, None], pd.DataFrame({"x0": rare}), pl.DataFrame({"x0": rare})]
    for X in [*forms, forms[1].astype("boolean")]:
        model = classifier(X, rare)
        (change,) = model.counterfactual(X[:1]).changes
        assert (change.before, change.after, change.cost) == (True, False, 1)
        assert model.counterfactual(X[:1], units={"x0": 0.5}).cost == 2
    numbers = rare.astype(int)[:, None]
    assert classifier(numbers, rare).counterfactual(numbers[0]).cost == pytest.approx(1 / 0.3)


def test_categories_can_be_limited(mixed_frame):
    frame, _ = mixed_frame
    model = classifier(frame[["city", "code"]], frame["city"] == "Rome")
    row = {"city": "Rome", "code": 1}
    for allowed in ("Oslo", "Lima"):
        result = model.counterfactual(row, bounds={"city": [allowed]})
        assert result.x["city"].item() == allowed
    assert not model.counterfactual(row, bounds={"city": []}).found
    model = classifier(frame[["city", "code"]], frame["code"] == 1)
    result = model.counterfactual(row, bounds={"code": [1, 3]})
    assert result.x["code"].item() == 3


def test_missing_and_unknown_categories_can_become_known(mixed_frame):
    frame, _ = mixed_frame
    model = classifier(frame[["city"]], frame["city"] == "Rome")
    for cell in (None, np.nan, "Paris"):
        result = model.counterfactual({"city": cell})
        assert result.x["city"].item() == "Rome"
    assert str(model.counterfactual({"city": None})) == (
        "Changing city from missing to Rome turns the prediction from False into True. "
        "Cost 1 (proven smallest)."
    )


def test_a_row_of_missing_numbers_has_no_counterfactual():
    X = np.arange(20.0)[:, None]
    model = classifier(X, X[:, 0] > 9.5)
    result = model.counterfactual([np.nan])
    assert (result.found, result.optimal, result.bound) == (False, True, np.inf)


def test_the_form_of_the_row_is_kept():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"a": rng.randn(100), "b": rng.choice(["p", "q"], 100)})
    y = ((frame["a"] > 0) & (frame["b"] == "p")).astype(int)
    row, b = {"a": 0.5, "b": "p"}, "category"
    named = classifier(frame, y)
    for x in (row, pd.Series(row), pd.DataFrame([row]), pd.DataFrame([row]).astype({"b": b})):
        result = named.counterfactual(x)
        assert isinstance(result.x, pd.DataFrame)
        assert list(result.x) == ["a", "b"]
        assert named.predict(result.x).tolist() == [0]
    polars = classifier(pl.DataFrame({name: frame[name].to_list() for name in frame}), y)
    for dtype in (pl.String, pl.Categorical, pl.Enum(["p", "q"]), pl.Enum(["p"])):
        x = pl.DataFrame({"a": [0.5], "b": pl.Series(["p"], dtype=dtype)})
        for fixed in ("a", "b"):
            result = polars.counterfactual(x, fixed=[fixed])
            assert isinstance(result.x, pl.DataFrame)
            assert polars.predict(result.x).tolist() == [0]
    unnamed = classifier(frame.to_numpy(), y)
    for x in ([0.5, "p"], [[0.5, "p"]], np.array([0.5, "p"], object), {"x0": 0.5, 1: "p"}):
        result = unnamed.counterfactual(x, fixed=["x0"])
        assert isinstance(result.x, np.ndarray)
        assert result.x.tolist() == [[0.5, "q"]]


def test_integer_columns_are_recognised_and_can_be_freed():
    frame = pd.DataFrame({"age": np.arange(20, 60)})
    model = classifier(frame, frame["age"] > 39)
    kept = model.counterfactual(frame.iloc[[30]], units={"age": 1})
    assert (kept.x["age"].item(), kept.x["age"].dtype) == (39, np.int64)
    two = frame.assign(late=np.tile([0.0, 1.0], 20))
    named = classifier(two, two["age"] > 39).counterfactual(
        two.iloc[[30]], whole=["late"], fixed=["late"]
    )
    assert named.x["age"].item() == 39  # still, beside the one that is named
    freed = model.counterfactual(frame.iloc[[30]], units={"age": 1}, whole=[])
    assert freed.x["age"].item() == pytest.approx(39.5, abs=1e-3)
    table = pl.from_pandas(frame)
    polars = classifier(table, frame["age"] > 39)
    assert polars.counterfactual(table[30]).x.equals(pl.DataFrame({"age": [39]}))
    assert polars.counterfactual(table[30], whole=[]).x["age"].dtype == pl.Float64
    X = frame.to_numpy()
    plain = classifier(X, X[:, 0] > 39)
    assert plain.counterfactual(X[30]).x.tolist() == [[39]]
    assert plain.counterfactual(X[30], whole=[]).x.dtype == np.float64


FORMS = {
    "array": lambda column, dtype: column.astype(dtype)[:, None],
    "swapped": lambda column, dtype: column.astype(np.dtype(dtype).newbyteorder())[:, None],
    "pandas": lambda column, dtype: pd.DataFrame({"n": column}, dtype=dtype),
    "nullable": lambda column, dtype: pd.DataFrame(
        {"n": column}, dtype=dtype.capitalize().replace("Ui", "UI")
    ),
    "polars": lambda column, dtype: pl.DataFrame({"n": column.astype(dtype)}),
}


# Every form of one type and every type in one form; the slow tests have all pairs.
@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        pytest.param(
            form,
            dtype,
            marks=() if form == "array" or dtype == "int8" else pytest.mark.slow,
        )
        for form in FORMS
        for dtype in ("uint8", "int8", "uint16", "int32", "int64")
    ],
)
def test_integers_stay_in_the_range_of_their_dtype(form, dtype):
    limits = np.iinfo(dtype)
    step = 2**50 if dtype == "int64" else 1  # of floats as large as the ends
    for end, sign in ((limits.min, 1), (limits.max, -1)):
        column = end + sign * step * np.arange(20)
        X = FORMS[form](column, dtype)
        # The output falls towards the end of the range, and would fall beyond it.
        model = NeuralRuleRegressor.paper(1, n_epochs=0).fit(X, np.arange(20.0))
        last, second = model.predict(X[:2])
        beyond = (None, 3 * last - 2 * second)
        lifted = {"bounds": {model.encoder_.names[0]: (None, None)}}
        for whole in (None, []):
            assert not model.counterfactual(X[5:6], beyond, whole=whole, **lifted).found
            nearly = model.counterfactual(X[5:6], (None, last + 1e-3), whole=whole, **lifted)
            assert sign * (nearly.changes[0].after - end) <= step / 100
        floats = FORMS[form](column.astype(float), "float64")
        free = model.counterfactual(floats[5:6], beyond, **lifted)
        assert sign * (free.changes[0].after - end) < -step
        reached = model.counterfactual(X[5:6], (None, (last + second) / 2))
        assert abs(reached.changes[0].after - end) < step
        if isinstance(X, np.ndarray):
            assert reached.x.dtype == X.dtype
        else:
            assert list(reached.x.dtypes) == list(X.dtypes)
        assert model.predict(reached.x)[0] <= (last + second) / 2


def test_bounds_and_the_range_of_a_dtype_hold_together():
    X = np.arange(100, 140, dtype=np.uint8)[:, None]
    model = NeuralRuleRegressor.paper(1, n_epochs=0).fit(X, X[:, 0])
    far = model.counterfactual(X[0], (1e3, None), bounds={0: (-10, 1000)})
    near = model.counterfactual(X[0], (1e3, None), bounds={0: (-10, 120)})
    assert (far.found, far.bound) == (near.found, near.bound) == (False, np.inf)
    top = np.array([2**63 - 1])  # as a float it does not fit
    model = NeuralRuleRegressor.paper(1, n_epochs=0).fit([[0], [2**62]], [0, 1])
    assert model.counterfactual(top, (None, 0.9), bounds={0: (0, None)}).found


def test_rounding_of_a_float32_table_is_overcome():
    # One float32 step of these dates is a thousandth of their deviation.
    X = (1.6e9 + np.arange(0, 4e5, 1e3)).astype(np.float32)[:, None]
    model = classifier(X, X[:, 0] > 1.6002e9)
    for x in X[[10, 390]]:
        result = model.counterfactual(x)
        assert result.x.dtype == np.float32
        assert model.predict(result.x)[0] != model.predict(x[None])[0]
        assert result.bound <= result.cost * (1 + 1e-9)


def test_a_solution_that_predict_denies_is_not_called_proven():
    X = np.arange(20.0)[:, None]
    model = classifier(X, X[:, 0] > 9.5)
    columns = read_choices(model.encoder_, X[:1], read_options(model.encoder_))
    wanted = Wanted([class_goal(model.network_, 1, 0)], lambda prediction: False)
    problem = Problem.of(model.fitted_, engine_of(model), X[:1], columns, wanted)
    outcome = search(problem, NoDeadline(1))
    assert outcome.best is NO_ROW
    assert not outcome.proven
    assert outcome.bound < 2


# --- time ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def cancer_model(cancer):
    return NeuralRuleClassifier.paper(4, random_state=0).fit(*cancer)


@pytest.mark.parametrize(
    "index",
    [
        80,
        320,
        *(pytest.param(i, marks=pytest.mark.slow) for i in range(0, 560, 80) if i % 240 != 80),
    ],
)
def test_breast_cancer_is_solved_to_proven_optimality(cancer, cancer_model, index):
    X, model = cancer[0], cancer_model
    rng = np.random.RandomState(index)
    deviations = np.array([column.scale for column in model.encoder_.columns])
    row = X.iloc[[index]]
    result = model.counterfactual(row)
    assert result.optimal
    assert model.predict(result.x)[0] != model.predict(row)[0]
    shifts = l1_ball(rng, 2_000, X.shape[1]) * deviations * result.cost * (1 - 1e-3)
    inside = pd.DataFrame(row.to_numpy() + shifts, columns=X.columns)
    assert (model.predict(inside) == result.prediction_before).all()


@pytest.fixture(scope="module")
def hard_model(cancer):
    """No ball that holds a counterfactual is solved within seconds."""
    return NeuralRuleClassifier.paper(6, deep=True, n_epochs=30, random_state=0).fit(*cancer)


def assert_best_so_far(model, row, result):
    assert result.found
    assert not result.optimal
    assert 0 < result.bound < result.cost
    assert model.predict(result.x)[0] == result.prediction_after != model.predict(row)[0]
    text = r"turns the prediction from 0 into 1\. Cost \S+ \(the smallest is at least \S+\)\.$"
    assert re.search(text, str(result))


class Hourglass:
    """A clock that stands still until somebody turns it; then all time is over."""

    def __init__(self):
        self.turned = False

    def __call__(self):
        return 1e9 if self.turned else 0.0


def test_the_best_so_far_is_returned_when_time_is_over(cancer, hard_model, monkeypatch):
    clock = Hourglass()

    def solve_one(*arguments):
        clock.turned = True
        return solve_in_ball(*arguments)

    monkeypatch.setattr(_answer, "Deadline", partial(Deadline, clock=clock))
    monkeypatch.setattr(_solve, "solve_in_ball", solve_one)
    row = cancer[0].iloc[[0]]
    result = hard_model.counterfactual(row)
    assert_best_so_far(hard_model, row, result)
    assert result.seconds == 1e9


def test_the_best_so_far_is_returned_when_the_solver_gives_up(cancer, hard_model, monkeypatch):
    """As it does when its time is over: here before the first of its steps."""
    calls = []

    def give_up(*arguments, options, **others):
        calls.append(options)
        return milp(*arguments, options={**options, "node_limit": 0}, **others)

    monkeypatch.setattr("scipy.optimize.milp", give_up)
    row = cancer[0].iloc[[0]]
    assert_best_so_far(hard_model, row, hard_model.counterfactual(row))
    assert len(calls) == 1


def test_a_row_of_a_solver_that_gives_up_is_not_called_optimal(monkeypatch):
    def not_proven(*arguments, **options):
        result = milp(*arguments, **options)
        result.status, result.mip_dual_bound = 1, 0.0
        return result

    X = np.arange(20.0)[:, None]
    model = classifier(X, X[:, 0] > 9.5)
    best = model.counterfactual(X[0])
    monkeypatch.setattr("scipy.optimize.milp", not_proven)
    result = model.counterfactual(X[0])
    assert result.found
    assert not result.optimal
    assert result.bound < 0.9 * best.bound  # only smaller balls were proven to be empty
    assert best.cost <= result.cost


def test_nothing_is_found_without_time(cancer, hard_model, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(_answer, "Deadline", partial(Deadline, clock=lambda: next(ticks)))
    at_once = hard_model.counterfactual(cancer[0].iloc[[0]], time_limit=1)
    assert (at_once.found, at_once.optimal, at_once.bound) == (False, False, 0)
    assert str(at_once) == (
        "No counterfactual for the prediction 0 was found so far; every one costs at least 0."
    )


def test_each_answer_has_the_time_limit_and_the_solver_what_is_left_of_it(monkeypatch):
    ticks, asked, left = itertools.count(), [], []

    def deadline(seconds):
        asked.append(seconds)
        return Deadline(seconds, clock=lambda: next(ticks))

    def solve(*arguments, options, **others):
        left.append(options["time_limit"])
        return milp(*arguments, options={**options, "time_limit": np.inf}, **others)

    X = np.random.RandomState(0).randn(60, 2)
    model = classifier(X, X.sum(axis=1) > 0)
    monkeypatch.setattr(_answer, "Deadline", deadline)
    monkeypatch.setattr("scipy.optimize.milp", solve)
    one = model.counterfactual(X[0], time_limit=1000)
    assert one.found
    assert 0 < one.seconds <= next(ticks)
    assert len(left) >= 2
    assert all(1000 - next(ticks) < seconds < 1000 for seconds in left)
    asked.clear()
    assert model.counterfactual(X[0], time_limit=1000, n_answers=2).others[0].found
    assert len(asked) >= 2
    assert set(asked) == {1000}


# --- output -------------------------------------------------------------------------------


@unix
def test_the_solver_prints_nothing(capfd, square):
    """HiGHS does so whenever it repairs a solution, as for the two rows."""
    square.counterfactual([0.5], (4, 5))
    X = np.random.RandomState(3).uniform(-3, 3, (150, 1))
    y = (np.floor(X[:, 0] * 1.3) % 3).astype(int)
    model = classifier(X, y, 4, deep=True, n_epochs=15)
    for x in (2.2632722336659024, 2.280748741495893):
        assert model.counterfactual([x], units={0: 1.0}, bounds={0: (-6, 6)}).optimal
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr() == ("", "")


@unix
def test_what_a_solver_prints_is_discarded(capfd, monkeypatch):
    """Whether HiGHS has something to say depends on its version and on the last digits."""
    library = ctypes.CDLL(None)

    def chatty(*arguments, **options):
        library.puts(b"noise")
        return milp(*arguments, **options)

    monkeypatch.setattr("scipy.optimize.milp", chatty)
    X = np.arange(20.0)[:, None]
    assert classifier(X, X[:, 0] > 9.5).counterfactual(X[0]).found
    library.fflush(None)
    assert capfd.readouterr() == ("", "")


# --- text and errors ----------------------------------------------------------------------


def test_text(corner):
    model, _ = corner
    result = model.counterfactual({"u": -1.0, "v": -0.5}, whole=["u", "v"], units={"u": 1})
    assert str(result.changes[0]) == "u from -1 to 1"
    cost = f"{result.cost:.2f}"
    assert str(result) == (
        f"Changing u from -1 to 1 and v from -0.5 to 1 turns the prediction from 0 into 1. "
        f"Cost {cost} (proven smallest)."
    )
    assert repr(result) == f"<Counterfactual: {result}>"
    frame = result.to_frame()
    assert frame[["column", "before", "after"]].to_numpy().tolist() == [
        ["u", -1, 1],
        ["v", -0.5, 1],
    ]


def test_close_numbers_are_told_apart_in_text():
    X = 1e8 + np.arange(20.0)[:, None]
    model = classifier(X, X[:, 0] > 1e8 + 9.5)
    result = model.counterfactual([1e8 + 11], whole=[0])
    assert str(*result.changes) == "x0 from 100000011 to 100000009"


def test_pandas_is_not_needed_by_an_import():
    # scikit-learn loads it if it is there, so it must not be.
    code = "import sys; sys.modules['pandas'] = None; import neuralrules._counterfactual"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pandas_is_asked_for_where_it_is_needed(corner, monkeypatch):
    model, frame = corner
    result = model.counterfactual(frame.iloc[[0]])
    monkeypatch.setitem(sys.modules, "pandas", None)
    remedy = (
        "needs pandas, which is not installed. "
        'Install it with: pip install "neuralrules[frames]"'
    )
    with pytest.raises(ImportError, match=f"^to_frame {re.escape(remedy)}$"):
        result.to_frame()
    start = "x as a dict, for a model that was fitted on a frame,"
    with pytest.raises(ImportError, match=f"^{start} {re.escape(remedy)}$"):
        model.counterfactual({"u": 0.0, "v": 0.0})


def test_a_fit_is_needed():
    with pytest.raises(NotFittedError):
        NeuralRuleClassifier().counterfactual([0.0])


WIDTH = "must be a range with low < high,"
WHY = (
    "predictions are made in float32 and meet a single number only by chance. Ask for a "
    "range around it, or give None where there is no bound."
)
PAIR = "must be a pair (low, high) of numbers with low <= high, None where there is no bound"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"units": {"w": 1}},
            "units names the column 'w', which the model was not fitted on. Its columns are "
            "['n', 'city'].",
        ),
        (
            {"fixed": [0]},
            "fixed names the column 0, which the model was not fitted on. Its columns are "
            "['n', 'city'].",
        ),
        (
            {"whole": ["x0"]},
            "whole names the column 'x0', which the model was not fitted on. Its columns "
            "are ['n', 'city'].",
        ),
        (
            {"bounds": {"w": (0, 1)}},
            "bounds names the column 'w', which the model was not fitted on. Its columns are "
            "['n', 'city'].",
        ),
        (
            {"units": {"n": 0}},
            "units['n'] must be a positive number, got 0. To keep the column as it is, name "
            "it in fixed.",
        ),
        (
            {"units": {"n": "1"}},
            "units['n'] must be a positive number, got '1'. To keep the column as it is, "
            "name it in fixed.",
        ),
        (
            {"units": [1, 2]},
            "units must be a dict from column to value, got [1, 2]. For example "
            "units={'n': ...}.",
        ),
        (
            {"fixed": "n"},
            "fixed must be a list of columns, got 'n'. For example fixed=['n'].",
        ),
        (
            {"fixed": ["n", "city"]},
            "fixed names all of the model's columns, ['n', 'city'], so that nothing can "
            "change. Leave out those that may.",
        ),
        (
            {"whole": ["city"]},
            "whole names the column 'city', which holds categories. Name columns of "
            "numbers only.",
        ),
        ({"bounds": {"n": (3, 1)}}, f"bounds['n'] {PAIR}; got (3, 1)."),
        ({"bounds": {"n": 3}}, f"bounds['n'] {PAIR}; got 3."),
        ({"bounds": {"n": (0, np.nan)}}, f"bounds['n'] {PAIR}; got (0, nan)."),
        ({"bounds": {"n": ("a", 1)}}, f"bounds['n'] {PAIR}; got ('a', 1)."),
        (
            {"bounds": {"n": (7, 9)}},
            "bounds['n']=(7, 9) leave out the row's own value 5. Widen them, or change x "
            "first.",
        ),
        (
            {"bounds": {"city": "Rome"}},
            "bounds['city'] must be a list of categories, got 'Rome'. The model knows "
            "['Oslo', 'Rome'].",
        ),
        (
            {"bounds": {"city": ["Rome", "Bonn"]}},
            "bounds['city'] allows 'Bonn', which is none of the categories that the model "
            "knows: ['Oslo', 'Rome'].",
        ),
        ({"target": 7}, "target=7 is none of the model's classes [0, 1]."),
        (
            {"target": 1},
            "target=1 is what the model predicts for the row already. Ask for another of its "
            "classes [0, 1], or leave target out.",
        ),
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0."),
        (
            {"units": {"n": 1e300}},
            "units['n'] must lie between 2.87e-06 and 2.87e+06, a factor of 1e+06 from the "
            "usual 2.87, for the search to weigh it against other columns; got 1e+300. To "
            "keep the column as it is, name it in fixed.",
        ),
        (
            {"units": {"city": 1e-300}},
            "units['city'] must lie between 1e-06 and 1e+06, a factor of 1e+06 from the "
            "usual 1, for the search to weigh it against other columns; got 1e-300. To "
            "keep the column as it is, name it in fixed.",
        ),
        (
            {"target": np.array([0, 1])},
            "target=array([0, 1]) is none of the model's classes [0, 1].",
        ),
        ({"target": [0]}, "target=[0] is none of the model's classes [0, 1]."),
        ({"time_limit": "1"}, "time_limit must be a positive number of seconds, got '1'."),
        (
            {"x": pd.DataFrame({"n": [1, 2], "city": ["Rome", "Oslo"]})},
            "x must be one row, got 2 rows. Pass for example X.iloc[[0]], X[:1] or a dict "
            "with the columns ['n', 'city'].",
        ),
        (
            {"x": {"n": 5}},
            "x lacks the columns ['city']. Give each of ['n', 'city'] a value, NaN if it is "
            "missing.",
        ),
        (
            {"x": {"n": 5, "city": "Rome", "w": 1}},
            "x names the column 'w', which the model was not fitted on. Its columns are "
            "['n', 'city'].",
        ),
    ],
)
def test_errors_name_what_came_and_the_remedy(options, message):
    frame = pd.DataFrame({"n": np.arange(10), "city": ["Rome", "Oslo"] * 5})
    model = classifier(frame, (frame["n"] > 4.5).astype(int), 1)
    options = {"x": {"n": 5, "city": "Rome"}, **options}
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        model.counterfactual(**options)


def test_a_time_limit_may_be_endless():
    X = np.arange(10.0)[:, None]
    model = classifier(X, X[:, 0] > 4.5)
    assert model.counterfactual(X[0], time_limit=10**400).optimal
    assert model.counterfactual(X[0], time_limit=np.inf).optimal


def test_errors_of_columns_without_names():
    X = np.arange(10.0)[:, None]
    message = (
        "fixed names the column 1, which the model was not fitted on. Its columns are ['x0'] "
        "or the numbers 0 to 0."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        classifier(X, X[:, 0] > 4.5).counterfactual(X[0], fixed=[1])


@pytest.mark.parametrize(
    ("n_targets", "target", "message"),
    [
        (1, None, f"target {PAIR}; got None."),
        (1, 5.0, f"target {PAIR}; got 5.0."),
        (1, (2, 1), f"target {PAIR}; got (2, 1)."),
        (1, (4, 4), f"target {WIDTH} got (4, 4): {WHY}"),
        (1, (np.inf, None), f"target {WIDTH} got (inf, None): {WHY}"),
        (1, (10**400, None), f"target {WIDTH} got ({10**400}, None): {WHY}"),
        (2, [(3, 4), (None, -np.inf)], f"target {WIDTH} got (None, -inf): {WHY}"),
        (
            1,
            (None, 100),
            "target=(None, 100) holds already: the model predicts 2.0 for the row. Ask for "
            "another range.",
        ),
        (
            2,
            (1, 2, 3),
            "target must be a list of 2 pairs (low, high), one for each target of the "
            "regressor; got (1, 2, 3).",
        ),
        (2, (1, 2), f"target {PAIR}; got 1."),
    ],
)
def test_errors_of_ranges(n_targets, target, message):
    X = np.arange(10.0)[:, None]
    y = np.repeat(np.where(X > 4.5, 7.0, 2.0), n_targets, axis=1).squeeze()
    model = NeuralRuleRegressor.paper(1, n_epochs=0).fit(X, y)
    model.network_.values[:] = 0
    model.network_.intercept[:] = 2
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.counterfactual(X[0], target)


def test_a_list_whose_categories_are_missing():
    """NumPy makes floats of numbers and None; a category must fit in all the same."""
    rows = [[float(i), "Rome" if i % 2 else "Oslo"] for i in range(40)]
    rows += [[float(i), None] for i in range(20)]
    y = [cell == "Rome" for _, cell in rows]
    model = NeuralRuleClassifier.paper(3, n_epochs=5, random_state=0).fit(rows, y)
    result = model.counterfactual([3.0, None], True)
    assert str(result.changes[0]) == "x1 from missing to Rome"
    assert model.predict(result.x).tolist() == [True]
