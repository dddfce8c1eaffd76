"""scikit-learn's contract, the interface, and errors as part of it."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)
from strategies import class_rows

import neuralrules
from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
)
from neuralrules._estimators import _base
from neuralrules._fitting import _table
from neuralrules._task._task import Task

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)

# With these, a row of weight 2 is exactly the same as two rows: neither leaves nor mini-batches
# are made of so many rows.
BY_WEIGHT = {
    "rule_source": "tree",
    "min_samples_leaf": 1,
    "batch_size": 1000,
    "n_epochs": 20,
}
SHORT = {"cv": 2, "n_trees": 2, "n_epochs": 5, "random_state": 0}


def failures(estimator):
    """Checks that an estimator must fail: scikit-learn's boosting by histograms does too."""
    if estimator.rule_source != "boosting":
        return {}
    reason = "leaves of boosting, and mini-batches, count rows and not their weight"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The least populated class in y:UserWarning")
@pytest.mark.filterwarnings("ignore:The first call of partial_fit grew")  # from 20 rows
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # on noise
@parametrize_with_checks(
    [
        NeuralRuleClassifier(),
        NeuralRuleRegressor(),
        NeuralRuleClassifierCV([{"max_depth": 1}, {"start": "leaf"}], cv=2, **BY_WEIGHT),
        NeuralRuleRegressorCV({"max_depth": [1, 3]}, refit="single", cv=2, **BY_WEIGHT),
    ],
    expected_failed_checks=failures,
)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The least populated class in y:UserWarning")
@pytest.mark.filterwarnings("ignore:The first call of partial_fit grew")  # from 20 rows
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # on noise
@parametrize_with_checks(
    [NeuralRuleClassifierCV(), NeuralRuleRegressorCV()],
    expected_failed_checks=failures,
)
def test_scikit_learns_checks_of_searches_as_they_are_by_default(estimator, check):
    check(estimator)


@pytest.mark.parametrize("start", ["hinge", "leaf"])
@pytest.mark.parametrize("estimator", [NeuralRuleClassifier, NeuralRuleRegressor])
def test_a_row_of_weight_two_is_the_same_as_two_rows(estimator, start):
    model = estimator(start=start, **BY_WEIGHT)
    check_sample_weight_equivalence_on_dense_data(estimator.__name__, model)


def test_a_plain_classifier_is_a_good_model():
    ours = cross_val_score(NeuralRuleClassifier(random_state=0), *CANCER, cv=3).mean()
    forest = cross_val_score(RandomForestClassifier(random_state=0), *CANCER, cv=3).mean()
    assert ours > forest - 0.015


