"""NumPy in place of the kernels, for tables too small to load numba for."""

import numpy as np
import pytest
from models import EVERY_MODEL, fitted

from neuralrules._engine import _early, get_engine
from neuralrules._engine._early import EarlyEngine
from neuralrules._estimators._base import checked_table

EPSILON = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_decides_as_the_kernels_do(kind, deep, monkeypatch):
    monkeypatch.setattr(_early, "CHUNK", 37)  # rows of a chunk, and some left over
    model, X, _ = fitted(kind, deep)
    network = model.network_
    encoded = model.encoder_.transform(checked_table(model, X))
    fast = get_engine("numba", 1)
    expected = fast.decide(network, encoded)
    # Beyond the rounding of float32 in each rule, which may cancel in their sum.
    sizes = fast.activations(network, encoded) @ np.abs(network.values)
    slack = 16 * EPSILON * (1 + sizes)
    assert (np.abs(_early.decide(network, encoded) - expected) <= slack).all()


def test_the_kernels_take_over_where_there_is_enough_to_do(monkeypatch):
    model, X, _ = fitted("two classes")
    network, encoded = model.network_, model.encoder_.transform(X)
    n_products = len(encoded) * network.own_weights.size
    monkeypatch.setattr(_early, "WORTH_LOADING", 2 * n_products)
    loaded = []

    def load():
        loaded.append(get_engine("numba", 1))
        return loaded[0]

    engine = EarlyEngine(load)
    results = [engine.decide(network, encoded) for _ in range(4)]
    assert len(loaded) == 1
    for result in results:
        np.testing.assert_allclose(result, results[-1], rtol=1e-4, atol=1e-4)
    assert engine.decide(network, encoded[:0]).shape == (0, network.n_outputs)
