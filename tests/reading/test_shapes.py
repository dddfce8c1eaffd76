"""Shapes of columns and pairs against predictions for copies of the table."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import EVERY_MODEL, credit_table, fitted, fitted_on_rare_codes, network_outputs

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._reading._levels import OTHER, activations_along, bends

N_ROWS = 60


def some_rows(X):
    return X.iloc[::5][:N_ROWS] if isinstance(X, pd.DataFrame) else X[::5][:N_ROWS]


def with_cell(X, name, value):
    """A copy of a table whose column has the same cell in every row."""
    if not isinstance(X, pd.DataFrame):
        X = X.astype(float)
        X[:, int(name[1:])] = value
        return X
    if value == OTHER:
        value = "never seen"
    return X.assign(**{name: pd.Series([value] * len(X), X.index)})


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_a_shape_is_the_mean_output_of_copies_of_the_table(kind, deep):
    model, X, _ = fitted(kind, deep)
    rows = some_rows(X)
    weights = 1.0 + np.arange(len(rows)) % 3
    shapes = model.shapes(rows, n_values=6, sample_weight=weights)
    used = [model.encoder_.names[source] for source in model.fitted_.used_columns]
    assert sorted(shape.column for shape in shapes) == sorted(used)
    for shape in shapes:
        lines = np.array(
            [network_outputs(model, with_cell(rows, shape.column, v)) for v in shape.values]
        )
        means = np.average(lines, axis=1, weights=weights)
        size = 1 + np.abs(means).max()
        np.testing.assert_allclose(shape.outputs, means, atol=2e-5 * size)
        # The parts of the rules and the rest are the whole, also to the last digits.
        np.testing.assert_allclose(
            shape.rest + shape.parts.sum(axis=0), shape.outputs, atol=1e-12 * size
        )
        # Every row's line, moved to the mean of all, gives the band.
        lines -= np.einsum("v,vrk->rk", shape.shares, lines) - shape.mean
        inside = (lines >= shape.low[:, None] - 3e-5 * size) & (
            lines <= shape.high[:, None] + 3e-5 * size
        )
        held = np.average(inside, axis=1, weights=weights)
        assert (held >= 0.8).all()
        assert shape.shares.sum() == pytest.approx(1)
    importances = [shape.importance for shape in shapes]
    assert importances == sorted(importances, reverse=True)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_a_pair_is_the_mean_output_of_copies_of_the_table(kind, deep):
    model, X, _ = fitted(kind, deep)
    rows = some_rows(X)
    names = [shape.column for shape in model.shapes(rows)[:2]]
    if len(names) < 2:  # no pair to look at
        assert kind == "constant"
        return
    (pair,) = model.shapes(rows, [tuple(names)])
    singles = [
        np.array([network_outputs(model, with_cell(rows, name, v)).mean(axis=0) for v in own])
        for name, own in zip(names, pair.values, strict=True)
    ]
    middle = network_outputs(model, rows).mean(axis=0)
    size = 1 + np.abs(singles[0]).max()
    for i in range(0, len(pair.values[0]), 5):
        for j in range(0, len(pair.values[1]), 4):
            both = with_cell(
                with_cell(rows, names[0], pair.values[0][i]), names[1], pair.values[1][j]
            )
            joint = network_outputs(model, both).mean(axis=0)
            np.testing.assert_allclose(pair.outputs[i, j], joint, atol=2e-5 * size)
            alone = joint - singles[0][i] - singles[1][j] + middle
            np.testing.assert_allclose(pair.interaction[i, j], alone, atol=8e-5 * size)
    assert pair.shares.sum() == pytest.approx(1)
    assert pair.shares.shape == pair.outputs.shape[:2]


def credit_model(**options):
    X, y = credit_table(1500)
    return NeuralRuleClassifier(random_state=0, n_epochs=10, **options).fit(X, y), X


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_without_interactions_a_shape_is_exact_between_its_values(deep, scaling):
    """Its bends are among them, all rows have the same line, and shapes add up to the model."""
    names = list(credit_table(20)[0])
    model, X = credit_model(
        interactions=[[name] for name in names], deep=deep, scaling=scaling, n_trees=20
    )
    rows = X[:200]
    shapes = model.shapes(rows, n_values=5)
    rng = np.random.RandomState(0)
    total = network_outputs(model, rows).mean(axis=0)
    for shape in shapes:
        assert shape.exact
        assert shape.alone.all()
        np.testing.assert_allclose(shape.low, shape.high, atol=1e-9)
        np.testing.assert_allclose(shape.low, shape.outputs, atol=1e-9)
        cells = rows[shape.column]
        if shape.column == "region":
            own = pd.Series(shape.outputs[:, 0], shape.values)[cells].to_numpy()
        else:
            grid, cells = (
                np.asarray(part).astype("datetime64[s]").astype(float)
                if shape.column == "opened"
                else np.asarray(part, float)
                for part in (shape.values, cells)
            )
            own = np.interp(cells, grid, shape.outputs[:, 0])
            for at in rng.uniform(grid[0], grid[-1], 5):
                value = pd.Timestamp(round(at), unit="s") if shape.column == "opened" else at
                moved = network_outputs(model, with_cell(rows, shape.column, value))
                line = np.interp(at, grid, shape.outputs[:, 0])
                assert line == pytest.approx(moved.mean(), abs=2e-4)
        assert own.mean() == pytest.approx(shape.mean[0], abs=1e-9)
        total = total + (own - own.mean())[:, None]
    np.testing.assert_allclose(total, network_outputs(model, rows), atol=2e-4)
    for pair in model.shapes(rows, [("income", "age")]):
        assert not pair.rules.size
        assert not pair.interaction.any()
        assert pair.importance == 0


def test_values_are_in_the_users_units():
    model, X = credit_model()
    shapes = {shape.column: shape for shape in model.shapes(X)}
    opened = shapes["opened"].values
    assert opened.dtype == "datetime64[s]"
    assert opened[0] == X["opened"].min().to_datetime64()
    assert opened[-1] == X["opened"].max().to_datetime64()
    assert set(np.unique(X["late_payments"])) <= set(shapes["late_payments"].values)
    regions = list(model.shapes(X, ["region"])[0].values)
    assert sorted(regions) == sorted(X["region"].unique())
    assert shapes["income"].to_frame().shape == (len(shapes["income"].values), 6)


@pytest.mark.parametrize("with_holes", [True, False])
def test_rare_unknown_and_missing_categories_are_values(with_holes):
    model, X = fitted_on_rare_codes(with_holes)
    (shape,) = model.shapes(X)
    assert list(shape.values).index(OTHER) == len(shape.values) - 1 - with_holes
    assert (shape.values[-1] is None) == with_holes  # else a hole is one more unknown value
    known = set(shape.values) - {OTHER}
    for value, share in zip(shape.values, shape.shares, strict=True):
        same = [cell not in known if value == OTHER else cell == value for cell in X[:, 0]]
        assert share == pytest.approx(np.mean(same), abs=1e-12)
    np.testing.assert_allclose(
        shape.shares @ shape.outputs, network_outputs(model, X).mean(axis=0), atol=1e-5
    )


def test_missing_numbers_are_the_last_value():
    X = np.arange(80.0).reshape(40, 2)
    X[::4, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 5.0, X[:, 0])
    model = NeuralRuleRegressor(n_trees=3, n_epochs=5, random_state=0).fit(X, y)
    (shape,) = model.shapes(X, [0])
    assert np.isnan(shape.values[-1])
    assert not np.isnan(shape.values[:-1]).any()
    assert shape.shares[-1] == pytest.approx(0.25)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), deep=st.booleans())
def test_between_its_bends_a_rule_is_straight(seed, deep):
    rng = np.random.RandomState(seed)
    model, _, _ = fitted("hinge", deep)
    network = model.network_
    rule = int(rng.randint(network.n_rules))
    # All columns of the rule move at once, along a random way.
    features = np.unique(network.rule_columns(rule))
    start, end = 3 * rng.randn(2, len(features))
    shares = np.concatenate([[0.0], bends(network, rule, features, start, end), [1.0]])
    nothing = np.zeros((1, int(network.columns.max()) + 1), np.float32)

    def activation(at):
        moved = start + at[:, None] * (end - start)
        return activations_along(network, rule, nothing, features, moved)[0]

    at = rng.rand(200)
    line = np.interp(at, shares, activation(shares))
    tolerance = 1e-6 * (1 + np.abs(activation(shares)).max())
    np.testing.assert_allclose(line, activation(at), atol=tolerance)


def test_errors_say_what_to_do():
    model, X, _ = fitted("mixed")
    for options, message in [
        ({"columns": "income"}, r"columns='income' must be a list of columns"),
        ({"columns": ["wealth"]}, r"columns names the column 'wealth'"),
        ({"columns": [("income", "income")]}, r"not two different columns"),
        ({"n_values": 1}, r"n_values=1 must be a whole number of at least 2\."),
        ({"max_rows": 0}, r"max_rows=0 must be a whole number of at least 1\."),
        ({"sample_weight": np.zeros(len(X))}, r"(?i)zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.shapes(X, **options)


def test_a_sample_stands_for_a_large_table():
    model, X = credit_model()
    few, same, every = (
        model.shapes(X, ["income"], max_rows=n, random_state=0)[0] for n in (300, 300, None)
    )
    np.testing.assert_array_equal(few.outputs, same.outputs)
    assert abs(few.mean - every.mean)[0] < 0.5
    assert not np.array_equal(few.mean, every.mean)


def test_a_column_without_a_cell_is_at_its_mean_or_missing():
    model, X = credit_model()
    for name, hole in [("income", np.nan), ("opened", pd.NaT), ("region", None)]:
        empty = with_cell(X[:50], name, hole)
        (shape,) = model.shapes(empty, [name])
        means = network_outputs(model, empty).mean(axis=0)
        assert shape.shares[-1] == pytest.approx(1)
        np.testing.assert_allclose(shape.outputs[-1], means, atol=1e-5)
