"""The fitted model as a value."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from models import EVERY_MODEL, fitted, network_outputs
from sklearn.exceptions import NotFittedError

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._estimators._base import checked_table, encoded_rows, engine_of, fitted_of
from neuralrules._fitted import _fitted
from neuralrules._fitted._fitted import remembered_rows
from neuralrules._training._training import State


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_predicts_without_the_estimator(kind, deep):
    model, X, _ = fitted(kind, deep)
    value, engine, table = model.fitted_, engine_of(model), checked_table(model, X)
    np.testing.assert_array_equal(value.predict(table, engine), model.predict(X))
    encoded = value.encoder.transform(table)
    decided = engine.decide(value.network, encoded) + value.network.intercept
    np.testing.assert_array_equal(value.decide(table, engine), decided)


def test_an_estimator_shows_what_its_value_holds():
    model, _, _ = fitted("three classes")
    value = model.fitted_
    assert model.rules_ is value.rules
    assert model.network_ is value.network
    assert model.encoder_ is value.encoder
    assert model.history_ is value.history
    assert model.n_iter_ == value.n_epochs == 40
    assert model.interrupted_ is value.interrupted is False
    assert model.classes_ is value.task.classes
    assert value.estimator == "NeuralRuleClassifier"
    learned = {name for name in vars(model) if name.endswith("_")}
    assert learned == {"fitted_", "n_features_in_"}


@pytest.mark.parametrize("estimator", [NeuralRuleClassifier, NeuralRuleRegressor])
def test_an_estimator_that_is_not_fitted_has_learned_nothing(estimator):
    for name in ("rules_", "network_", "encoder_", "history_", "n_iter_", "classes_"):
        assert not hasattr(estimator(), name)
    with pytest.raises(NotFittedError, match=f"This {estimator.__name__} instance is not"):
        fitted_of(estimator())


def test_a_regressor_has_no_classes():
    assert not hasattr(fitted("numbers")[0], "classes_")


def test_it_cannot_be_changed_but_copied_with_changes():
    model, X, _ = fitted("numbers")
    with pytest.raises(FrozenInstanceError):
        model.fitted_.notes = {}
    noted = replace(model.fitted_, notes={"by": ["me"]})
    assert model.fitted_.notes == {}
    other = copy.copy(model)
    other.fitted_ = noted
    np.testing.assert_array_equal(network_outputs(other, X), network_outputs(model, X))


def test_it_survives_pickling():
    model, X, _ = fitted("mixed")
    value = pickle.loads(pickle.dumps(model.fitted_))
    table, engine = checked_table(model, X), engine_of(model)
    np.testing.assert_array_equal(value.predict(table, engine), model.predict(X))


def test_numbers_are_in_their_own_units_only_outside_of_training():
    model, _, y = fitted("numbers")
    inside, outside = model.fitted_.state.network, model.fitted_.network
    assert (inside.intercept == 0).all()
    np.testing.assert_allclose(outside.intercept, y.mean())
    np.testing.assert_allclose(outside.values, inside.values * y.std(), rtol=1e-5)


def test_columns_without_weight_are_not_used():
    model, _, _ = fitted("two classes")
    assert 0 < len(model.fitted_.used_columns) < len(model.encoder_.names)


def test_few_rows_are_remembered_whole_and_many_by_an_even_sample(monkeypatch):
    model, X, y = fitted("two classes")
    weights = np.arange(len(y)) % 3 * 1.0
    rows = encoded_rows(model, X, y, weights)
    whole = encoded_rows(model, X, y)
    assert remembered_rows(whole, 1) is whole
    monkeypatch.setattr(_fitted, "READ_ROWS_PER_EPOCH", 50)
    some = remembered_rows(rows, 2)
    assert len(some) == 100
    assert (some.weights > 0).all()
    assert some.weights.sum() == pytest.approx(weights.sum(), rel=1e-5)
    codes = [row.tobytes() for row in some.X]
    assert len(set(codes)) == 100
    assert not model.fitted_.remembers_a_sample


def test_a_network_in_the_units_of_the_targets_is_not_trained():
    """Its values look like those of the network for standardised targets."""
    model, _, _ = fitted("numbers")
    with pytest.raises(TypeError, match=r"^A network in the units of the targets cannot be"):
        State.start(model.network_.take(np.array([0])))
    assert State.start(model.fitted_.state.network).network is model.fitted_.state.network
