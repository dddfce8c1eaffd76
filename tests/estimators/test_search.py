"""Candidates compared by cross-validation, and what is kept of the best."""

import re

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
    load,
)
from neuralrules._estimators import _search
from neuralrules._estimators._candidates import default_candidates
from neuralrules._fitting import _folds
from neuralrules._network._network import Network

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)
QUICK = {"n_trees": 2, "n_epochs": 5, "random_state": 0}


def test_the_average_is_the_mean_of_models_that_stopped_on_their_own_fold():
    X, y = CANCER
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    search = NeuralRuleClassifierCV([{}], cv=folds, **QUICK).fit(X, y)
    outputs = []
    for number, (_, test) in enumerate(folds):
        members = NeuralRuleClassifierCV([{}], cv=[folds[number]], **QUICK)
        # A search over one fold alone keeps that fold's model; its seed counts the folds.
        seed = int(np.random.RandomState(0).randint(2**31 - 1))
        base = members._model
        members._model = lambda one, _, base=base, seed=seed + number: base(one, seed)
        members.fit(X, y)
        outputs.append(members.decision_function(X))
        loss = log_loss(y[test], members.predict_proba(X[test]))
        assert search.cv_scores_[0, number] == pytest.approx(-loss, abs=1e-6)
    np.testing.assert_allclose(search.decision_function(X), np.mean(outputs, axis=0), atol=1e-5)
    assert search.network_.n_rules == search.rules_.n_rules


def test_the_best_mean_score_wins():
    X, y = CANCER
    search = NeuralRuleClassifierCV(
        [{"max_depth": 1}, {"max_depth": 2}, {"max_depth": 3}],
        cv=3,
        scoring="accuracy",
        **QUICK,
    ).fit(X, y)
    assert search.cv_scores_.shape == (3, 3)
    assert search.best_index_ == int(np.argmax(search.cv_scores_.mean(axis=1)))
    assert search.best_params_ == {"max_depth": search.best_index_ + 1}


def test_the_worse_half_is_dropped_after_each_fold(monkeypatch):
    """Candidates that learn more are better here, so that who is dropped is known."""
    monkeypatch.setattr(_search, "DROPPING_ROWS", 100)
    candidates = [{"n_epochs": 0}, {"n_epochs": 1}, {"n_epochs": 3}, {"n_epochs": 40}]
    rest = {"n_trees": 4, "cv": 4, "early_stopping": False, "random_state": 0}
    search = NeuralRuleClassifierCV(candidates, learning_rate=0.01, **rest).fit(*CANCER)
    np.testing.assert_array_equal(np.isfinite(search.cv_scores_).sum(axis=1), [1, 1, 2, 4])
    assert search.best_index_ == 3


def test_a_single_model_of_all_rows_runs_as_many_epochs_as_were_best(monkeypatch):
    X, y = DIABETES
    members, train = [], _search.train_member

    def recorded(*arguments):
        members.append(train(*arguments))
        return members[-1]

    monkeypatch.setattr(_search, "train_member", recorded)
    search = NeuralRuleRegressorCV([{}], cv=3, refit="single", **{**QUICK, "n_epochs": 30})
    search.fit(X, y)
    assert search.cv_scores_[0].tolist() == [member.score for member in members]
    assert search.n_iter_ == round(np.mean([one.outcome.best_epoch for one in members]))
    average = NeuralRuleRegressorCV([{}], cv=3, **{**QUICK, "n_epochs": 30}).fit(X, y)
    # Networks that are joined share an encoding of the table, which changes little.
    np.testing.assert_allclose(search.cv_scores_, average.cv_scores_, rtol=0.02)
    assert "validation_loss" not in search.history_
    assert search.network_.n_rules < average.network_.n_rules
    assert search.rules_.n_training == len(X)


def test_the_paper_s_search():
    search = NeuralRuleClassifierCV.paper(random_state=0)
    assert [one["max_depth"] for one in search.candidates] == [2, 4, 6, 8, 10]
    assert (search.refit, search.scoring, search.cv) == ("single", "accuracy", 5)
    X, y = CANCER
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    search = NeuralRuleClassifierCV.paper((1, 2), cv=folds, n_epochs=10, random_state=0)
    search.fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    refit = NeuralRuleClassifier.paper(
        search.best_params_["max_depth"], n_epochs=10, random_state=seed
    ).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), refit.decision_function(X))


