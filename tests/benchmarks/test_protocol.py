"""Splits, the choice of the parameter, and the four methods."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.datasets import TABLES
from benchmarks.generators import rotated_xor, twonorm
from benchmarks.methods import CHANGES, METHODS, VARIANTS
from benchmarks.protocol import Protocol, Task, split, tuning_errors
from neuralrules import NeuralRuleClassifier

PAPER, HOLDOUT = Protocol("paper"), Protocol("holdout")


def labels(data):
    table = TABLES[data]
    y = np.repeat([0, 1], table.counts)
    return np.random.RandomState(0).permutation(y)


def test_five_folds_test_each_row_once_and_keep_the_shares():
    y = labels("churn")
    parts = [split(PAPER, Task("churn", "NRE", fold), y) for fold in range(PAPER.n_repeats)]
    np.testing.assert_array_equal(
        np.sort(np.concatenate([test for _, test in parts])), np.arange(len(y))
    )
    for train, test in parts:
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(y)
        assert y[test].mean() == pytest.approx(y.mean(), abs=1e-3)


def test_holdouts_are_fifteen_per_cent_rounded_up():
    y = labels("hypothyroid")
    parts = [split(HOLDOUT, Task("hypothyroid", "NRE", fold), y) for fold in range(3)]
    for train, test in parts:
        assert len(test) == 475  # of 3163, as the published figures have it
        assert len(train) == 3163 - 475
        assert y[test].mean() == pytest.approx(y.mean(), abs=1e-3)
    assert len({tuple(test) for _, test in parts}) == 3


@pytest.mark.parametrize("protocol", [PAPER, HOLDOUT])
@pytest.mark.parametrize(("data", "n_test"), [("wilt", 500), ("madelon", 600)])
def test_published_test_rows_are_used(protocol, data, n_test):
    y = labels(data)
    for fold in range(2):
        train, test = split(protocol, Task(data, "RF", fold), y)
        np.testing.assert_array_equal(np.concatenate([train, test]), np.arange(len(y)))
        assert len(test) == n_test
    assert Task(data, "RF", 0).seed != Task(data, "RF", 1).seed


def test_all_methods_get_the_same_split_and_seed():
    y = labels("banana")
    seeds = {Task("banana", method, 2).seed for method in METHODS}
    tests = {tuple(split(PAPER, Task("banana", method, 2), y)[1]) for method in METHODS}
    assert len(seeds) == len(tests) == 1


def test_a_forest_is_read_at_its_prefixes():
    X, y = twonorm(400, 0)
    train, test = (X[:200], y[:200]), (X[200:], y[200:])
    forest = METHODS["RF"]
    expected = [
        np.sum(forest.fit(n, 7, *train).predict(test[0]) != test[1]) for n in forest.candidates
    ]
    np.testing.assert_array_equal(forest.errors(7, train, test), expected)
    assert len(set(expected)) > 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["GB", "ANN", "NRE"])
def test_errors_are_those_of_each_candidate(name):
    X, y = rotated_xor(300, 0)
    train, test = (X[:200], y[:200]), (X[200:], y[200:])
    method = dataclasses.replace(METHODS[name], candidates=METHODS[name].candidates[:2])
    expected = [
        np.sum(method.make(candidate, 5).fit(*train).predict(test[0]) != test[1])
        for candidate in method.candidates
    ]
    np.testing.assert_array_equal(method.errors(5, train, test), expected)


def test_ctrl_c_in_training_makes_no_record(monkeypatch):
    X, y = rotated_xor(100, 0)
    fit = NeuralRuleClassifier.fit

    def interrupted_fit(self, X, y):
        fit(self, X, y)
        self.fitted_ = dataclasses.replace(self.fitted_, interrupted=True)
        return self

    monkeypatch.setattr(NeuralRuleClassifier, "fit", interrupted_fit)
    with pytest.raises(KeyboardInterrupt):
        METHODS["NRE"].fit(2, 0, X, y)


def test_the_tuning_sample_is_stratified_and_no_larger_than_asked(monkeypatch):
    seen = []

    def look(self, seed, train, test):
        seen.append((train, test))
        return np.zeros(2, int)

    monkeypatch.setattr(type(METHODS["GB"]), "errors", look)
    X, y = twonorm(1000, 0)
    y = (np.arange(1000) < 100).astype(int)
    _, n_rows = tuning_errors(Protocol(tune_rows=500), Task("ring", "GB", 0), X, y)
    assert n_rows == 500
    assert sum(len(test[1]) for _, test in seen) == 500
    assert {int(test[1].sum()) for _, test in seen} == {10}
    for limit in (0, 1000, 5000):
        assert tuning_errors(Protocol(tune_rows=limit), Task("ring", "GB", 0), X, y)[1] == 1000


def test_the_grids_are_the_papers():
    assert {name: method.candidates for name, method in METHODS.items()} == {
        "GB": (2, 4, 6, 8, 10),
        "RF": (32, 64, 128, 256, 512),
        "ANN": (64, 128, 256, 512, 1024),
        "NRE": (2, 4, 6, 8, 10),
    }
    assert METHODS["GB"].make(4, 0).n_estimators == 100


def test_sizes_are_counted():
    X, y = rotated_xor(300, 0)
    sizes = {name: method.size(method.fit(2, 0, X, y)) for name, method in METHODS.items()}
    assert sizes["RF"]["trees"] == 2
    assert sizes["GB"]["trees"] == 100
    assert sizes["GB"]["nodes"] <= 700
    assert sizes["ANN"] == {"weights": 2 * 2 + 2 + 2 + 1}
    assert sizes["NRE"]["rules"] == 4
    assert sizes["NRE"]["literals"] == 8
    assert sizes["NRE"]["nonzero"] <= 8 * 2 + 8 + 4


def test_variants_differ_from_the_default_only_as_they_say():
    default = METHODS["NRE"].make(6, 0).get_params()
    for name, method in VARIANTS.items():
        assert method.make(6, 0).get_params() == default | CHANGES[name]
