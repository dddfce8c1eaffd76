"""Explanations are exact."""

from dataclasses import replace

import numpy as np
import pytest
from models import EVERY_MODEL, fitted, network_outputs, with_network
from sklearn.exceptions import NotFittedError

from neuralrules import NeuralRuleClassifier
from neuralrules._engine._reference import rules_forward as reference_activations
from neuralrules._estimators._base import engine_of
from neuralrules._network._network import Network


@pytest.mark.parametrize("engine", ["numba", "numpy"])
@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_contributions_sum_to_the_decision_bit_for_bit(kind, deep, engine):
    model, X, _ = fitted(kind, deep)
    model.set_params(engine=engine)
    explanation = model.explain(X)
    decision = network_outputs(model, X)
    model.set_params(engine="numba")
    for row in range(len(decision)):
        total = np.zeros(decision.shape[1])
        for contribution in explanation.contributions[explanation.rows == row]:
            total = total + contribution
        np.testing.assert_array_equal(total + explanation.intercept, decision[row])
    np.testing.assert_array_equal(explanation.decision, decision)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_the_rules_named_are_those_that_fire(kind, deep):
    model, X, _ = fitted(kind, deep)
    explanation = model.explain(X)
    network = model.network_
    x = model.encoder_.transform(X)[:, network.features]
    expected = reference_activations(network.parameters, network.layout, x)
    named = np.zeros_like(expected)
    named[explanation.rows, explanation.rules] = explanation.activations
    np.testing.assert_allclose(named, expected, rtol=1e-4, atol=1e-4)
    assert (explanation.activations > 0).all()


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_the_limit_is_the_activation(kind, deep):
    """The linear form that limits a rule has the rule's activation as its value."""
    model, X, _ = fitted(kind, deep)
    explanation = model.explain(X)
    x = model.encoder_.transform(X)[:, model.network_.features].astype(float)
    forms = (explanation._limit_weights * x[explanation.rows]).sum(axis=1)
    forms += explanation._limit_biases
    np.testing.assert_allclose(forms, explanation.activations, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers", "two targets"])
def test_slopes_are_finite_differences(kind, deep):
    model, X, _ = fitted(kind, deep)
    X = X[:40]
    explanation = model.explain(X)
    parameters = model.network_.parameters
    exact = model.network_
    columns = model.encoder_.columns
    encoded = model.encoder_.transform(X).astype(float)

    def decide(rows):  # the reference in float64: no rounding to hide behind
        x = rows[:, exact.features]
        wide = type(parameters)(*(array.astype(float) for array in parameters))
        return reference_activations(wide, exact.layout, x) @ wide.values

    for place, column in enumerate(columns):
        step = np.zeros(len(columns))
        step[place] = 1e-6
        above, below = decide(encoded + step), decide(encoded - step)
        centre = decide(encoded)
        smooth = np.abs(above + below - 2 * centre).max(axis=1) < 1e-9  # away from kinks
        slope = (above - below) / 2e-6 / column.scale
        assert smooth.mean() > 0.8
        np.testing.assert_allclose(
            explanation.slopes[smooth, column.source],
            slope[smooth],
            rtol=1e-3,
            atol=1e-3 * (1 + np.abs(slope).max()),
        )


def test_slopes_of_categories_and_holes_are_not_numbers():
    model, X, _ = fitted("mixed")
    slopes = model.explain(X).slopes
    assert np.isnan(slopes[:, X.columns.get_loc("city")]).all()
    hole = X["income"].isna().to_numpy()
    assert np.isnan(slopes[hole, 0]).all()
    assert np.isfinite(slopes[~hole, 0]).all()


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_margins_of_shallow_rules_are_distances(kind):
    """Inside the margin nothing leaves the rule; beyond it, some way leads out."""
    model, X, _ = fitted(kind)
    explanation = model.explain(X[:30])
    network = model.network_
    encoded = model.encoder_.transform(X[:30])
    rng = np.random.RandomState(0)
    for row, rule, margin in zip(
        explanation.rows, explanation.rules, explanation.margins, strict=True
    ):
        if not np.isfinite(margin):
            continue
        alone = network.take(np.array([rule]))
        directions = [rng.randn(alone.features.size) for _ in range(20)]
        directions += [-weights for weights in alone.weights]
        moved = np.repeat(encoded[[row]], 2 * len(directions), axis=0)
        for i, direction in enumerate(directions):
            unit = direction / np.linalg.norm(direction)
            moved[2 * i, alone.features] += 0.999 * margin * unit
            moved[2 * i + 1, alone.features] += 1.001 * margin * unit + 1e-5 * unit
        inside = engine_of(model).activations(alone, moved)[:, 0] > 0
        assert inside[::2].all()
        assert not inside[1::2].all()


def test_exact_margins_of_deep_rules_lead_out():
    """Where the margin is called exact, a step a little longer leaves the rule."""
    _, X, y = fitted("two classes", deep=True)
    model = NeuralRuleClassifier.paper(3, deep=True, n_epochs=40, random_state=0).fit(X, y)
    explanation = model.explain(X)
    network = model.network_
    encoded = model.encoder_.transform(X)
    exact = np.flatnonzero(explanation.margins_are_exact & np.isfinite(explanation.margins))
    assert len(exact) > 0.2 * len(explanation.margins)
    for place in exact[::20]:
        row, rule = explanation.rows[place], explanation.rules[place]
        alone = network.take(np.array([rule]))
        x = encoded[row, network.features].astype(float)
        positive = alone.weights @ x + alone.biases > 0
        gradients = (alone.second_layer(0) * positive) @ alone.weights
        steps = -gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1e-12)
        moved = np.repeat(encoded[[row]], len(steps), axis=0)
        moved[:, network.features] += (1.001 * explanation.margins[place] + 1e-4) * steps
        assert (engine_of(model).activations(alone, moved) == 0).any()
    assert "margin at least " in str(explanation) or explanation.margins_are_exact[:30].all()


