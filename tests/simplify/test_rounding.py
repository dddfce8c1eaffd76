"""Rounded models: what is printed is what is computed."""

import re

import numpy as np
import pandas as pd
import pytest
from models import EVERY_MODEL, fitted

from neuralrules import NeuralRuleClassifier, load


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
@pytest.mark.parametrize("precision", [1, 2, 4])
def test_every_number_is_one_that_the_text_shows(kind, deep, precision):
    """So that rounding once more changes nothing."""
    model, X, y = fitted(kind, deep)
    rounded = model.round_numbers(X, y, precision=precision).model
    again = rounded.round_numbers(X, y, precision=precision).model
    for one, other in zip(
        rounded.fitted_.state.network.parameters,
        again.fitted_.state.network.parameters,
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)
    if precision > 1 and model.network_.n_rules:
        assert shared_lines(model, rounded, precision) > 0.7


def shared_lines(model, rounded, precision):
    """Share of the conditions that read the same; some are always true after rounding."""
    texts = [
        [line for line in one.rules_text(precision=precision, max_terms=99).splitlines()
         if line.startswith(("  now", "  and", "  where"))]
        for one in (model, rounded)
    ]  # fmt: skip
    return len(set(texts[0]) & set(texts[1])) / max(len(set(texts[0])), 1)


def outputs(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict(X)


@pytest.mark.parametrize("kind", ["two classes", "mixed", "quantiles", "numbers"])
def test_more_digits_cost_less(kind):
    model, X, y = fitted(kind)
    loss = {p: model.round_numbers(X, y, precision=p) for p in (1, 3, 6)}
    off = [abs(loss[p].loss - loss[p].loss_before) for p in (1, 3, 6)]
    assert off[2] <= 1e-3 * abs(loss[6].loss_before) + 1e-6
    assert off[2] <= off[0] + 1e-9
    assert loss[6].loss_before == loss[1].loss_before


def test_a_threshold_is_the_number_that_is_shown():
    """A literal is 0 at the very number that the text says."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(54_321, 9_876, 600)})
    y = X["income"] > 51_234
    options = {"max_depth": 1, "n_trees": 1, "n_epochs": 30, "random_state": 0}
    model = NeuralRuleClassifier(**options).fit(X, y).round_numbers(X, y).model
    above = [
        float(match)
        for match in re.findall(r"now   income > ([0-9.]+)", model.rules_text(precision=2))
    ]
    assert above
    encoded = model.encoder_.transform(pd.DataFrame({"income": above}))
    network = model.network_
    literals = encoded[:, network.features] @ network.weights.T + network.biases
    assert np.abs(literals).min(axis=1).max() < 1e-5  # 0 just there


def test_the_cost_is_told_and_the_model_is_another_one():
    model, X, y = fitted("two classes")
    before = outputs(model, X)
    rounding = model.round_numbers(X, y, precision=1)
    assert rounding.model is not model
    np.testing.assert_array_equal(outputs(model, X), before)
    told = r"Rounding changes the mean loss from [0-9.e-]+ to [0-9.e-]+ \([+-][0-9.]+%\)\."
    assert re.fullmatch(told, str(rounding))
    with pytest.raises(ValueError, match="precision=0 must be a whole number of at least 1"):
        model.round_numbers(X, y, precision=0)


def test_the_rows_of_rounding_are_not_called_those_of_training(tmp_path):
    model, X, y = fitted("two classes")
    rounded = model.round_numbers(X[:30], y[:30]).model
    rounded.save(tmp_path / "model.nrules")
    for other in (rounded, load(tmp_path / "model.nrules"), rounded.edit(freeze=[0])):
        text = other.rules_text()
        assert "% of the rows it was rounded on)" in text
        assert "training rows" not in text
    page = rounded.report(tmp_path / "page.html").read_text("utf-8")
    assert "Perhaps optimistic: measured on the 30 rows it was rounded on." in page
    assert "Compared with the average of the rows it was rounded on (" in page
    assert "training rows" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    # Training measures on its own rows again.
    trained = rounded.edit().refit(X, y)
    assert "% of the training rows)" in trained.rules_text()
    page = model.report(tmp_path / "page.html").read_text("utf-8")
    assert "Optimistic: measured on the " in page
    assert "The model has seen these rows in training. On new rows it will usually" in page