def test_it_learns_an_oblique_boundary_that_a_tree_cannot(rotated_xor):
    X, y = rotated_xor
    train, test = slice(0, 800), slice(800, None)
    start = NeuralRuleClassifier.paper(3, n_epochs=0, random_state=0).fit(X[train], y[train])
    model = NeuralRuleClassifier.paper(3, random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.95 > start.score(X[test], y[test]) + 0.1


def test_network_arrays_have_the_documented_shapes():
    network = NeuralRuleClassifier(4, n_epochs=3, random_state=0).fit(*IRIS).network_
    n_literals, n_features = network.weights.shape
    assert network.biases.shape == (n_literals,)
    assert network.offsets[0] == 0
    assert network.offsets[-1] == n_literals
    assert network.values.shape == (network.n_rules, 3)
    assert network.features.shape == (n_features,)
    assert network.intercept.shape == (3,)
    assert network.intercept.dtype == np.float64
    for array in (network.weights, network.biases, network.values):
        assert array.dtype == np.float32


@pytest.mark.parametrize("source", ["tree", "forest", "boosting"])
@pytest.mark.parametrize("max_rules", [1, 7, None])
def test_rule_pools_and_max_rules(source, max_rules):
    model = NeuralRuleClassifier(
        3,
        rule_source=source,
        n_trees=5,
        min_samples_leaf=1,
        max_rules=max_rules,
        early_stopping=False,  # then the tree has 8 leaves
        n_epochs=30,
        random_state=0,
    ).fit(*CANCER)
    assert model.rules_.n_rules == model.network_.n_rules
    if max_rules is not None:
        assert model.network_.n_rules == max_rules
    elif source != "tree":
        assert model.network_.n_rules > 8
    if max_rules != 1:
        assert model.score(*CANCER) > 0.9


@pytest.mark.parametrize(
    "model",
    [
        NeuralRuleRegressor(random_state=0),
        NeuralRuleRegressor.paper(5, random_state=0),
        NeuralRuleRegressor.paper(5, rule_source="forest", random_state=0),
    ],
    ids=["boosting", "tree", "forest"],
)
def test_multi_output_regression(model):
    X, y = make_regression(400, 6, n_targets=2, noise=1, random_state=0)
    y = y * [1, 1000]
    model.fit(X, y)
    assert model.predict(X).shape == (400, 2)
    assert model.network_.values.shape[1] == 2
    assert model.score(X, y) > 0.9


def test_regression_in_any_unit_gives_the_same_model():
    X, y = DIABETES
    plain = NeuralRuleRegressor(3, random_state=0).fit(X, y)
    scaled = NeuralRuleRegressor(3, random_state=0).fit(X, 1e6 * y + 1e8)
    np.testing.assert_allclose(scaled.predict(X), 1e6 * plain.predict(X) + 1e8, rtol=1e-4)


def test_targets_far_from_zero():
    X, y = DIABETES
    plain = NeuralRuleRegressor(3, random_state=0).fit(X, y)
    far = NeuralRuleRegressor(3, random_state=0).fit(X, y + 1.7e9)
    np.testing.assert_allclose(far.predict(X) - 1.7e9, plain.predict(X), atol=0.1)


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_rows_held_out_to_stop_on_do_not_scale_the_targets(loss, monkeypatch):
    X, y = DIABETES
    held = np.arange(442) >= 350
    monkeypatch.setattr(_table, "held_out", lambda *_: held)
    tasks = [
        NeuralRuleRegressor(n_epochs=1, loss=loss).fit(X, np.where(held, far, y)).fitted_.task
        for far in (y, 1000 * y)
    ]
    assert tasks[0].centre == tasks[1].centre
    assert tasks[0].scale == tasks[1].scale
    if loss == "squared":
        assert tasks[0].centre == pytest.approx(y[:350].mean())


def test_shape_of_predictions_follows_y():
    X, y = DIABETES
    model = NeuralRuleRegressor(2, n_epochs=1)
    assert model.fit(X, y).predict(X).shape == (442,)
    assert model.fit(X, y[:, None]).predict(X).shape == (442, 1)


@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_n_jobs_does_not_change_the_result(engine):
    fits = [
        NeuralRuleClassifier(
            6, n_trees=2, n_epochs=5, n_jobs=n, engine=engine, random_state=3
        ).fit(*CANCER)
        for n in (None, 2, -1)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].network_.weights, other.network_.weights)
        np.testing.assert_array_equal(
            fits[0].decision_function(CANCER[0]), other.decision_function(CANCER[0])
        )


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["two classes", "three classes"])
def test_engines_train_to_the_same_model(deep, data):
    # After its first step a deep rule has units that tie to within rounding wherever its
    # literals are zero, and engines may break such ties differently: compare one step.
    steps = {"n_epochs": 1, "batch_size": 1000} if deep else {"n_epochs": 5}
    options = {"max_depth": 3, "n_trees": 3, "deep": deep, "random_state": 0, **steps}
    X, y = data
    a = NeuralRuleClassifier(engine="numba", **options).fit(X, y).decision_function(X)
    b = NeuralRuleClassifier(engine="numpy", **options).fit(X, y).decision_function(X)
    np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


