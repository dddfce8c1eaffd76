"""Models that keep to directions, groups and exclusions of columns, in all they do."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import network_outputs, with_network
from sklearn.base import clone

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
    load,
    read_rules,
)
from neuralrules._estimators._base import checked_table, engine_of

# What is asked for here has little to do with the tables.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This .* predicts worse than a constant"),
    pytest.mark.filterwarnings("ignore:The first call of partial_fit grew"),
]
MONOTONE = {"a": 1, "b": -1}
LIMITS = {"monotone": MONOTONE, "interactions": [["a", "c"], ["b"]], "exclude": ["e"]}
ESTIMATORS = {
    "numbers": (NeuralRuleRegressor, NeuralRuleRegressorCV),
    "two numbers": (NeuralRuleRegressor, NeuralRuleRegressorCV),
    "classes": (NeuralRuleClassifier, NeuralRuleClassifierCV),
}


@cache
def table(task, seed=0):
    """A frame and targets that follow the directions here and there, and break them."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(np.round(rng.randn(120, 5), 1), columns=list("abcde"))
    frame["d"] = np.where(frame["d"] > 0, "high", "low")
    a, b, c, e = (frame[name].to_numpy() for name in "abce")
    y = np.sin(3 * a) + a * (c > 0) - b + np.cos(4 * b) + (frame["d"] == "high") + e
    if task == "two numbers":
        return frame, np.stack([y, np.cos(3 * a) - 2 * b * (c > 0)], axis=1)
    return frame, (y > 0 if task == "classes" else y.to_numpy())


def fitted(task, *, joined=False, seed=0, **options):
    """A model of few rules, trained by steps that are far too large."""
    X, y = table(task, seed)
    few = {"n_trees": 3, "n_epochs": 4, "learning_rate": 0.1, "random_state": 0}
    if joined:
        few |= {"candidates": [{}], "cv": 2}
    return ESTIMATORS[task][joined](**{**few, **LIMITS, **options}).fit(X, y)


def assert_obeys(model, limits=LIMITS):
    """From the network alone: directions, groups of columns, excluded columns."""
    if limits.get("monotone"):
        assert model.check_monotone(limits["monotone"]) == []
    network, encoder = model.network_, model.encoder_
    groups = [set(group) for group in limits.get("interactions", [list("abcde")])]
    for rule in range(network.n_rules):
        used = network.rule_columns(rule)[network.rule_weights(rule).any(axis=0)]
        names = {encoder.names[encoder.columns[column].source] for column in used}
        assert not names & set(limits.get("exclude", ()))
        assert len(names) < 2 or any(names <= group for group in groups)


def assert_monotone(model, monotone=MONOTONE):
    """Outputs never go the wrong way along a column, but for rounding."""
    start, _ = table("numbers")
    for column, direction in monotone.items():
        X = start.iloc[np.repeat(np.arange(8), 60)].copy()
        X[column] = np.tile(np.linspace(-6, 6, 60), 8)
        outputs = network_outputs(model, X).reshape(8, 60, -1)
        encoded = model.encoder_.transform(checked_table(model, X))
        active = engine_of(model).activations(model.network_, encoded)
        sizes = active @ np.abs(model.network_.values)
        assert (np.diff(outputs, axis=1) * direction).min() >= -1e-5 * sizes.max()


@settings(max_examples=25)
@given(
    task=st.sampled_from(list(ESTIMATORS)),
    joined=st.booleans(),
    deep=st.booleans(),
    engine=st.sampled_from(["numpy", "numba"]),
    rule_source=st.sampled_from(["boosting", "forest", "tree"]),
    literal_columns=st.sampled_from(["rule", "tree", "own"]),
    start=st.sampled_from(["hinge", "leaf"]),
    scaling=st.sampled_from(["standard", "quantile"]),
    sign=st.sampled_from([1, -1]),
    seed=st.integers(0, 1000),
)
def test_models_obey_and_predict_so(task, sign, **options):
    monotone = {name: sign * direction for name, direction in MONOTONE.items()}
    model = fitted(task, max_depth=3, monotone=monotone, **options)
    assert_obeys(model, {**LIMITS, "monotone": monotone})
    assert_monotone(model, monotone)


@pytest.mark.parametrize("literal_columns", ["own", "rule", "tree"])
@pytest.mark.parametrize("rule_source", ["boosting", "forest", "tree"])
@pytest.mark.parametrize("task", list(ESTIMATORS))
def test_the_start_obeys(task, rule_source, literal_columns):
    options = {"rule_source": rule_source, "literal_columns": literal_columns}
    model = fitted(task, n_epochs=0, max_depth=3, n_trees=8, **options)
    assert_obeys(model)
    assert_monotone(model)
    # Weights on other columns do not even exist.
    network, sources = model.network_, [column.source for column in model.encoder_.columns]
    for rule in range(network.n_rules):
        owned = {sources[column] for column in network.rule_columns(rule)}
        assert owned <= {0, 2} or len(owned) == 1


