"""The display of shapes: what is drawn is what `model.shapes` computes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from models import credit_table
from sklearn.datasets import load_iris

mpl.use("Agg")
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleClassifier
from neuralrules._charts._shapes import shown_range
from neuralrules.plot import ShapeDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def credit():
    X, y = credit_table(1000)
    X.loc[::10, "income"] = np.nan
    return NeuralRuleClassifier(random_state=0, n_epochs=5).fit(X, y), X


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return NeuralRuleClassifier(2, random_state=0, n_epochs=5).fit(X, y), X


def test_the_line_is_the_shape_of_the_rarest_class(credit):
    """bad is the first of two classes, and outputs are log odds of the second."""
    model, X = credit
    for shape in model.shapes(X):
        display = ShapeDisplay.from_shape(shape, model=model)
        low, high = shown_range(shape._levels)  # without long tails
        numbers = shape._levels.numbers
        shown = (numbers >= low) & (numbers <= high)
        assert shown.sum() > 3
        np.testing.assert_array_equal(display.line_.get_xdata(), numbers[shown])
        np.testing.assert_allclose(display.line_.get_ydata(), -shape.outputs[shown, 0])
        assert display.ax_.get_ylabel() == "mean log odds of bad"
        shares = np.array([bar.get_height() for bar in display.rows_])
        assert shares.max() > 0
    good = ShapeDisplay.from_estimator(model, X, "age", output="good")
    bad = ShapeDisplay.from_estimator(model, X, "age", output="bad")
    np.testing.assert_allclose(good.line_.get_ydata(), -bad.line_.get_ydata())


def test_missing_numbers_stand_apart_and_categories_have_names(credit):
    model, X = credit
    display = ShapeDisplay.from_estimator(model, X, "income")
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks[-1] == "missing"
    (beside,) = display.ax_.child_axes
    texts = [tick.get_text() for tick in beside.get_yticklabels()]
    assert all(text.endswith("\u202f%") for text in texts)
    assert texts
    display = ShapeDisplay.from_estimator(model, X, "region")
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == list(display.shape.values)
    display = ShapeDisplay.from_estimator(model, X, "opened")
    assert all(tick.get_text()[:2] == "20" for tick in display.ax_.get_xticklabels())


@pytest.mark.parametrize("effect", ["outputs", "interaction"])
@pytest.mark.parametrize("columns", [("income", "opened"), ("region", "utilisation")])
def test_the_map_is_the_pair(credit, columns, effect):
    model, X = credit
    (pair,) = model.shapes(X, [columns])
    display = ShapeDisplay.from_shape(pair, model=model, effect=effect)
    n_first = int(pd.notna(pair.values[0]).sum())
    drawn = np.asarray(display.mesh_.get_array()).reshape(-1, n_first)
    np.testing.assert_allclose(drawn, -getattr(pair, effect)[:n_first, :, 0].T)


def test_each_class_and_the_scores_of_three(iris):
    model, X = iris
    (shape,) = model.shapes(X, [2])
    for label in range(3):
        display = ShapeDisplay.from_estimator(model, X, 2, output=label)
        low, high = shown_range(shape._levels)
        shown = (shape.values >= low) & (shape.values <= high)
        np.testing.assert_allclose(display.line_.get_ydata(), shape.outputs[shown, label])
        assert display.ax_.get_ylabel() == f"mean score of {label}"


def test_errors(iris):
    model, X = iris
    (shape,) = model.shapes(X, [2])
    with pytest.raises(ValueError, match=r"output=7 is not one of the outputs"):
        ShapeDisplay.from_shape(shape, model=model, output=7)
    with pytest.raises(ValueError, match=r"effect='both' must be 'outputs' or 'interaction'\."):
        ShapeDisplay.from_shape(shape, model=model, effect="both")
    with pytest.raises(ValueError, match=r"effect='interaction' needs a pair of columns"):
        ShapeDisplay.from_shape(shape, model=model, effect="interaction")
    with pytest.raises(TypeError, match=r"shape=3 must be of the kind Shape"):
        ShapeDisplay.from_shape(3, model=model)
