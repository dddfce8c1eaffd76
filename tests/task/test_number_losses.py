"""Every loss for numbers, from fit to every place where predictions are made."""

import copy
import re
from dataclasses import replace
from functools import cache

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from databases import connected
from models import network_outputs, performance_on
from sklearn.metrics import mean_poisson_deviance

from neuralrules import NeuralRuleRegressor, NeuralRuleRegressorCV, load, read_rules
from neuralrules._charts._shapes import view_of
from neuralrules._expression import _javascript
from neuralrules._expression import _nodes as ops
from neuralrules._task._number_losses import NUMBER_LOSSES, Huber, Logarithm, Poisson

KINDS = [(loss, shape) for loss in NUMBER_LOSSES for shape in ("flat", "two targets")]


def counts(n_rows=400):
    """Counts whose logarithm has a step and a slope, and a few rows that are far off."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (n_rows, 3))
    expected = np.exp(1.5 * (X[:, 0] > 0) + X[:, 1])
    y = rng.poisson(expected).astype(float)
    return X, y, expected


@cache
def fitted(loss, shape="flat"):
    X, y, _ = counts()
    y = y if shape == "flat" else np.column_stack([y, 3 * y + 1])
    options = {"n_trees": 2, "learning_rate": 0.03, "n_epochs": 40, "random_state": 0}
    return NeuralRuleRegressor(3, loss=loss, **options).fit(X, y), X, y


def test_counts_are_best_predicted_by_their_own_loss():
    X, y, expected = counts(4000)
    deviances = {}
    for loss in ("squared", "poisson"):
        model = NeuralRuleRegressor(3, loss=loss, n_epochs=40, random_state=0)
        predicted = model.fit(X[:2000], y[:2000]).predict(X[2000:])
        assert (predicted > 0).all() or loss == "squared"
        deviances[loss] = mean_poisson_deviance(expected[2000:], np.maximum(predicted, 1e-3))
    constant = np.full(2000, y[:2000].mean())
    assert deviances["poisson"] < deviances["squared"]
    assert deviances["poisson"] < 0.1 * mean_poisson_deviance(expected[2000:], constant)


def test_outliers_hardly_move_a_model_of_huber_loss():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (600, 2))
    truth = np.where(X[:, 0] > 0, 2.0, -1.0) + X[:, 1]
    y = truth + 0.1 * rng.randn(600)
    y[::20] += 300
    errors = {}
    for loss in ("squared", "huber"):
        model = NeuralRuleRegressor(3, min_samples_leaf=30, loss=loss, random_state=0)
        errors[loss] = np.abs(model.fit(X, y).predict(X) - truth).mean()
    assert errors["huber"] < 0.2 * errors["squared"]


@pytest.mark.parametrize(("loss", "shape"), KINDS)
def test_predictions_are_the_link_of_the_outputs(loss, shape):
    model, X, y = fitted(loss, shape)
    outputs = network_outputs(model, X)
    expected = np.exp(outputs) if loss == "poisson" else outputs
    assert model.predict(X).shape == y.shape
    np.testing.assert_array_equal(model.predict(X).reshape(outputs.shape), expected)
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize(("loss", "shape"), KINDS)
def test_every_export_predicts_the_same(loss, shape, tmp_path):
    model, X, _ = fitted(loss, shape)
    X = np.vstack([X[:50], 1e4 * X[50:60]])  # far away, where an exponential would overflow
    expected = model.predict(X).reshape(len(X), -1)
    assert np.isfinite(expected).all()

    def close(found):
        np.testing.assert_allclose(np.reshape(found, expected.shape), expected, rtol=2e-3)
        near = np.reshape(found, expected.shape)[:50] / expected[:50]
        np.testing.assert_allclose(near, 1, rtol=2e-5)

    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    (found,) = session.run(None, {"X": X})
    assert found.shape == model.predict(X).shape
    close(found)
    module = {}
    exec(compile(model.to_python(), "model.py", "exec"), module)
    close([module["predict"]({f"x{i}": cell for i, cell in enumerate(row)}) for row in X])
    close(read_rules(model.exact_text()).predict(X))
    close(read_rules(model.exact_text(), estimator=True).predict(X))
    back = load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(back.predict(X).reshape(expected.shape), expected)
    assert back.loss == loss


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgresql"])
def database(request):
    with connected(request.param) as connection:
        yield connection


@pytest.mark.parametrize(("loss", "shape"), KINDS)
def test_databases_predict_the_same(loss, shape, database):
    model, X, _ = fitted(loss, shape)
    X = np.vstack([X[:50], 1e4 * X[50:60]])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(row=range(len(X)))
    database.write("counts", frame)
    sql = model.to_sql("counts", dialect=database.dialect, keep=["row"])
    found = database.read(sql).sort_values("row").drop(columns="row").to_numpy(float)
    expected = model.predict(X).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=2e-3)
    np.testing.assert_allclose(found[:50], expected[:50], rtol=2e-5)


@pytest.mark.parametrize(("loss", "shape"), KINDS)
def test_metrics_are_in_the_units_of_the_targets(loss, shape):
    model, X, y = fitted(loss, shape)
    metrics = performance_on(model, X, y).metrics
    predicted, truth = model.predict(X).reshape(len(X), -1), y.reshape(len(X), -1)
    assert metrics["R²"] == pytest.approx(model.score(X, y), abs=1e-6)
    if loss == "poisson":
        pairs = zip(truth.T, predicted.T, strict=True)
        deviances = [mean_poisson_deviance(true, mean) for true, mean in pairs]
        assert metrics["Poisson deviance"] == pytest.approx(np.mean(deviances), rel=1e-5)
    elif loss == "huber":
        errors = np.abs(predicted - truth)
        limits = Huber().limit * model.fitted_.task.scale
        far = 2 * limits * errors - limits**2
        each = np.where(errors <= limits, errors**2, far)
        assert metrics["Huber loss"] == pytest.approx(each.mean(), rel=1e-5)
    else:
        assert list(metrics) == ["R²", "root mean squared error", "mean absolute error"]


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_reports_and_smaller_models_are_made(loss, tmp_path):
    model, X, y = fitted(loss)
    page = model.report(tmp_path / "report.html", X, y).read_text()
    assert f"NeuralRuleRegressor, {loss} loss" in page
    assert ("The function exp turns it into the prediction." in page) == (loss == "poisson")
    smaller = model.simplify(X, y, tolerance=0.05)
    assert smaller.network_.n_parameters < model.network_.n_parameters
    assert smaller.score(X, y) > model.score(X, y) - 0.2


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_counterfactuals_are_asked_for_in_the_units_of_the_prediction(loss):
    model, X, _ = fitted(loss)
    row = X[model.predict(X).argmin()]
    found = model.counterfactual(row, (3.0, 4.0))
    assert found.found
    assert 3 <= model.predict(found.x)[0] <= 4


class ExponentialMinusOne(Logarithm):
    """A link that only this test has."""

    def predictions(self, outputs):
        return super().predictions(outputs) - 1

    def expression(self, output):
        return ops.Sum(((1.0, super().expression(output)),), -1.0)


class Softplus(Logarithm):
    """Another link that only this test has. It multiplies nothing."""

    function = "softplus"
    multiplied = ""
    output_words = "inverse softplus of the prediction"

    def predictions(self, outputs):
        return np.log1p(super().predictions(outputs))

    def expression(self, output):
        return ops.Call("log", ops.Sum(((1.0, super().expression(output)),), 1.0))


class OtherCounts(Poisson):
    link = ExponentialMinusOne()


class SoftCounts(Poisson):
    link = Softplus()


EXPONENTIAL = "1.0 * Math.exp(Math.max(-700.0, Math.min(700.0, d)))"


def with_loss(model, loss):
    """The same model with another loss."""
    other, given = copy.copy(model), model.fitted_
    other.fitted_ = replace(given, task=replace(given.task, loss=loss))
    return other


@pytest.mark.parametrize("shape", ["flat", "two targets"])
@pytest.mark.parametrize(
    ("loss", "link", "script"),
    [
        (OtherCounts(), lambda counts: counts - 1, f"({EXPONENTIAL} + -1.0)"),
        (SoftCounts(), np.log1p, f"Math.log(({EXPONENTIAL} + 1.0))"),
    ],
)
def test_exports_print_a_link_that_they_have_never_seen(loss, link, script, shape):
    model, X, _ = fitted("poisson", shape)
    other = with_loss(model, loss)
    expected = link(model.predict(X)).reshape(len(X), -1)
    np.testing.assert_array_equal(other.predict(X).reshape(expected.shape), expected)

    def close(found):
        np.testing.assert_allclose(np.reshape(found, expected.shape), expected, atol=1e-4)

    session = onnxruntime.InferenceSession(other.to_onnx().SerializeToString())
    close(session.run(None, {"X": X})[0])
    module = {}
    exec(compile(other.to_python(), "model.py", "exec"), module)
    close([module["predict"]({f"x{i}": cell for i, cell in enumerate(row)}) for row in X])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(row=range(len(X)))
    for dialect in ("sqlite", "duckdb"):
        with connected(dialect) as database:
            database.write("counts", frame)
            sql = other.to_sql("counts", dialect=dialect, keep=["row"])
            close(database.read(sql).sort_values("row").drop(columns="row").to_numpy(float))
    code = _javascript.Printer(steps={"d0": "d"}).number(loss.link.expression(ops.Named("d0")))
    assert code == script


def test_shapes_of_a_link_that_multiplies_nothing_show_the_outputs():
    model, _, _ = fitted("poisson")
    assert view_of(model.fitted_, None).label == "prediction (log scale)"
    view = view_of(with_loss(model, SoftCounts()).fitted_, None)
    assert view.label == "inverse softplus of the prediction"


def test_explanations_sum_to_the_logarithm_of_the_prediction():
    model, X, _ = fitted("poisson")
    explanation = model.explain(X[:20])
    np.testing.assert_allclose(np.exp(explanation.decision[:, 0]), model.predict(X[:20]))


def test_negative_counts_are_refused():
    X, y, _ = counts()
    message = (
        "y holds -2, but loss='poisson' takes no number below 0. "
        "Give such a y, or another loss."
    )
    model = NeuralRuleRegressor(2, loss="poisson", n_trees=5, n_epochs=1)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.fit(X, y - 2)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.partial_fit(X, y).partial_fit(X, y - 2)


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("source", ["tree", "forest", "boosting"])
def test_every_loss_learns_with_every_kind_of_rule(loss, deep, source):
    X, y, expected = counts()
    options = {"n_trees": 5, "n_epochs": 30, "random_state": 0, "early_stopping": True}
    model = NeuralRuleRegressor(3, rule_source=source, deep=deep, loss=loss, **options)
    model.fit(X, y)
    left = np.mean((model.predict(X) - expected) ** 2) / np.var(expected)
    assert left < 0.4
    losses = model.history_["validation_loss"]
    assert min(losses) < losses[0]


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_the_best_rules_are_those_far_from_the_mean_of_all(loss):
    """Equation 8 with targets measured from their mean, whatever the loss centres them at."""
    X, y, _ = counts()
    options = {"n_trees": 3, "n_epochs": 0, "early_stopping": False, "random_state": 0}
    model = NeuralRuleRegressor(3, loss=loss, **options).fit(X, y)
    rules = model.rules_
    inside = rules.covers(model.encoder_.transform(X))
    scale = model.fitted_.task.scale
    expected = [(y[own] - y.mean()).sum() ** 2 / own.sum() / scale[0] ** 2 for own in inside.T]
    np.testing.assert_allclose(rules.scores, expected, rtol=1e-4, atol=1e-6)
    few = NeuralRuleRegressor(3, loss=loss, max_rules=3, **options).fit(X, y)
    best = np.sort(np.argsort(expected)[-3:])
    np.testing.assert_array_equal(few.rules_.n, rules.n[best])
    table = model.rules_table(X, y)
    np.testing.assert_allclose(table["margin_score"].sort_index(), expected, rtol=1e-3)


def test_boosting_by_huber_loss_stays_with_most_of_the_rows():
    rng = np.random.RandomState(0)
    X = rng.randn(500, 3)
    y = X[:, 0] + 0.1 * rng.randn(500)
    y[:100] += 1000
    # It starts as its leaves do, and is not trained.
    options = {
        **{"n_trees": 60, "tree_rate": 0.1, "min_samples_leaf": 20, "start": "leaf"},
        **{"early_stopping": False, "n_epochs": 0, "random_state": 0},
    }
    model = NeuralRuleRegressor(2, loss="huber", rule_source="boosting", **options)
    assert np.median(np.abs(model.fit(X, y).predict(X) - X[:, 0])) < 0.6


def test_a_saved_model_predicts_by_the_loss_that_it_was_trained_by(tmp_path):
    model, X, _ = fitted("poisson")
    other = copy.copy(model).set_params(loss="squared")
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    back = load(other.save(tmp_path / "model"))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.loss == "squared"


def test_files_and_texts_keep_the_parameters_of_a_loss(tmp_path):
    model, X, _ = fitted("huber")
    other = with_loss(model, Huber(2.0))
    assert load(other.save(tmp_path / "model")).fitted_.task.loss == Huber(2.0)
    back = read_rules(other.exact_text(), estimator=True)
    assert back.fitted_.task.loss == Huber(2.0)
    np.testing.assert_allclose(back.predict(X), model.predict(X), rtol=1e-5)


def test_another_loss_cannot_take_over():
    X, y, _ = counts()
    model = NeuralRuleRegressor(2, loss="poisson", warm_start=True, n_epochs=2).fit(X, y)
    message = (
        "loss='squared' cannot take over from loss='poisson', which measures the targets in "
        "another way. Set loss='poisson', or fit anew with warm_start=False."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.set_params(loss="squared").fit(X, y - 5)


@pytest.mark.parametrize("target", [(None, 0.0), (-3, -1), (-1, 0)])
def test_ranges_that_no_exponential_reaches_are_refused(target):
    model, X, _ = fitted("poisson")
    message = (
        f"target must be a range that predictions can reach, got {target!r}: with "
        "loss='poisson' they are above 0. Ask for another range."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.counterfactual(X[0], target)


def test_rows_far_away_do_not_overflow():
    model, X, y = fitted("poisson")
    far = np.vstack([X, 1e6 * X[:5]])
    known = np.append(y, y[:5])
    assert np.isfinite(performance_on(model, far, known).metrics["Poisson deviance"])
    assert len(model.simplification_path(X, y, X_val=far, y_val=known)) > 2


def test_a_waterfall_says_that_it_adds_up_to_a_logarithm():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from neuralrules.plot import WaterfallDisplay

    model, X, _ = fitted("poisson")
    display = WaterfallDisplay.from_estimator(model, X)
    assert display.ax_.get_xlabel() == "x, where prediction = exp(x)"


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_searches_take_every_loss(loss):
    X, y, _ = counts()
    options = {"n_trees": 3, "learning_rate": 0.02, "n_epochs": 10, "random_state": 0}
    model = NeuralRuleRegressorCV({"max_depth": [1, 3]}, cv=2, loss=loss, **options)
    assert model.fit(X, y).score(X, y) > 0.2
    assert model.fitted_.task.loss == NUMBER_LOSSES[loss]()