def test_probabilities_and_labels_agree_with_the_decision_function():
    model = NeuralRuleClassifier(3, random_state=0).fit(
        CANCER[0], np.array(["no", "yes"])[CANCER[1]]
    )
    decision = model.decision_function(CANCER[0])
    probability = model.predict_proba(CANCER[0])
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(
        np.log(probability[:, 1] / probability[:, 0]), decision, rtol=1e-6
    )
    np.testing.assert_array_equal(model.predict(CANCER[0]) == "yes", decision > 0)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_only_the_logistic_loss_gives_probabilities(loss):
    model = NeuralRuleClassifier(2, loss=loss).fit(*CANCER)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(CANCER[0])
    assert f"predict_proba needs loss='logistic'; this model has loss='{loss}'." in str(
        caught.value.__cause__
    )


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (NeuralRuleClassifier(3, random_state=0), IRIS),
        (NeuralRuleRegressor(3, deep=True, random_state=0), DIABETES),
        (NeuralRuleClassifierCV({"max_depth": [2, 3]}, **SHORT), IRIS),
        (NeuralRuleRegressorCV([{}, {"max_depth": 3}], refit="single", **SHORT), DIABETES),
    ],
)
def test_pickle_and_clone(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    expected = getattr(model, method)(X)
    np.testing.assert_array_equal(getattr(loaded, method)(X), expected)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(getattr(again, method)(X), expected)


def test_grid_search_pipeline_and_parallel_cross_validation(mixed_frame):
    frame, y = mixed_frame
    search = GridSearchCV(
        NeuralRuleClassifier(n_trees=4, n_epochs=20, random_state=0),
        {"max_depth": [1, 4]},
        cv=2,
        n_jobs=2,
    ).fit(frame, y)
    assert search.best_params_ == {"max_depth": 4}
    model = NeuralRuleClassifier(n_trees=4, n_epochs=30, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    assert cross_val_score(pipeline, *CANCER, cv=2, n_jobs=2).mean() > 0.93


def test_set_output_where_it_applies():
    scaler = StandardScaler().set_output(transform="pandas")
    frame = pd.DataFrame(CANCER[0]).rename(columns=str)
    pipeline = make_pipeline(scaler, NeuralRuleClassifier(3, n_epochs=5, random_state=0))
    model = pipeline.fit(frame, CANCER[1])[-1]
    assert list(model.feature_names_in_) == list(frame.columns)


def test_float_results_do_not_depend_on_how_the_table_is_stored():
    X, y = CANCER
    options = {"n_trees": 4, "n_epochs": 30, "random_state": 0}
    expected = NeuralRuleClassifier(3, **options).fit(X, y).decision_function(X)
    for other in (np.asfortranarray(X), pd.DataFrame(X).rename(columns=str), X.tolist()):
        model = NeuralRuleClassifier(3, **options).fit(other, y)
        np.testing.assert_array_equal(model.decision_function(other), expected)


# --- errors: full messages, and nothing is lost ---------------------------------------------

NAN_Y = np.where(np.arange(442) == 5, np.nan, DIABETES[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"max_depth": 0},
            "The 'max_depth' parameter of NeuralRuleClassifier must be an int in "
            r"the range \[1, inf\) or None. Got 0 instead.",
        ),
        ({"max_depth": 2.5}, "'max_depth' .* Got 2.5 instead."),
        ({"rule_source": "bush"}, "'rule_source' .* a str among .*Got 'bush' instead."),
        ({"n_trees": 0}, "'n_trees' .* Got 0 instead."),
        ({"max_rules": 0}, "'max_rules' .* Got 0 instead."),
        ({"min_samples_leaf": 0}, "'min_samples_leaf' .* Got 0 instead."),
        ({"deep": "yes"}, "'deep' .* Got 'yes' instead."),
        ({"loss": "log"}, "'loss' .* a str among .* Got 'log' instead."),
        ({"l2": -1}, "'l2' .* Got -1 instead."),
        ({"rule_dropout": 1.0}, "'rule_dropout' .* Got 1.0 instead."),
        ({"learning_rate": 0}, "'learning_rate' .* Got 0 instead."),
        ({"schedule": "step"}, "'schedule' .* Got 'step' instead."),
        ({"n_epochs": -1}, "'n_epochs' .* Got -1 instead."),
        ({"batch_size": 0}, "'batch_size' .* Got 0 instead."),
        ({"early_stopping": 1.5}, "'early_stopping' .* Got 1.5 instead."),
        ({"validation_fraction": 1.0}, "'validation_fraction' .* Got 1.0 instead."),
        ({"patience": 0}, "'patience' .* Got 0 instead."),
        ({"class_weight": "even"}, "'class_weight' .* Got 'even' instead."),
        ({"engine": "cuda"}, "'engine' .* a str among .* Got 'cuda' instead."),
        ({"device": "gpu"}, "'device' .* a str among .* Got 'gpu' instead."),
        ({"n_jobs": "two"}, "'n_jobs' .* Got 'two' instead."),
        ({"verbose": "loud"}, "'verbose' .* Got 'loud' instead."),
        ({"random_state": "seed"}, "'random_state' .* Got 'seed' instead."),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_parameters_are_named_and_nothing_is_lost(parameters, message):
    model = NeuralRuleClassifier(2, n_epochs=3, random_state=0).fit(*CANCER)
    before = model.decision_function(CANCER[0])
    model.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*CANCER)
    model.set_params(engine="numba", n_jobs=None, loss="logistic")
    np.testing.assert_array_equal(model.decision_function(CANCER[0]), before)


@pytest.mark.parametrize(
    ("estimator", "X", "y", "message"),
    [
        (
            NeuralRuleClassifier(),
            CANCER[0],
            np.zeros(569, int),
            r"NeuralRuleClassifier needs at least 2 classes in y, got 1 class: .*0.*\. Check "
            "that y is the target and not filtered.",
        ),
        (
            NeuralRuleRegressor(),
            DIABETES[0],
            np.full(442, 3.5),
            r"Target 0 of y has a single value, 3.5, in all 442 samples \(n_samples = 442\): "
            "there is nothing to learn. Check that y is the target and not filtered.",
        ),
        (NeuralRuleRegressor(), DIABETES[0], NAN_Y, "Input y contains NaN"),
        (
            NeuralRuleClassifier(),
            DIABETES[0],
            (NAN_Y > 100) + 0 * NAN_Y,
            "Input y contains NaN",
        ),
        (
            NeuralRuleRegressor(),
            DIABETES[0],
            np.where(np.arange(442) == 5, np.inf, DIABETES[1]),
            "Input y contains infinity",
        ),
        (
            NeuralRuleClassifier(),
            IRIS[0],
            np.array(["a", "b", None] * 50, dtype=object),
            r"Input y contains missing values: row 2 is None\. Remove such rows, or give them "
            "a class of their own.",
        ),
        (NeuralRuleClassifier(), CANCER[0][:0], CANCER[1][:0], "0 sample"),
        (NeuralRuleClassifier(), CANCER[0][:10], CANCER[1], "inconsistent numbers of samples"),
        (
            NeuralRuleClassifier(),
            CANCER[0],
            DIABETES[1][:10],
            "inconsistent numbers of samples",
        ),
        (NeuralRuleClassifier(), DIABETES[0], DIABETES[1] + 0.5, "Unknown label type"),
        (NeuralRuleClassifier(), CANCER[0], None, "requires y to be passed"),
        (
            NeuralRuleClassifier(early_stopping=True, validation_fraction=0.04),
            IRIS[0][::15],
            IRIS[1][::15],
            "^validation_fraction=0.04 of 10 rows leaves 0 to validate and 10 to train on, "
            "since one row of each class stays in training. Change validation_fraction, add "
            "rows, or set early_stopping=False.$",
        ),
        (
            NeuralRuleClassifier(early_stopping=True, validation_fraction=0.9),
            IRIS[0][::50],
            IRIS[1][::50],
            "^validation_fraction=0.9 of 3 rows leaves 0 to validate and 3 to train on, since "
            "one row of each class stays in training. Change validation_fraction, add rows, or "
            "set early_stopping=False.$",
        ),
    ],
)
def test_bad_data_is_explained_and_nothing_is_lost(estimator, X, y, message):
    model = clone(estimator)
    good = IRIS if isinstance(model, NeuralRuleClassifier) else DIABETES
    model.set_params(early_stopping=False, n_epochs=3, random_state=0).fit(*good)
    before = model.predict(good[0])
    state = dict(vars(model))
    model.set_params(early_stopping=estimator.early_stopping)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict(good[0]), before)
    for name, value in state.items():
        assert name == "early_stopping" or vars(model)[name] is value, name