def test_all_combinations_of_a_grid():
    grid = {"max_depth": [1, 2], "scaling": ["standard", "quantile"]}
    search = NeuralRuleRegressorCV(grid, cv=2, **QUICK).fit(*DIABETES)
    assert len(search.candidates_) == 4
    assert np.isfinite(search.predict(DIABETES[0])).all()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_jobs_do_not_change_the_result(backend):
    options = {"candidates": [{"max_depth": 2}, {"max_depth": 3}], "cv": 2, **QUICK}
    one = NeuralRuleRegressorCV(**options).fit(*DIABETES)
    with parallel_config(backend):
        two = NeuralRuleRegressorCV(n_jobs=2, **options).fit(*DIABETES)
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    np.testing.assert_array_equal(one.predict(DIABETES[0]), two.predict(DIABETES[0]))


def test_frames_with_categories_and_holes(mixed_frame):
    frame, y = mixed_frame
    model = NeuralRuleClassifierCV([{}, {"scaling": "quantile"}], cv=3, **QUICK).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.predict_proba(frame).shape == (len(frame), 2)


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_weights_reach_fits_and_scores(scoring):
    X, y = CANCER
    weights = np.where(y == 1, 1.0, 1e-6)
    model = NeuralRuleClassifierCV([{}], cv=3, scoring=scoring, **QUICK).fit(X, y, weights)
    # The second class hardly counts.
    assert model.cv_scores_.min() > (0.98 if scoring else -0.02)


def test_parameters_are_those_of_the_plain_estimators():
    for plain, search in (
        (NeuralRuleClassifier(), NeuralRuleClassifierCV()),
        (NeuralRuleRegressor(), NeuralRuleRegressorCV()),
    ):
        ours, theirs = plain.get_params(), search.get_params()
        assert set(theirs) - set(ours) == {"candidates", "cv", "scoring", "refit"}
        assert set(ours) - set(theirs) == {"warm_start", "n_sample_rows", "checkpoint"}
        different = {name for name in set(ours) & set(theirs) if ours[name] != theirs[name]}
        assert different == {"max_depth"}
        assert theirs["max_depth"] is None  # which limits no candidate