@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_what_may_be_learned_is_learned(task):
    model = fitted(task, n_trees=30, n_epochs=60, learning_rate=0.01, exclude=["d"])
    used = {model.encoder_.names[source] for source in model.fitted_.used_columns}
    assert used == {"a", "b", "c", "e"}
    X, y = table(task)
    assert model.score(X, y) > 0.7
    assert_obeys(model, {**LIMITS, "exclude": ["d"]})


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("task", list(ESTIMATORS))
def test_without_limits_the_same_tables_break_them(task, deep):
    nothing = dict.fromkeys(LIMITS)
    model = fitted(task, n_trees=8, max_depth=3, deep=deep, **nothing)
    broken = model.check_monotone(MONOTONE)
    assert {column for _, column in broken} == {"a", "b"}
    with pytest.raises(AssertionError):
        assert_monotone(model)
    for name in ("interactions", "exclude"):
        with pytest.raises(AssertionError):
            assert_obeys(model, {name: LIMITS[name]})


@pytest.mark.parametrize("deep", [False, True])
def test_a_check_names_what_was_broken_on_purpose(deep):
    model = fitted("numbers", deep=deep)
    network, encoder = model.network_, model.encoder_
    place = next(i for i, column in enumerate(encoder.columns) if column.source == 0)
    rule = next(
        rule
        for rule in range(network.n_rules)
        if network.weights[network.offsets[rule] : network.offsets[rule + 1]][
            :, network.features == place
        ].any()
    )
    values = network.values.copy()
    values[rule] *= -1
    assert (rule, "a") in with_network(model, replace(network, values=values)).check_monotone()
    if deep:
        layout, mixing = network.layout, network.mixing.copy()
        layout.mixing_of(mixing, rule)[:] *= -1
        broken = with_network(model, replace(network, mixing=mixing))
        assert (rule, "a") in broken.check_monotone()


def test_a_check_of_a_model_without_directions():
    model = fitted("numbers", monotone=None)
    with pytest.raises(
        ValueError,
        match=r"^This model was fitted with monotone=None and promises nothing. Say what to "
        r"prove, for example monotone={'a': 1}\.$",
    ):
        model.check_monotone()


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("task", list(ESTIMATORS))
def test_a_warm_start_makes_rules_obey_that_did_not(task, deep):
    X, y = table(task)
    model = fitted(task, warm_start=True, max_depth=3, deep=deep, **dict.fromkeys(LIMITS))
    assert model.check_monotone(MONOTONE)
    model.set_params(**LIMITS, n_epochs=1).fit(X, y)
    assert_obeys(model)
    assert_monotone(model)
    steps = model.fitted_.state.moments.n_steps
    model.fit(X, y)
    assert model.fitted_.state.moments.n_steps == 2 * steps  # it goes on where it was
    assert_obeys(model)


@pytest.mark.parametrize("task", list(ESTIMATORS))
def test_partial_fit_obeys_from_the_first_call_on(task):
    X, y = table(task)
    model = clone(fitted(task)).set_params(early_stopping=False)
    for _ in range(3):
        model.partial_fit(X, y)
        assert_obeys(model)
    assert_monotone(model)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("joined", [False, True])