def test_margins_of_deep_rules_are_safe():
    model, X, _ = fitted("two classes", deep=True)
    explanation = model.explain(X[:30])
    network, rng = model.network_, np.random.RandomState(0)
    encoded = model.encoder_.transform(X[:30])
    for row, rule, margin in zip(
        explanation.rows, explanation.rules, explanation.margins, strict=True
    ):
        moved = np.repeat(encoded[[row]], 50, axis=0)
        directions = rng.randn(50, network.features.size)
        units = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        moved[:, network.features] += (0.999 * margin * units).astype("f4")
        alone = network.take(np.array([rule]))
        assert (engine_of(model).activations(alone, moved) > 0).all()
        assert margin > 0


def test_frames_are_tidy():
    model, X, _ = fitted("mixed")
    explanation = model.explain(X[:25])
    frame = explanation.to_frame()
    assert list(frame.columns) == [
        "row",
        "rule",
        "output",
        "contribution",
        "activation",
        "margin",
        "limited_by",
        "text",
    ]
    sums = frame.groupby(["row", "output"])["contribution"].sum().unstack()
    np.testing.assert_allclose(
        sums[list(model.classes_)], model.decision_function(X[:25])[sums.index], rtol=1e-12
    )
    slopes = explanation.slopes_frame()
    assert len(slopes) == 25 * X.shape[1] * 3
    first = slopes[(slopes["row"] == 1) & (slopes["column"] == "children")]
    np.testing.assert_array_equal(first["slope"], explanation.slopes[1, 1])
    two, Z, _ = fitted("two classes")
    assert "output" not in two.explain(Z[:2]).to_frame()
    assert "output" not in two.explain(Z[:2]).slopes_frame()


def test_text_of_an_explanation():
    model = NeuralRuleClassifier.paper(1, n_epochs=0, random_state=0)
    model.fit(np.arange(10.0)[:, None], np.arange(10) > 4)
    row = np.array([[7.0]])
    decision = model.decision_function(row)[0]
    margin = (7 - 4.5) / np.arange(10.0).std()
    assert str(model.explain(row)) == (
        f"Row 0: True ({100 / (1 + np.exp(-decision)):.3g} %), decision {decision:.4g}\n"
        f"{decision:8.4g}  rule 1, limited by x0 > 4.5; "
        f"margin {margin:.2g}"
    )


def test_a_row_without_rules_says_so():
    model = NeuralRuleClassifier.paper(1, n_epochs=0, max_rules=1, random_state=0)
    X, y = np.arange(10.0)[:, None], np.arange(10) > 2
    model.fit(X, y)
    outside = np.array([[9.0], [0.0]])
    texts = str(model.explain(outside)).split("\n\n")
    assert any(text.endswith("decision 0\nNo rule fires.") for text in texts)
    model.set_params(fit_intercept=True).fit(X, y)
    texts = str(model.explain(outside)).split("\n\n")
    start = "  0.6931  start: 66.7 % for True"  # 8 of 12: one more of each class is counted
    assert any(text.endswith(f"decision 0.6931\n{start}\nNo rule fires.") for text in texts)


def test_long_explanations_are_cut_when_printed():
    model, X, _ = fitted("two classes")
    text = repr(model.explain(X[:15]))
    assert text.count("Row ") == 10
    assert text.endswith("\n\n… and 5 more rows: see to_frame().")


@pytest.mark.parametrize("deep", [False, True])
def test_the_limits_of_a_frame_are_those_of_each_place(deep):
    model, X, _ = fitted("numbers", deep)
    explanation = model.explain(X[:40])
    texts = [explanation.limit_text(place) for place in range(len(explanation.rules))]
    frame = explanation.to_frame()
    assert frame.loc[frame["rule"].notna(), "limited_by"].tolist() == texts