def test_candidates_that_name_no_depth_have_the_search_s_or_the_default():
    options = {"cv": 2, "n_trees": 1, "n_epochs": 1, "refit": "single", "random_state": 0}
    for max_depth, literals in ((None, 2), (3, 3)):
        search = NeuralRuleClassifierCV([{}], max_depth=max_depth, **options).fit(*CANCER)
        assert np.diff(search.rules_.offsets).max() == literals
    deeper = NeuralRuleClassifierCV([{"max_depth": 3}], max_depth=1, **options).fit(*CANCER)
    assert np.diff(deeper.rules_.offsets).max() == 3
    best = NeuralRuleClassifierCV(max_depth=1, **options).fit(*CANCER)
    assert np.diff(best.rules_.offsets).max() == 1


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "candidates is empty. Give at least one dict of parameters"),
        ([2], "candidates holds 2, but each candidate must be a dict of some of these"),
        ([{"depth": 2}], "candidates holds {'depth': 2}, but each candidate must be"),
        ([{"loss": "hinge"}], "candidates holds {'loss': 'hinge'}, but each candidate"),
        ([{"max_depth": 0}], "'max_depth' parameter of NeuralRuleClassifier must be"),
    ],
)
def test_bad_candidates(candidates, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        NeuralRuleClassifierCV(candidates).fit(*CANCER)


@pytest.mark.parametrize("n_outputs", [1, 3, 20])
@pytest.mark.parametrize("max_rules", [None, 1, 2, 16, 64, 256])
@pytest.mark.parametrize("max_depth", [None, 1, 2, 5])
def test_default_candidates_are_valid_and_differ(max_depth, max_rules, n_outputs):
    candidates = default_candidates(max_rules, n_outputs, max_depth)
    if max_depth is not None:
        assert all(one.get("max_depth", 0) <= max_depth for one in candidates)
    assert len(candidates) == len({str(sorted(one.items())) for one in candidates})
    for one in candidates:
        NeuralRuleClassifier(**one)._validate_params()


def test_short_rules_are_not_taken_from_one_tree_that_has_too_few():
    candidates = default_candidates(16, 1, 2)
    assert all(one.get("rule_source", "boosting") == "boosting" for one in candidates)
    leaves = [one["n_trees"] * 2 ** one["max_depth"] for one in candidates if one]
    assert leaves == [16, 32]
    assert default_candidates(16, 1, 4) == default_candidates(16, 1)


def test_max_rules_holds_for_the_kept_model():
    search = NeuralRuleClassifierCV(
        max_rules=8, cv=2, refit="single", n_epochs=3, random_state=0
    ).fit(*IRIS)
    assert search.network_.n_rules <= 8


def test_more_folds_than_rows():
    message = "cv=5 folds need at least 5 rows, but n_samples = 4. Lower cv or add rows."
    with pytest.raises(ValueError, match=message):
        NeuralRuleRegressorCV().fit(DIABETES[0][:4], DIABETES[1][:4])


def test_a_failed_fit_leaves_the_last_one():
    model = NeuralRuleClassifierCV([{}], cv=2, **QUICK).fit(*CANCER)
    before = model.decision_function(CANCER[0])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(np.where(CANCER[0] > 20, np.inf, CANCER[0]), CANCER[1])
    np.testing.assert_array_equal(model.decision_function(CANCER[0]), before)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_class_of_a_single_row_is_in_every_training_part(n_classes):
    X, y = CANCER[0][:90], np.arange(90) % (n_classes - 1)
    y[7] = n_classes - 1
    model = NeuralRuleClassifierCV([{}], **{**QUICK, "n_epochs": 20}).fit(X, y)
    probabilities = model.predict_proba(X)
    assert (probabilities > 0).all()
    assert log_loss(y, probabilities) < log_loss(y, np.tile(np.bincount(y) / 90, (90, 1)))


def test_the_only_row_of_a_class_is_in_no_test_part():
    y = np.array(["a"] * 8 + ["b"] * 9 + ["c"])
    splits = NeuralRuleClassifierCV(cv=3)._splits(y, 0)
    for train, test in splits:
        assert 17 in train
        assert sorted([*train, *test]) == list(range(18))  # no row is in both parts
    assert sorted(row for _, test in splits for row in test) == list(range(17))


@pytest.mark.parametrize(("n_before", "best"), [(0, 0), (2, 1), (5, 2)])
def test_an_interrupted_search_uses_what_it_has(monkeypatch, n_before, best):
    monkeypatch.setattr(_search, "DROPPING_ROWS", 100)
    calls, train = iter(range(100)), _search.train_member

    def interrupted(model, *rest):
        if next(calls) == n_before:
            raise KeyboardInterrupt
        return train(model, *rest)._replace(score=float(model.max_depth))

    monkeypatch.setattr(_search, "train_member", interrupted)
    depths = [{"max_depth": 1}, {"max_depth": 2}, {"max_depth": 3}]
    model = NeuralRuleClassifierCV(depths, cv=3, **QUICK)
    message = (
        f"The search was interrupted after {n_before} fits. This NeuralRuleClassifierCV keeps "
        f"{depths[best]}, the best of what was compared until then."
    )
    with pytest.warns(UserWarning, match=re.escape(message)):
        model.fit(*CANCER)
    assert model.best_params_ == depths[best]
    assert model.interrupted_
    assert np.isfinite(model.cv_scores_).sum() == n_before
    assert model.score(*CANCER) > 0.8


@pytest.mark.parametrize("refit", ["average", "single"])
def test_rows_of_a_fold_do_not_scale_what_they_are_held_out_of(refit, monkeypatch):
    """Neither the targets nor, unless the networks are joined, the table."""
    X, y = DIABETES
    train, test = np.arange(300), np.arange(300, 442)
    seen = []

    def recorded(fold, *rest):
        seen.append(fold.rows)
        return original(fold, *rest)

    original = _folds.train_rules
    monkeypatch.setattr(_folds, "train_rules", recorded)
    for factor in (1, 1000):
        others = np.where(np.arange(442) >= 300, factor, 1)
        search = NeuralRuleRegressorCV([{}], cv=[(train, test)], refit=refit, **QUICK)
        search.fit(X * others[:, None], y * others)
    first, second = seen
    assert first.task.centre == second.task.centre == pytest.approx(y[train].mean())
    assert first.task.scale == second.task.scale == pytest.approx(y[train].std())
    np.testing.assert_array_equal(first.targets[train], second.targets[train])
    same_table = np.array_equal(first.X[train], second.X[train])
    assert same_table == (refit == "single")


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_members_keep_their_predictions_whatever_scaled_their_targets(loss):
    X, y = DIABETES
    train, test = np.flatnonzero(y < 200), np.flatnonzero(y >= 200)
    options = {"cv": [(train, test)], "scoring": "neg_mean_squared_error", "loss": loss}
    search = NeuralRuleRegressorCV([{}], **options, **QUICK).fit(X, y)
    error = np.mean((search.predict(X[test]) - y[test]) ** 2)
    assert search.cv_scores_[0, 0] == pytest.approx(-error, rel=1e-5)


def steps_shown(capsys):
    """What the line of a search said of each step."""
    lines = capsys.readouterr().err.splitlines()
    return [line.split(" ", 1)[1].rsplit(" · ", 2)[0] for line in lines]


def scored_by_depth(monkeypatch):
    def train(model, *rest):
        return train_member(model, *rest)._replace(score=float(model.max_depth))

    train_member = _search.train_member
    monkeypatch.setattr(_search, "train_member", train)


def test_a_search_shows_fold_candidate_and_the_best_so_far(monkeypatch, capsys):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", 0)
    scored_by_depth(monkeypatch)
    depths = [{"max_depth": 1}, {"max_depth": 3}, {"max_depth": 2}]
    NeuralRuleClassifierCV(depths, cv=2, verbose=1, **QUICK).fit(*CANCER)
    shown = steps_shown(capsys)
    assert shown[:-1] == [
        "fold 1/2 · candidate 1/3 · best so far candidate 1, score 1",
        "fold 1/2 · candidate 2/3 · best so far candidate 2, score 3",
        "fold 1/2 · candidate 3/3 · best so far candidate 2, score 3",
        "fold 2/2 · candidate 1/3 · best so far candidate 2, score 3",
        "fold 2/2 · candidate 2/3 · best so far candidate 2, score 3",
        "fold 2/2 · candidate 3/3 · best so far candidate 2, score 3",
    ]
    assert shown[-1] == shown[-2]  # the last state stays


def test_the_bar_of_a_search_that_drops_candidates_is_full_at_its_end(monkeypatch, capsys):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", np.inf)
    monkeypatch.setattr(_search, "DROPPING_ROWS", 100)
    scored_by_depth(monkeypatch)
    depths = [{"max_depth": depth} for depth in (1, 2, 3)]
    NeuralRuleClassifierCV(depths, cv=4, verbose=1, **QUICK).fit(*CANCER)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("█" * 24 + " fold 4/4 · candidate 3/3 · best so far candidate 3, ")


def test_models_that_are_scored_know_the_names_of_columns():
    """Otherwise scikit-learn warns that they were fitted without names."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    NeuralRuleClassifierCV([{}], cv=2, scoring="accuracy", n_epochs=1, random_state=0).fit(X, y)


def test_folds_of_one_row():
    message = "cv=LeaveOneOut() makes a fold on which scoring='r2' is nan: it may need two rows"
    with pytest.raises(ValueError, match=re.escape(message)):
        NeuralRuleRegressorCV([{}], cv=LeaveOneOut(), scoring="r2", n_epochs=1).fit(
            DIABETES[0][:10], DIABETES[1][:10]
        )


def test_a_saved_search_remembers_what_it_compared(tmp_path):
    candidates = [{"max_depth": 1}, {"max_depth": 2, "scaling": "quantile"}]
    search = NeuralRuleClassifierCV(candidates, cv=2, **QUICK).fit(*CANCER)
    back = load(search.save(tmp_path / "search.nrules"))
    assert back.candidates_ == candidates
    assert back.best_params_ == search.best_params_
    np.testing.assert_array_equal(back.cv_scores_, search.cv_scores_)
    np.testing.assert_array_equal(back.predict(CANCER[0]), search.predict(CANCER[0]))


def test_the_joined_network_is_an_ordinary_one():
    search = NeuralRuleClassifierCV([{}], cv=2, **QUICK).fit(*CANCER)
    parts = [search.network_.take(np.arange(search.network_.n_rules))]
    assert Network.join(parts).n_rules == search.network_.n_rules
    explanation = search.explain(CANCER[0][:3])
    np.testing.assert_array_equal(
        explanation.decision[:, 0], search.decision_function(CANCER[0][:3])
    )


def test_folds_without_any_weight_are_refused():
    X, y = load_iris(return_X_y=True)
    weights = np.ones(150)
    weights[:50] = 0
    search = NeuralRuleClassifierCV(cv=KFold(3), n_epochs=1, random_state=0)
    with pytest.raises(ValueError, match="All rows of fold 0 of cv have the sample_weight 0"):
        search.fit(X, y, weights)


def test_a_limit_of_rules_among_the_candidates_is_kept():
    X, y = load_iris(return_X_y=True)
    limits = {"candidates": [{"max_rules": 3}], "cv": 2, "n_epochs": 1, "random_state": 0}
    assert NeuralRuleClassifierCV(**limits).fit(X, y).network_.n_rules == 3
    with pytest.raises(ValueError, match="than max_rules allows"):
        NeuralRuleClassifierCV(refit="average", **limits).fit(X, y)