def test_every_step_of_a_simplification_obeys(joined, deep):
    X, y = table("numbers")
    options = {"learning_rate": 0.01, "n_epochs": 20, "n_trees": 6}
    model = fitted("numbers", joined=joined, deep=deep, max_depth=3, **options)
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    assert len(path) > 4
    for step in range(len(path)):
        assert_obeys(path.model(step))
    assert_monotone(path.model(len(path) // 2))


def test_a_model_that_is_told_later_obeys_once_it_is_simplified():
    X, y = table("numbers")
    model = fitted("numbers", n_trees=8, max_depth=3, **dict.fromkeys(LIMITS))
    path = model.set_params(**LIMITS).simplification_path(X, y, X_val=X, y_val=y)
    assert path.model(0).check_monotone()
    for step in range(1, len(path)):
        assert_obeys(path.model(step))


@pytest.mark.parametrize("deep", [False, True])
def test_a_model_whose_literals_went_can_be_read_saved_and_read_back(deep, tmp_path):
    directions = {"monotone": {"a": -1, "b": 1}, "interactions": []}
    model = fitted("two numbers", rule_source="forest", n_trees=8, deep=deep, **directions)
    network, rules = model.network_, model.rules_
    had_splits = np.diff(rules.offsets) > 0
    blind = [not network.rule_weights(rule).any() for rule in range(network.n_rules)]
    assert network.n_literals < rules.n_literals
    assert (had_splits & blind).any()  # constant now
    X, y = table("two numbers")
    assert re.search(r"^  now   (every|no) row$", model.rules_text(), re.MULTILINE)
    replayed = read_rules(model.exact_text()).predict(X)
    np.testing.assert_allclose(replayed, model.predict(X), rtol=1e-4, atol=1e-4)
    again = load(model.save(tmp_path / "m.nrules"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.monotone == {"a": -1, "b": 1}
    assert (again.interactions, again.exclude) == ((), ("e",))
    assert again.check_monotone() == []
    assert len(model.rules_table()) == network.n_rules
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    rest = path.steps[1].network
    assert all(rest.rule_weights(rule).any() for rule in range(rest.n_rules))


def test_dates_rise_and_holes_are_left_out_of_it():
    rng = np.random.RandomState(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(0, 1000, 200), "D")
    X = pd.DataFrame({"day": days, "size": rng.randn(200)})
    y = np.sin(rng.randint(0, 1000, 200) / 100) + X["size"]
    X.loc[::9, "size"] = np.nan
    y[::9] = 5.0
    model = NeuralRuleRegressor(monotone={"day": 1, "size": -1}, n_epochs=5, random_state=0)
    model.fit(X, y)
    assert model.check_monotone() == []
    sweep = X.iloc[[1] * 50].assign(day=pd.date_range("2015-01-01", "2030-01-01", 50))
    assert np.diff(model.predict(sweep)).min() >= -1e-5


BY_CLASS = {"a": {"high": 1}, "b": {"high": -1, "low": 1}}


def three_classes(loss="logistic", **options):
    X, y = table("numbers")
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]
    few = {"n_trees": 3, "n_epochs": 6, "learning_rate": 0.1, "random_state": 0}
    model = NeuralRuleClassifier(loss=loss, **{**few, **options})
    return model.fit(X, labels), X, labels


def chance_along(model, X, column, label):
    """The probability, or the score, of a class along a column, in 8 rows."""
    sweep = X.iloc[np.repeat(np.arange(8), 60)].copy()
    sweep[column] = np.tile(np.linspace(-6, 6, 60), 8)
    place = list(model.classes_).index(label)
    scores = model.loss == "hinge"
    outputs = model.decision_function(sweep) if scores else model.predict_proba(sweep)
    return outputs[:, place].reshape(8, 60)


def assert_classes_obey(model, X):
    assert model.check_monotone(BY_CLASS) == []
    for column, own in BY_CLASS.items():
        for label, direction in own.items():
            along = chance_along(model, X, column, label)
            assert (np.diff(along, axis=1) * direction).min() >= -1e-5


@pytest.mark.parametrize("engine", ["numba", "numpy"])
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_single_classes_have_directions(loss, deep, engine):
    model, X, _ = three_classes(loss, deep=deep, engine=engine, monotone=BY_CLASS)
    assert_classes_obey(model, X)
    assert np.ptp(chance_along(model, X, "a", "high")) > 0.05  # and yet it learns
    free, X, _ = three_classes(loss, deep=deep, engine=engine)
    assert free.check_monotone(BY_CLASS)


@pytest.mark.parametrize("deep", [False, True])
def test_directions_of_single_classes_last(deep, tmp_path):
    """Through simplifying, rounding, editing, refitting, saving and joining."""
    model, X, y = three_classes(deep=deep, monotone=BY_CLASS, n_epochs=20, n_trees=4)
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    for step in range(0, len(path), 2):
        assert_classes_obey(path.model(step), X)
    for precision in (1, "friendly"):
        assert_classes_obey(model.round_numbers(X, y, precision=precision).model, X)
    edited = model.edit(drop=[0], freeze=[1])
    edited.warm_start = True
    assert_classes_obey(edited.fit(X, y), X)
    model.save(tmp_path / "model.nrules")
    loaded = load(tmp_path / "model.nrules")
    assert loaded.monotone == BY_CLASS
    assert loaded.check_monotone() == []
    joined = NeuralRuleClassifierCV(
        candidates=[{}], cv=2, monotone=BY_CLASS, n_trees=2, n_epochs=4, random_state=0
    ).fit(X, y)
    assert_classes_obey(joined, X)


def test_single_targets_have_directions():
    X, y = table("two numbers")
    options = {"n_trees": 3, "n_epochs": 6, "learning_rate": 0.1, "random_state": 0}
    monotone = {"a": {0: 1}, "b": {1: -1}}
    model = NeuralRuleRegressor(monotone=monotone, **options).fit(X, y)
    assert model.check_monotone() == []
    for column, (place, direction) in {"a": (0, 1), "b": (1, -1)}.items():
        sweep = X.iloc[np.repeat(np.arange(8), 60)].copy()
        sweep[column] = np.tile(np.linspace(-6, 6, 60), 8)
        along = model.predict(sweep)[:, place].reshape(8, 60)
        assert (np.diff(along, axis=1) * direction).min() >= -1e-4
    assert model.check_monotone({"a": 1, "b": -1})  # of both targets it is not promised


def test_three_classes_are_refused_in_time():
    X, y = table("numbers")
    for model in (NeuralRuleClassifier(**LIMITS), NeuralRuleClassifierCV(**LIMITS)):
        with pytest.raises(ValueError, match=r"^monotone=.* but y has 3 classes"):
            model.fit(X, np.digitize(y, [-1, 1]))
        assert not hasattr(model, "fitted_")
