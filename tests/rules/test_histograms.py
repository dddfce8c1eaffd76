"""Trees grown by histograms: bins, and the same leaves as scikit-learn's own prediction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from strategies import class_rows, source_options, tables
from threadpoolctl import threadpool_limits

from neuralrules._rules._histograms import MAX_BINS, Bins, boost, cuts_between
from neuralrules._rules._sources import boosted_trees


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """On a busy machine OpenMP's threads wait for each other longer than they work."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def boosted(X, y, weights, loss="log_loss", **parameters):
    bins = Bins.fit(X)
    options = {"max_iter": 5, "max_depth": 3, "min_samples_leaf": 1, **parameters}
    return bins, boost(bins.transform(X), y, weights, loss=loss, **options)


def outputs_of(bins, model, X):
    """What the parsed trees add to the baseline, (n_rows, trees a round)."""
    rounds = [[bins.splits(one) for one in stage] for stage in model._predictors]
    return sum(
        np.stack([values[splits.apply(X)] for splits, values in stage], axis=1)
        for stage in rounds
    )


@given(tables(n_classes=3), st.floats(0.05, 1))
def test_parsed_trees_predict_what_the_boosted_model_does(table, rate):
    X, codes, weights = table
    bins, model = boosted(X, codes, weights, learning_rate=rate)
    expected = model.decision_function(bins.transform(X)) - model._baseline_prediction
    np.testing.assert_allclose(outputs_of(bins, model, X), expected, atol=1e-9)


@pytest.mark.parametrize("rounded", [False, True])
def test_many_numbers_share_bins_and_rows_on_a_cut_go_left(rounded):
    rng = np.random.RandomState(0)
    X = rng.randn(4000, 3).astype(np.float32)
    X[:, 2] = 1  # nothing to cut
    X = np.round(X, 1) if rounded else X
    y = X[:, 0] * X[:, 1]
    bins, model = boosted(X, y, np.ones(4000), loss="squared_error", max_depth=6)
    cuts = np.concatenate(bins.cuts)
    probes = np.concatenate([X, np.repeat(cuts, 3).reshape(-1, 3).astype(np.float32)])
    codes = bins.transform(probes)
    for place, own in enumerate(bins.cuts):
        # By definition, in float64.
        at_most = (probes[:, place, None].astype(float) > own).sum(axis=1)
        np.testing.assert_array_equal(codes[:, place], at_most)
    expected = model.predict(codes) - model._baseline_prediction[0]
    np.testing.assert_allclose(outputs_of(bins, model, probes)[:, 0], expected, atol=1e-9)
    assert len(bins.cuts[2]) == 0
    if not rounded:
        assert [len(own) for own in bins.cuts[:2]] == [MAX_BINS - 1] * 2
        assert np.bincount(codes[:4000, 0]).max() <= 4000 / MAX_BINS + 1


@given(st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=40))
def test_few_numbers_are_all_told_apart(numbers):
    column = np.sort(np.array(numbers, np.float32))
    bins = Bins([cuts_between(column)]).transform(column[:, None])[:, 0]
    np.testing.assert_array_equal(bins, np.unique(column, return_inverse=True)[1])


def test_a_number_that_most_rows_share_has_a_bin_of_its_own():
    column = np.sort(np.concatenate([np.zeros(5000), np.arange(1, 1001)])).astype(np.float32)
    for numbers in (column, -column[::-1]):
        cuts = cuts_between(numbers)
        bins = np.searchsorted(cuts, numbers)
        assert len(set(bins[numbers == 0])) == 1
        assert (bins == bins[numbers == 0][0]).sum() in range(5000, 5030)
        assert len(cuts) > 20


def test_weights_count_and_rows_without_weight_do_not():
    X, y = make_classification(400, 5, random_state=0)
    X = X.astype(np.float32)
    weights = np.where(np.arange(400) < 300, 1 + np.arange(400) % 2, 0).astype(np.float32)
    options = source_options(n_trees=4, max_depth=2)
    some = boosted_trees(class_rows(X, y, weights), options)
    alone = boosted_trees(class_rows(X[:300], y[:300], weights[:300]), options)
    twice = np.repeat(np.arange(300), weights[:300].astype(int))
    repeated = boosted_trees(class_rows(X[twice], y[twice], np.ones(450, np.float32)), options)
    for one, other, third in zip(some, alone, repeated, strict=True):
        np.testing.assert_array_equal(one.threshold, other.threshold)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.totals, other.totals)
        np.testing.assert_array_equal(one.totals.sum(axis=1), one.n)
        # A row of weight 2 is two rows, but for the places of cuts among many numbers.
        assert third.n.sum() == one.n.sum() == 450


def test_trees_grow_on_one_thread(monkeypatch):
    found = []

    def noted(*_, **__):
        found.append(_openmp_effective_n_threads())
        raise InterruptedError

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", noted)
    with threadpool_limits(2, user_api="openmp"), pytest.raises(InterruptedError):
        boosted(np.zeros((4, 1), np.float32), np.arange(4) % 2, np.ones(4))
    assert found == [1]
