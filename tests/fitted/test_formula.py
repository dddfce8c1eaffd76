"""The formula of a model, evaluated step by step, predicts what the model predicts."""

import numpy as np
import pandas as pd
import pytest
from models import EVERY_MODEL, fitted, network_outputs

from neuralrules import NeuralRuleRegressor
from neuralrules._data._columns import Number
from neuralrules._data._numbers import LARGEST
from neuralrules._data._table import check_table
from neuralrules._expression._nodes import evaluate
from neuralrules._fitted._formula import Formula


def cells_of(model, X):
    """The cells of each row as the encoder reads them, by the table's columns."""
    encoder, table = model.encoder_, check_table(X)
    columns = []
    for source in range(len(encoder.names)):
        is_number = isinstance(encoder.columns_of(source)[0], Number)
        read = encoder.numbers if is_number else encoder.categories
        columns.append(read(table, source).tolist())
    return [dict(enumerate(row)) for row in zip(*columns, strict=True)]


def outputs_of(formula, cells):
    """The outputs of one row, step after step."""
    steps = {}
    for x in formula.columns:
        node = x.value if formula.in_table_units else x.standardised
        steps[x.name] = evaluate(node, cells, {})
    for rule in formula.rules:
        for part in rule.parts:
            steps[part.name] = evaluate(part.value, cells, steps)
        steps[rule.name] = evaluate(rule.activation, cells, steps)
    places = range(formula.network.n_outputs)
    outputs = [evaluate(formula.output(place), cells, steps) for place in places]
    named = {f"d{place}": output for place, output in enumerate(outputs)}
    return outputs, [evaluate(prediction, cells, named) for prediction in formula.predictions]


@pytest.mark.parametrize("in_table_units", [False, True])
@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_decides_what_the_network_decides(kind, deep, in_table_units):
    model, X, _ = fitted(kind, deep)
    rows = X[:40]
    formula = Formula(model.fitted_, in_table_units=in_table_units)
    found = np.array([outputs_of(formula, cells)[0] for cells in cells_of(model, rows)])
    scale = 1.0 if hasattr(model, "classes_") else model.fitted_.task.scale
    expected = network_outputs(model, rows)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=1e-5, atol=1e-5)


def test_predictions_of_numbers_go_through_the_link():
    X = np.random.RandomState(0).randn(200, 2)
    y = np.random.RandomState(1).poisson(np.exp(X[:, 0]))
    model = NeuralRuleRegressor(4, loss="poisson", n_epochs=5, random_state=0).fit(X, y)
    formula = Formula(model.fitted_, in_table_units=True)
    found = [outputs_of(formula, cells)[1][0] for cells in cells_of(model, X[:20])]
    np.testing.assert_allclose(found, model.predict(X[:20]), rtol=1e-4)


@pytest.mark.parametrize("in_table_units", [False, True])
def test_columns_far_from_zero_and_cells_far_outside(in_table_units):
    """Digits are kept beside a mean of 1e13 deviations, and the encoder's bounds hold."""
    x = 1e9 + 1e-4 * np.random.RandomState(0).randn(300)
    y = x - 1e9 > 0
    model = NeuralRuleRegressor.paper(2, n_epochs=5, random_state=0).fit(x[:, None], y)
    rows = np.array([*x[:20], 1e18, -float(LARGEST), np.nan])[:, None]
    formula = Formula(model.fitted_, in_table_units=in_table_units)
    found = [outputs_of(formula, cells)[0][0] for cells in cells_of(model, rows)]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-5, atol=1e-5)


def test_only_what_rules_use_is_read():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"a": rng.randn(200), "unused": 1.0})
    frame["b"] = rng.choice(["x", "y"], 200)
    y = 0.1 * frame["a"] + 3 * (frame["b"] == "x")
    model = NeuralRuleRegressor.paper(2, n_epochs=2, random_state=0).fit(frame, y)
    formula = Formula(model.fitted_, in_table_units=True)
    assert [reading.name for reading in formula.readings.values()] == ["a", "b"]
    assert [reading.kind for reading in formula.readings.values()] == ["number", "text"]