def test_weights_that_are_all_zero():
    with pytest.raises(ValueError, match=r"(?i)sample.weight.* zero|non-zero"):
        NeuralRuleClassifier().fit(*CANCER, sample_weight=np.zeros(569))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        NeuralRuleClassifier().fit(*CANCER, sample_weight=np.full(569, -1.0))


@pytest.mark.parametrize("weights", [{0: 0, 1: 0}, {0: -1, 1: 1}])
def test_bad_class_weights(weights):
    message = (
        r"class_weight=\{.*\} must give every class a weight from 0 to 3.4e38, and at least "
        "one class of y a weight above 0."
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleClassifier(class_weight=weights).fit(*CANCER)


def test_other_columns_at_prediction(mixed_frame):
    frame, y = mixed_frame
    model = NeuralRuleClassifier(2, n_epochs=1).fit(frame, y)
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- income"):
        model.predict(frame.drop(columns="income"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- salary"):
        model.predict(frame.rename(columns={"income": "salary"}))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(frame.to_numpy(dtype=object))


@pytest.mark.filterwarnings("ignore:The first call of partial_fit grew")
def test_partial_fit_errors():
    model = NeuralRuleClassifier(2, random_state=0).partial_fit(*IRIS)
    with pytest.raises(
        ValueError, match=r"y holds .*7.*, which is not one of the classes .* Fit a new"
    ):
        model.partial_fit(IRIS[0], np.full(150, 7))
    with pytest.raises(
        ValueError, match="X has 3 features, but NeuralRuleClassifier is expecting 4"
    ):
        model.partial_fit(IRIS[0][:, :3], IRIS[1])
    with pytest.raises(ValueError, match="partial_fit does not support early_stopping=True"):
        NeuralRuleClassifier(early_stopping=True).partial_fit(*IRIS)
    message = (
        "The first call of partial_fit grows the rules and needs rows of at least 2 classes, "
        "got 1 class: 0. Shuffle the rows before splitting them."
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleClassifier().partial_fit(IRIS[0][:50], IRIS[1][:50], classes=[0, 1, 2])
    regressor = NeuralRuleRegressor(2).partial_fit(*DIABETES)
    with pytest.raises(
        ValueError, match=r"y has 2 targets, but this model was fitted on 1\. Fit a new"
    ):
        regressor.partial_fit(DIABETES[0], np.stack([DIABETES[1]] * 2, axis=1))


def test_balanced_classes():
    X, y = CANCER
    rare = np.flatnonzero(y == 0)[:20]
    keep = np.concatenate([rare, np.flatnonzero(y == 1)])
    plain = NeuralRuleClassifier(2, random_state=0, n_epochs=20).fit(X[keep], y[keep])
    balanced = clone(plain).set_params(class_weight="balanced").fit(X[keep], y[keep])
    assert (balanced.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()


def test_min_samples_leaf_is_honoured():
    model = NeuralRuleClassifier(8, min_samples_leaf=40, n_epochs=0).fit(*CANCER)
    assert model.rules_.n.min() >= 40


def test_single_row_and_single_column_predictions():
    model = NeuralRuleClassifier(2, random_state=0).fit(CANCER[0][:, :1], CANCER[1])
    assert model.predict(CANCER[0][:1, :1]).shape == (1,)


def test_targets_beyond_float32_are_refused():
    X = np.arange(10.0)[:, None]
    with pytest.raises(
        ValueError, match=r"^y holds 1e\+200, too large for float32\. Give the "
    ):
        NeuralRuleRegressor().fit(X, X[:, 0] * 1e200 / 9)


def test_targets_that_hardly_differ_are_refused():
    X = np.arange(10.0)[:, None]
    message = (
        r"^The numbers of y differ by 9e-40 at most, too little for float32\. Give the target "
        r"in a smaller unit, so that they differ by 1e-30 or more\.$"
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleRegressor().fit(X, X[:, 0] * 1e-40)
    smallest = NeuralRuleRegressor(n_epochs=20, random_state=0).fit(X, X[:, 0] * 1e-29)
    plain = NeuralRuleRegressor(n_epochs=20, random_state=0).fit(X, X[:, 0])
    np.testing.assert_allclose(smallest.predict(X), plain.predict(X) * 1e-29, rtol=1e-4)


@pytest.mark.parametrize("kind", [list, tuple, pd.Series, lambda y: np.array(y, dtype=object)])
@pytest.mark.parametrize("estimator", [NeuralRuleClassifier(), NeuralRuleClassifierCV()])
def test_text_beside_other_labels_is_refused(estimator, kind):
    message = (
        r"^y mixes text with other labels: row 1 is 'a', row 0 is 1\. Make all of them text, "
        r"for example by \[str\(label\) for label in y\], or all of them numbers\.$"
    )
    with pytest.raises(ValueError, match=message):
        estimator.fit(IRIS[0][::10], kind([1, "a", 2.5] * 5))


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
@pytest.mark.parametrize("name", ["NeuralRuleRegressor", "NeuralRuleRegressorCV"])
def test_numbers_cannot_be_learned_from_text(name, kind):
    message = (
        rf"^y holds the text 'low' \(cell 1\), but {name} predicts numbers\. Convert y to "
        rf"numbers, or use {name.replace('Regressor', 'Classifier')} to predict classes\.$"
    )
    with pytest.raises(ValueError, match=message):
        getattr(neuralrules, name)().fit(IRIS[0][::10], kind(["1.5", "low", "2"] * 5))


# --- the paper's settings ---------------------------------------------------------------------

# Defaults of release 0.1.0, when there was no other way than the paper's.
# What the searches have no use for: they neither go on nor read files.
PLAIN_ONLY = {"warm_start": False, "n_sample_rows": 1_000_000, "checkpoint": None}
FORMER = {
    **PLAIN_ONLY,
    # There were no limits of columns.
    **dict.fromkeys(("monotone", "interactions", "exclude")),
    "max_depth": 6,
    "rule_source": "tree",
    "expert_rules": None,
    "n_trees": 10,
    "max_rules": None,
    "min_samples_leaf": 1,
    "deep": False,
    "l2": 0.15,
    "rule_dropout": 0.1,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "n_epochs": 200,
    "batch_size": (128, 256),  # then called "auto"
    "early_stopping": False,
    "validation_fraction": 0.1,
    "patience": 10,
    "warm_start": False,
    "engine": "numba",
    "device": "auto",
    "n_jobs": None,
    "random_state": None,
    "verbose": 0,
    # What there was no choice of.
    "tree_rate": 0.1,
    "literal_columns": "tree",
    "start": "hinge",
    "fit_intercept": False,
    "scaling": "standard",
    "missing": None,
    "max_terms": None,
}


def test_the_papers_settings_are_the_former_defaults():
    classes = {"loss": "logistic", "class_weight": None}
    assert NeuralRuleClassifier.paper().get_params() == FORMER | classes
    assert NeuralRuleRegressor.paper().get_params() == FORMER | {"loss": "squared"}
    changed = NeuralRuleClassifier.paper(3, l2=1.0, early_stopping=True).get_params()
    assert changed == FORMER | classes | {"max_depth": 3, "l2": 1.0, "early_stopping": True}


@pytest.mark.parametrize(
    ("search", "scoring"),
    [(NeuralRuleClassifierCV, "accuracy"), (NeuralRuleRegressorCV, "r2")],
)
def test_the_papers_search_chooses_a_depth(search, scoring):
    own = search.paper().get_params()
    common = {name: FORMER[name] for name in FORMER if name not in {"max_depth", *PLAIN_ONLY}}
    assert common.items() <= own.items()
    assert own["candidates"] == [{"max_depth": depth} for depth in (2, 4, 6, 8, 10)]
    assert (own["cv"], own["scoring"], own["refit"]) == (5, scoring, "single")
    fewer = search.paper((1, 3), cv=2, n_epochs=1).get_params()
    assert fewer["candidates"] == [{"max_depth": 1}, {"max_depth": 3}]
    assert (fewer["cv"], fewer["n_epochs"]) == (2, 1)


def test_the_papers_network_has_no_intercept_and_looks_at_all_columns_of_its_tree():
    network = NeuralRuleClassifier.paper(4, n_epochs=2, random_state=0).fit(*CANCER).network_
    assert network.intercept == 0
    for rule in range(network.n_rules):
        np.testing.assert_array_equal(network.rule_columns(rule), network.features)


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "rows"),
    [
        (20, "auto", 20),
        (100, "auto", 32),
        (1600, "auto", 100),
        (10**6, "auto", 256),
        (100, (128, 256), 100),
        (1000, (128, 256), 128),
        (3200, (128, 256), 200),
        (10**6, (128, 256), 256),
        (100, 7, 7),
        (5, 7, 5),
    ],
)
def test_rows_of_a_batch(n_rows, batch_size, rows):
    settings = _base.settings_of(NeuralRuleClassifier(batch_size=batch_size))
    assert settings.plan(Task.of_classes(np.arange(2), "logistic"), n_rows).batch_size == rows


@pytest.mark.parametrize(
    "batch_size", [(), (8,), (0, 8), (9, 8), (8, 9, 10), (8.0, 9), [1, "x"]], ids=repr
)
def test_bounds_of_a_batch_that_are_none(batch_size):
    message = f"batch_size={batch_size!r} must be a whole number of at least 1, a pair (low, "
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        NeuralRuleClassifier(batch_size=batch_size).fit(*CANCER)


@pytest.mark.parametrize(
    ("n_classes", "asked", "n_trees"), [(2, "auto", 32), (3, "auto", 16), (2, 5, 5), (3, 5, 5)]
)
def test_trees_that_grow(n_classes, asked, n_trees):
    assert grown_by(NeuralRuleClassifier(n_trees=asked), n_classes=n_classes).n_trees == n_trees


@pytest.mark.parametrize(
    ("n_rows", "asked", "in_leaf"),
    [(30, "auto", 5), (500, "auto", 10), (5000, "auto", 20), (30, 7, 7)],
)
def test_rows_in_a_leaf(n_rows, asked, in_leaf):
    model = NeuralRuleClassifier(min_samples_leaf=asked)
    assert grown_by(model, n_rows).min_samples_leaf == in_leaf
    half = grown_by(model, 2 * n_rows, weighted=n_rows)  # rows without weight do not count
    assert half.min_samples_leaf == in_leaf


def grown_by(model, n_rows=60, *, n_classes=2, weighted=None):
    """How trees grow on such rows."""
    weights = (np.arange(n_rows) < (weighted or n_rows)).astype(np.float32)
    rows = class_rows(np.zeros((n_rows, 1), np.float32), np.arange(n_rows) % n_classes, weights)
    return _base.settings_of(model).source_options(rows, np.random.RandomState(0), None)
