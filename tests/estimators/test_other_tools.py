"""Tools of others that ask an estimator for predictions on tables they have made."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import PartialDependenceDisplay, partial_dependence

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor

OPTIONS = {"n_trees": 4, "n_epochs": 20, "random_state": 0}
CATEGORIES = ("city", "grade")


@pytest.fixture(scope="module")
def table():
    """Floats, whole numbers, truths, text and categories."""
    rng = np.random.RandomState(0)
    n = 200
    return pd.DataFrame(
        {
            "size": rng.randn(n),
            "rooms": rng.randint(1, 9, n),
            "garden": rng.rand(n) > 0.5,
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "grade": pd.Categorical(rng.choice(["a", "b"], n)),
        }
    )


@pytest.fixture(scope="module")
def model(table):
    y = table["size"] + table["rooms"] + 3 * (table["city"] == "Rome")
    return NeuralRuleRegressor(**OPTIONS).fit(table, y)


# scikit-learn's partial dependence


@pytest.mark.parametrize("column", ["size", "rooms", "garden", "city", "grade"])
def test_partial_dependence_is_the_mean_prediction_with_the_cells_of_a_column_replaced(
    model, table, column
):
    # scikit-learn itself refuses columns of integers; a model fitted on them takes floats.
    rows = table.astype({"rooms": float})
    kinds = {"categorical_features": [*CATEGORIES, "garden"], "grid_resolution": 5}
    found = partial_dependence(model, rows, [column], method="brute", **kinds)
    for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
        replaced = rows.assign(**{column: value})
        assert mean == pytest.approx(model.predict(replaced).mean())


def test_partial_dependence_of_integers_of_a_model_of_classes_can_be_drawn(table):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = NeuralRuleClassifier(**OPTIONS).fit(table, table["rooms"] > 4)
    shown = PartialDependenceDisplay.from_estimator(
        model, table.astype({"rooms": float}), ["rooms", ("rooms", "size")], grid_resolution=4
    )
    assert len(shown.pd_results) == 2
    pyplot.close("all")


# SHAP


def test_shap_explains_a_model_of_numbers(table):
    shap = pytest.importorskip("shap")
    rows = table[["size", "rooms"]]
    model = NeuralRuleRegressor(**OPTIONS).fit(rows, rows["size"] + rows["rooms"])
    explained = shap.Explainer(model.predict, rows)(rows[:5])
    sums = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(sums, model.predict(rows[:5]), rtol=1e-6)


def test_shaps_explainer_takes_a_mixed_table_by_its_codes(model, table):
    """SHAP compares cells by their difference, so that it must be given numbers alone."""
    shap = pytest.importorskip("shap")
    labels = {name: table[name].astype("category").cat.categories for name in CATEGORIES}
    codes = table.assign(
        **{name: pd.Categorical(table[name], labels[name]).codes for name in CATEGORIES}
    ).astype(float)

    def predict(rows):
        rows = pd.DataFrame(rows, columns=table.columns)
        return model.predict(
            rows.assign(**{name: labels[name][rows[name].astype(int)] for name in CATEGORIES})
        )

    explained = shap.Explainer(predict, codes)(codes[:5])
    sums = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(sums, model.predict(table[:5]), rtol=1e-6)


def test_shaps_kernel_takes_a_mixed_table_as_it_is(model, table):
    shap = pytest.importorskip("shap")
    explainer = shap.KernelExplainer(model.predict, table[:20])
    values = explainer.shap_values(table[:3], silent=True)
    assert values.shape == (3, 5)
    sums = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(sums, model.predict(table[:3]), rtol=1e-6)
