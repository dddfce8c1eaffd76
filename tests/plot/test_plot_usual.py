"""Charts and reports of models with usual outcomes."""

import matplotlib as mpl
import numpy as np
import pytest
from models import USUAL_KINDS, fitted_on_cities

from neuralrules import plot
from neuralrules._charts._plane import grid_line
from neuralrules._charts._rules import input_text

mpl.use("Agg")


@pytest.mark.parametrize("kind", USUAL_KINDS)
def test_every_chart_can_be_drawn(kind):
    model, X, y = fitted_on_cities(kind)
    X, y = X.iloc[:60], y[:60]
    plot.RuleDisplay.from_estimator(model, 0)
    plot.ShapeDisplay.from_estimator(model, X, "city")
    plot.SupportDisplay.from_estimator(model, X, columns=("city", "income"))
    plot.WaterfallDisplay.from_estimator(model, X.iloc[[3]])
    plot.ImportanceDisplay.from_estimator(model, X)
    mpl.pyplot.close("all")


def test_a_network_names_usual_outcomes():
    model, _, _ = fitted_on_cities("three classes")
    texts = {input_text(model.fitted_, feature) for feature in model.network_.features.tolist()}
    assert {"usual(city, good)", "usual(code, late)"} <= texts


def test_rare_values_lie_on_the_axis():
    """They share a place, which has the usual outcome of an unknown text."""
    model, X, _ = fitted_on_cities("two classes")
    line = grid_line(model.fitted_, X, 0, 10)
    assert line.categories[-1] == "a rare value"
    own = model.encoder_.columns_of(0)
    rare = model.encoder_.cells(X, 0).codes >= sum(one.stored_as == "category" for one in own)
    rare &= X["city"].notna().to_numpy()
    assert rare.any()
    assert (line.points[rare] == len(line.categories) - 1).all()
    assert np.isnan(line.points[X["city"].isna().to_numpy()]).all()
    unknown = model.encoder_.transform(X.iloc[[0]].assign(city="never seen"))
    np.testing.assert_array_equal(line.encoded[-1], unknown[0, line.features])
