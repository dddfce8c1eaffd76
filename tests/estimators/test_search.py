"""Choosing the depth by cross-validation."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
)
from neuralrules._estimators import _search

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def test_it_is_the_plain_search_and_refit():
    X, y = CANCER
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    search = NeuralRuleClassifierCV((1, 2, 5), cv=folds, n_epochs=10, random_state=0).fit(X, y)
    assert search.cv_scores_.shape == (3, 3)
    means = search.cv_scores_.mean(axis=1)
    assert search.max_depth_ == (1, 2, 5)[int(np.argmax(means))]
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    train, test = folds[1]
    model = NeuralRuleClassifier(2, n_epochs=10, random_state=seed).fit(X[train], y[train])
    assert search.cv_scores_[1, 1] == model.score(X[test], y[test])
    refit = NeuralRuleClassifier(search.max_depth_, n_epochs=10, random_state=seed).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), refit.decision_function(X))


def test_the_paper_s_depths_and_folds_are_the_defaults():
    assert NeuralRuleClassifierCV().max_depths == (2, 4, 6, 8, 10)
    assert NeuralRuleRegressorCV().cv == 5


def test_jobs_do_not_change_the_result():
    options = {"max_depths": (2, 3), "cv": 2, "n_epochs": 5, "random_state": 0}
    one = NeuralRuleRegressorCV(**options).fit(*DIABETES)
    two = NeuralRuleRegressorCV(n_jobs=2, **options).fit(*DIABETES)
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    np.testing.assert_array_equal(one.predict(DIABETES[0]), two.predict(DIABETES[0]))


def test_frames_with_categories_and_holes(mixed_frame):
    frame, y = mixed_frame
    model = NeuralRuleClassifierCV((1, 4), cv=3, n_epochs=20, random_state=0).fit(frame, y)
    assert model.max_depth_ == 4
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.predict_proba(frame).shape == (len(frame), 2)


def test_weights_reach_fits_and_scores():
    X, y = CANCER
    weights = np.where(y == 1, 1.0, 1e-6)
    model = NeuralRuleClassifierCV((2,), cv=3, n_epochs=5, random_state=0).fit(X, y, weights)
    assert model.cv_scores_.min() > 0.98  # the second class hardly counts


def test_parameters_are_those_of_the_plain_estimators():
    for plain, search in (
        (NeuralRuleClassifier(), NeuralRuleClassifierCV()),
        (NeuralRuleRegressor(), NeuralRuleRegressorCV()),
    ):
        ours, theirs = plain.get_params(), search.get_params()
        assert set(theirs) - set(ours) == {"max_depths", "cv"}
        assert set(ours) - set(theirs) == {"max_depth", "warm_start"}
        assert all(ours[name] == theirs[name] for name in set(ours) & set(theirs))


@pytest.mark.parametrize("depths", [(), (0, 2), (2, "four"), (2.5,)])
def test_bad_depths(depths):
    message = (
        r"max_depths must hold at least one integer, each at least 1; got .* "
        r"For example max_depths=\(2, 4, 6, 8, 10\)."
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleClassifierCV(depths).fit(*CANCER)


def test_more_folds_than_rows():
    message = "cv=5 folds need at least 5 rows, but n_samples = 4. Lower cv or add rows."
    with pytest.raises(ValueError, match=message):
        NeuralRuleRegressorCV().fit(DIABETES[0][:4], DIABETES[1][:4])


def test_a_failed_fit_leaves_the_last_one():
    model = NeuralRuleClassifierCV((2,), cv=2, n_epochs=2, random_state=0).fit(*CANCER)
    before = model.decision_function(CANCER[0])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(np.where(CANCER[0] > 20, np.inf, CANCER[0]), CANCER[1])
    np.testing.assert_array_equal(model.decision_function(CANCER[0]), before)


def test_a_class_with_a_single_row():
    X, y = CANCER[0][:50], np.arange(50) == 7
    message = (
        "cv=5 needs at least 2 rows of each of two classes, or one fold has only the other "
        "class to learn. Add rows, or give the splits as cv."
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleClassifierCV().fit(X, y)


@pytest.mark.parametrize(("n_before", "depth"), [(0, 1), (5, 2)])
def test_an_interrupted_search_uses_what_it_has(monkeypatch, n_before, depth):
    calls = iter(range(100))

    def score(model, *_):
        if next(calls) == n_before:
            raise KeyboardInterrupt
        return float(model.max_depth)

    monkeypatch.setattr(_search, "fit_and_score", score)
    model = NeuralRuleClassifierCV((1, 2, 3), cv=2, n_epochs=2, random_state=0)
    message = (
        f"The search for max_depth was interrupted after {n_before} of 6 fits. This "
        f"NeuralRuleClassifierCV is fitted with max_depth={depth}, the best depth that was "
        "fully scored or else the smallest."
    )
    with pytest.warns(UserWarning, match=message):
        model.fit(*CANCER)
    assert model.max_depth_ == depth
    assert model.interrupted_
    assert np.isnan(model.cv_scores_).sum() == 6 - n_before
    assert model.score(*CANCER) > 0.8


def test_folds_of_one_row():
    message = (
        r"cv=LeaveOneOut\(\) makes folds on which R\^2 is not defined: it needs two rows. Use"
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleRegressorCV((1,), cv=LeaveOneOut(), n_epochs=1).fit(
            DIABETES[0][:10], DIABETES[1][:10]
        )
