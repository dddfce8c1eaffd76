"""The torch engine in whole fits: the reference's models, and words where it cannot run."""

import importlib.util
import sys

import numpy as np
import pytest
from command_line import done, refused
from models import EVERY_MODEL, fitted
from sklearn.datasets import make_classification

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load
from neuralrules._engine import _early, get_engine
from neuralrules._estimators._base import checked_table

with_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which the test group has"
)
X, CODES = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
NUMBERS = X[:, 0] * X[:, 1] + X[:, 2]
COUNTS = np.exp(np.minimum(NUMBERS, 3)).round()
WEIGHTS = np.random.RandomState(0).uniform(0, 2, 300)
CASES = {
    "two classes": (NeuralRuleClassifier, CODES > 0, {}),
    "hinge": (NeuralRuleClassifier, CODES > 0, {"loss": "hinge"}),
    "squared classes": (NeuralRuleClassifier, CODES, {"loss": "squared"}),
    "three classes": (NeuralRuleClassifier, CODES, {"class_weight": "balanced"}),
    "numbers": (NeuralRuleRegressor, NUMBERS, {"literal_columns": "tree"}),
    "huber": (NeuralRuleRegressor, NUMBERS**3, {"loss": "huber", "start": "leaf"}),
    "counts": (
        NeuralRuleRegressor,
        np.exp(np.minimum(NUMBERS, 3)).round(),
        {"loss": "poisson"},
    ),
    "two targets": (NeuralRuleRegressor, X[:, :2] ** 2, {"rule_source": "tree"}),
    "dropout": (NeuralRuleClassifier, CODES > 0, {"rule_dropout": 0.3}),
    "early stopping": (NeuralRuleClassifier, CODES, {"early_stopping": True, "patience": 1}),
    "own columns": (NeuralRuleClassifier, CODES, {"literal_columns": "own"}),
    "monotone": (NeuralRuleRegressor, NUMBERS, {"monotone": {0: 1, 2: 1}}),
    "few terms": (NeuralRuleRegressor, NUMBERS, {"max_terms": 1, "fit_intercept": False}),
}


def fit(case, engine, **options):
    kind, y, own = CASES[case]
    common = {"n_trees": 3, "n_epochs": 3, "batch_size": 50, "random_state": 0}
    settings = {"early_stopping": False, **common, **own, **options}
    model = kind(3, engine=engine, device="cpu", **settings)
    return model.fit(X, y, sample_weight=WEIGHTS)


@with_torch
@pytest.mark.parametrize("case", CASES)
def test_a_fit_is_the_references_within_rounding(case):
    expected, actual = fit(case, "numpy"), fit(case, "torch")
    for name, losses in expected.history_.items():
        np.testing.assert_allclose(actual.history_[name], losses, rtol=2e-3)
    outputs = [
        getattr(model, "decision_function", model.predict)(X) for model in (actual, expected)
    ]
    np.testing.assert_allclose(*outputs, rtol=5e-3, atol=5e-3 * np.std(outputs[1]))


@with_torch
@pytest.mark.parametrize("case", ["two classes", "three classes", "two targets", "monotone"])
def test_a_deep_fit_is_the_references_within_rounding(case):
    """After one step; then units tie to within rounding, and engines may part."""
    options = {"deep": True, "n_epochs": 1, "batch_size": 1000}
    expected, actual = fit(case, "numpy", **options), fit(case, "torch", **options)
    np.testing.assert_allclose(actual.history_["loss"], expected.history_["loss"], rtol=1e-5)
    outputs = [model.fitted_.decide(X, get_engine("numpy", 1)) for model in (actual, expected)]
    np.testing.assert_allclose(*outputs, rtol=2e-3, atol=2e-3)
    later = {"deep": True, "n_epochs": 5}
    losses = [fit(case, engine, **later).history_["loss"] for engine in ("torch", "numpy")]
    np.testing.assert_allclose(*losses, rtol=0.02)


@with_torch
def test_the_number_of_threads_is_the_engines_and_then_what_it_was():
    import torch

    before = torch.get_num_threads()
    models = [fit("three classes", "torch", n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert torch.get_num_threads() == before
    outputs = [model.decision_function(X) for model in models]
    np.testing.assert_allclose(*outputs, rtol=1e-3, atol=1e-3)


@with_torch
@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_decides_to_the_bit_as_numpy_does_for_few_rows(kind, deep):
    """So do a CPU and a GPU: neither rounds in another order."""
    model, table, _ = fitted(kind, deep)
    encoded = model.encoder_.transform(checked_table(model, table))
    outputs = get_engine("torch", 1, "cpu").decide(model.network_, encoded)
    np.testing.assert_array_equal(outputs, _early.decide(model.network_, encoded))


@with_torch
def test_a_model_is_saved_with_its_engine_and_goes_on_training(tmp_path):
    model = fit("two classes", "torch", warm_start=True)
    again = load(model.save(tmp_path / "m.nrules"))
    assert (again.engine, again.device) == ("torch", "cpu")
    one, other = (some.fit(X, CODES > 0).decision_function(X) for some in (model, again))
    np.testing.assert_array_equal(one, other)


@with_torch
def test_a_gpu_that_is_not_there_is_refused_in_words(monkeypatch, here):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    model = NeuralRuleClassifier(engine="torch", device="cuda")
    message = r"^device='cuda' needs a CUDA GPU, and torch finds none here\. Use device='auto',"
    with pytest.raises(ValueError, match=message):
        model.fit(X, CODES)
    options = ("--engine", "torch", "--device", "cuda")
    line = refused("fit", "iris.csv", "--target", "species", "-o", "m.nrules", *options)
    assert line.startswith("--device 'cuda' needs a CUDA GPU, and torch finds none here.")
    options = ("--engine", "torch", "--device", "auto", "--n-epochs", 1)
    done("fit", "iris.csv", "--target", "species", "-o", "m.nrules", *options)
    assert load("m.nrules").device == "auto"


def test_without_torch_the_engine_is_refused_in_words(monkeypatch, here):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = r"^engine='torch' needs torch, and torch is not installed\. Install it with: pip"
    with pytest.raises(ImportError, match=message):
        NeuralRuleClassifier(engine="torch").fit(X, CODES)
    options = ("--engine", "torch", "--target", "species", "-o", "m.nrules")
    assert 'pip install "neuralrules[gpu]"' in refused("fit", "iris.csv", *options)


def test_a_model_that_torch_trained_is_used_without_torch(monkeypatch, here):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = NeuralRuleClassifier(2, n_trees=2, n_epochs=1, random_state=0).fit(X, CODES)
    model.set_params(engine="torch", device="cuda").save("gpu.nrules")
    np.savetxt("rows.csv", X, delimiter=",", header="x0,x1,x2,x3,x4,x5", comments="")
    again = load("gpu.nrules")
    with pytest.raises(ImportError, match="or use engine='numba'"):
        again.predict(X)
    expected = model.set_params(engine="numba").decision_function(X)
    np.testing.assert_array_equal(
        again.set_params(engine="numba").decision_function(X), expected
    )
    done("predict", "gpu.nrules", "rows.csv", "-o", "out.csv")