@pytest.mark.parametrize("kind", ["numbers", "two targets", "two classes"])
def test_the_contributions_of_a_frame_sum_to_the_decision(kind):
    model, X, _ = fitted(kind)
    frame = model.explain(X[:40]).to_frame()
    keys = ["row"] if "output" not in frame else ["row", "output"]
    sums = frame.groupby(keys)["contribution"].sum()
    expected = network_outputs(model, X[:40])
    found = sums.to_numpy().reshape(-1, expected.shape[1])
    np.testing.assert_allclose(found, expected[np.unique(frame["row"])], rtol=1e-12)


def test_one_row_alone_in_any_form(mixed_frame):
    frame, y = mixed_frame
    model = NeuralRuleClassifier(3, n_epochs=5, random_state=0).fit(frame, y)
    expected = model.explain(frame.iloc[[3]]).decision
    for form in (frame.iloc[3], frame.iloc[3].to_dict()):
        np.testing.assert_array_equal(model.explain(form).decision, expected)
    model, X, _ = fitted("two classes")
    expected = model.explain(X[:1]).decision
    for form in (X[0], X[0].tolist(), tuple(X[0])):
        np.testing.assert_array_equal(model.explain(form).decision, expected)


def test_holes_where_training_had_none_have_no_slope():
    model, X, _ = fitted("two classes")
    rows = X[:3].copy()
    used = model.network_.features[0]
    rows[1, used] = np.nan
    slopes = model.explain(rows).slopes[:, used, 0]
    assert np.isnan(slopes).tolist() == [False, True, False]


def test_a_limit_without_columns_is_called_a_cap():
    model, X, _ = fitted("two classes")
    network = model.network_
    weights = network.weights.copy()
    weights[0] = 0
    biases = network.biases.copy()
    biases[0] = 0.01
    capped = with_network(model, replace(network.with_weights(weights), biases=biases))
    explanation = capped.explain(X)
    places = np.flatnonzero((explanation.rules == 0) & (explanation.limits == 0))
    assert places.size
    assert explanation.limit_text(places[0]) == "its cap, activation at most 0.01"
    assert "cap   activation at most 0.01" in capped.rules_text()
    assert (explanation.activations[explanation.rules == 0] <= np.float32(0.01)).all()


def test_a_limit_that_holds_everywhere_is_written_over_the_scaled_column():
    model, X, _ = fitted("quantiles")
    (feature, *_) = [
        int(feature)
        for feature in model.network_.features
        if model.encoder_.columns[feature].knots is not None
    ]
    network = Network.dense(
        weights=np.array([[0.25]], "f4"),
        biases=np.array([2.0], "f4"),
        offsets=np.array([0, 1]),
        values=np.ones((1, 1), "f4"),
        features=np.array([feature], "i4"),
        intercept=np.zeros(1),
        mixing=np.empty(0, "f4"),
        shifts=np.empty(0, "f4"),
        origins=np.array([-1]),
    )
    explanation = with_network(model, network).explain(X)
    name = X.columns[model.encoder_.columns[feature].source]
    assert len(explanation.rules) == len(X)
    assert explanation.limit_text(0) == f"how large scaled({name}) is"


def test_explaining_needs_a_fit_and_the_right_columns():
    with pytest.raises(NotFittedError):
        NeuralRuleClassifier().explain(np.ones((1, 2)))
    model, X, _ = fitted("two classes")
    with pytest.raises(ValueError, match="X has 3 features"):
        model.explain(X[:, :3])


def test_slopes_of_scaled_columns_are_finite_differences():
    model, X, _ = fitted("quantiles")
    X = X.assign(children=X["children"] + 0.5)  # between the knots
    X.loc[:5, "income"] = [1e9, 0, 1377, 5e4, 2e5, np.nan]
    slopes = model.explain(X).slopes
    for source, name in enumerate(X.columns):
        if X[name].dtype.kind != "f":
            assert np.isnan(slopes[:, source]).all()
            continue
        assert (np.isnan(slopes[:, source, 0]) == X[name].isna()).all()
        step = 1e-3 * (X[name].quantile(0.9) - X[name].quantile(0.1))
        above, below, own = (
            model.decision_function(X.assign(**{name: X[name] + way * step}))
            for way in (1, -1, 0)
        )
        smooth = (np.abs(above + below - 2 * own) < 1e-5) & X[name].notna()
        difference = ((above - below) / (2 * step))[smooth]
        size = np.abs(difference).max()
        assert smooth.mean() > 0.5
        np.testing.assert_allclose(slopes[smooth, source, 0], difference, atol=1e-2 * size)
    assert slopes[0, 0, 0] == slopes[1, 0, 0] == 0  # outside of the knots
