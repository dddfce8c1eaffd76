"""Smaller models: what they promise, and that they keep it."""

import copy
import pickle
import subprocess
import sys
import textwrap
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from models import KINDS, fitted, network_outputs
from platforms import unix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from waiting import HANG

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor
from neuralrules._estimators._base import encoded_rows, engine_of, settings_of
from neuralrules._network._constraints import Constraints
from neuralrules._simplify import _path
from neuralrules._simplify._path import TOLERANCE, mean_losses, trained

CANCER = load_breast_cancer(return_X_y=True)


def loss_of(model, X, y):
    network, rows = model.fitted_.state.network, encoded_rows(model, X, y)
    return mean_losses(network, rows, engine_of(model)).loss


@pytest.fixture(scope="module")
def path():
    model, X, y = fitted("two classes")
    return model.simplification_path(X, y)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "constant"])
def test_the_loss_grows_by_no_more_than_the_tolerance(kind, deep):
    model, X, y = fitted(kind, deep)
    before = dict(vars(model))
    path = model.simplification_path(X, y)
    rows = encoded_rows(model, X, y)
    gain = rows.mean_loss(rows.best_constant()) - loss_of(model, X, y)
    for tolerance in (0.0, 0.2):
        smaller = path.model(path.within(tolerance))
        assert type(smaller) is type(model)
        assert loss_of(smaller, X, y) <= loss_of(model, X, y) + tolerance * gain + 1e-9
        assert smaller.network_.n_parameters <= model.network_.n_parameters
        # Everything that reads a model reads the smaller one too.
        assert len(smaller.rules_table()) == smaller.network_.n_rules == smaller.rules_.n_rules
        assert smaller.explain(X[:3]).n_rows == 3
        assert smaller.fitted_.performance.n_rows == len(X)
        expected = path.steps[path.within(tolerance)].given.error
        assert expected == pytest.approx(1 - smaller.score(X, y), rel=1e-4)
    assert smaller.network_.n_parameters < model.network_.n_parameters
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_simplify_takes_the_smallest_step_within_the_tolerance():
    model, X, y = fitted("three classes")
    path = model.simplification_path(X, y)
    expected = path.model(path.within(0.03)).network_
    network = model.simplify(X, y, tolerance=0.03).network_
    np.testing.assert_array_equal(network.weights, expected.weights)


def test_loss_and_error_are_the_usual_ones(path):
    model, X, y = fitted("two classes")
    given = path.steps[0].given
    assert given.loss == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-6)
    assert given.error == pytest.approx(1 - model.score(X, y))
    n = len(y)
    wrong = model.predict(X) != y
    assert given.error_se == pytest.approx(wrong.std() / np.sqrt(n))
    model, X, y = fitted("numbers")
    network, rows = model.fitted_.state.network, encoded_rows(model, X, y)
    error = mean_losses(network, rows, engine_of(model)).error
    assert error == pytest.approx(1 - model.score(X, y), rel=1e-4)


def test_validation_rows_given_are_the_ones_measured_on():
    X, X_val, y, y_val = train_test_split(*CANCER, random_state=0)
    model = NeuralRuleClassifier.paper(4, random_state=0).fit(X, y)
    path = model.simplification_path(X, y, X_val=X_val, y_val=y_val)
    for number in (0, 3, len(path) - 1):
        step, estimator = path.steps[number], path.model(number)
        assert step.validation.error == pytest.approx(1 - estimator.score(X_val, y_val))
        expected = log_loss(y_val, estimator.predict_proba(X_val))
        assert step.validation.loss == pytest.approx(expected, rel=1e-5)


def test_without_validation_rows_the_twin_has_not_seen_what_it_is_measured_on():
    """On noise a model that saw the rows would look far better than chance."""
    rng = np.random.RandomState(0)
    X, y = rng.randn(600, 5), rng.randint(0, 2, 600)
    model = NeuralRuleClassifier.paper(8, random_state=0).fit(X, y)
    path = model.simplification_path(X, y)
    assert path.steps[0].given.error < 0.2
    assert path.steps[0].validation.error > 0.4


def test_sizes_fall_step_by_step_to_a_few_percent(path):
    frame = path.to_frame()
    assert (np.diff(frame["n_parameters"][1:]) < 0).all()
    assert frame["n_parameters"][1] <= frame["n_parameters"][0]
    assert frame["n_parameters"].iloc[-1] <= 0.05 * frame["n_parameters"].iloc[0]
    assert list(frame.columns) == [
        "n_rules",
        "n_literals",
        "n_parameters",
        "loss",
        "validation_loss",
        "error",
        "error_se",
    ]
    for number, step in enumerate(path.steps):
        assert frame["n_rules"][number] == step.rules.n_rules == step.network.n_rules
    assert repr(path) == (
        f"SimplificationPath({len(path)} steps, {frame['n_parameters'].iloc[0]} to "
        f"{frame['n_parameters'].iloc[-1]} parameters)"
    )


def test_the_first_step_changes_nothing_on_the_rows():
    X, y = CANCER
    model = NeuralRuleClassifier.paper(6, random_state=0).fit(X, y)
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(
        network_outputs(path.model(0), X), network_outputs(model, X), rtol=1e-6
    )
    np.testing.assert_allclose(
        network_outputs(path.model(1), X), network_outputs(model, X), rtol=1e-4, atol=1e-4
    )
    assert path.model(1).network_.n_parameters < model.network_.n_parameters


def test_literals_keep_their_split_and_rules_their_leaf(path):
    model, _, _ = fitted("two classes")
    leaves = set(model.rules_table()["tree_rule"])
    for number in range(1, len(path)):
        smaller = path.model(number)
        assert set(smaller.rules_table()["tree_rule"]) <= leaves
        rules, network = smaller.rules_, smaller.network_
        assert (
            network.origins < np.repeat(np.diff(rules.offsets), np.diff(network.offsets))
        ).all()


def test_zeros_stay_zero_while_the_rest_is_trained():
    model, X, y = fitted("two classes", deep=True)
    rows = encoded_rows(model, X, y, None)
    network = model.fitted_.state.network
    rng = np.random.RandomState(0)
    sparse = network.with_parameters(
        network.parameters._replace(
            weights=network.own_weights * (rng.rand(network.own_weights.size) < 0.5),
            mixing=network.mixing * (rng.rand(*network.mixing.shape) < 0.5),
        )
    )
    plan = settings_of(model).plan(rows.task, len(rows))
    engine = engine_of(model)
    limits = Constraints.keep_zeros(sparse)
    after = trained(sparse, rows, plan, engine, np.random.RandomState(0), limits)
    np.testing.assert_array_equal(after.weights == 0, sparse.weights == 0)
    np.testing.assert_array_equal(after.mixing == 0, sparse.mixing == 0)
    assert (after.weights != sparse.weights).any()
    losses = [mean_losses(one, rows, engine).loss for one in (sparse, after)]
    assert losses[1] < losses[0]


def test_within_and_knee_choose_by_their_rules(path):
    frame = path.to_frame()
    gain = path.constant.given - frame["loss"][0]
    gain_unseen = path.constant.validation - frame["validation_loss"][0]
    for tolerance in (0, 0.005, 0.02, 0.1, 10):
        allowed = frame[
            (frame["loss"] <= frame["loss"][0] + tolerance * gain)
            & (
                frame["validation_loss"]
                <= frame["validation_loss"][0] + tolerance * gain_unseen
            )
        ]
        assert path.within(tolerance) == allowed["n_parameters"].idxmin()
    assert path.within(10) == len(path) - 1
    best = frame.loc[frame["error"].idxmin()]
    near = frame[frame["error"] <= best["error"] + best["error_se"]]
    assert path.knee() == near["n_parameters"].idxmin()


def test_a_tolerance_is_a_share_of_what_the_model_knows_more_than_a_constant():
    """Of 3 % of positives the whole gain is a log loss of less than 0.1."""
    X, y = make_classification(
        3000, 8, n_informative=5, weights=[0.97], flip_y=0, class_sep=0.6, random_state=0
    )
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = NeuralRuleClassifier(n_trees=16, n_epochs=100, random_state=0).fit(X, y)
    path = model.simplification_path(X, y)
    share = y.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert path.constant.given == pytest.approx(entropy)
    smaller = path.model(path.within(TOLERANCE))
    assert smaller.network_.n_parameters < 0.6 * model.network_.n_parameters
    before, after = (
        roc_auc_score(y_new, one.decision_function(X_new)) for one in (model, smaller)
    )
    assert before > 0.8
    assert after > before - 0.01


def test_the_constant_to_beat_counts_rows_by_their_weights():
    model, X, y = fitted("two classes")
    weights = np.where(y == 1, 3.0, 1.0)
    path = model.simplification_path(X, y, sample_weight=weights, X_val=X, y_val=y)
    share = np.average(y, weights=weights)
    given, validation = (
        -np.average(np.where(y == 1, np.log(share), np.log(1 - share)), weights=w)
        for w in (weights, None)
    )
    assert path.constant == pytest.approx((given, validation))


def test_redundant_rules_go():
    """Noise columns and a deep tree: most rules are not needed for x0 > 0."""
    rng = np.random.RandomState(0)
    X = rng.randn(1600, 6)
    y = X[:, 0] + rng.normal(0, 0.1, 1600) > 0
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
    model = NeuralRuleClassifier.paper(6, n_epochs=50, random_state=0).fit(X, y)
    smaller = model.simplify(X, y, tolerance=0.05)
    assert smaller.network_.n_parameters < 0.1 * model.network_.n_parameters
    assert smaller.score(X_new, y_new) > model.score(X_new, y_new) - 0.005


def test_weights_of_rows_count():
    X, y = CANCER
    weights = np.where(np.arange(len(y)) < 300, 1.0, 0.0)
    model = NeuralRuleClassifier.paper(3, n_epochs=20, random_state=0)
    model.fit(X, y, sample_weight=weights)
    given = model.simplification_path(X, y, sample_weight=weights).steps[0].given
    assert given.error == pytest.approx(1 - model.score(X[:300], y[:300]))


def test_one_weight_for_all_rows_is_no_weight():
    model, X, y = fitted("three classes")
    path = model.simplification_path(X, y, sample_weight=2.0)
    assert path.steps[0].given.error == pytest.approx(1 - model.score(X, y))


def test_the_same_seed_gives_the_same_model():
    model, X, y = fitted("three classes")
    first, second = (model.simplify(X, y, tolerance=0.05) for _ in range(2))
    np.testing.assert_array_equal(first.network_.weights, second.network_.weights)


@pytest.mark.parametrize("refit", ["average", "single"])
def test_cv_estimators_simplify_what_they_chose(refit, monkeypatch):
    plans = []

    def recorded(network, rows, plan, *others):
        plans.append(plan)
        return trained(network, rows, plan, *others)

    monkeypatch.setattr(_path, "trained", recorded)
    X, y = make_classification(300, 8, random_state=0)
    candidates = [
        {"max_depth": 1, "n_epochs": 1},
        {"max_depth": 3, "l2": 0.03, "learning_rate": 0.02, "fit_intercept": False},
    ]
    options = {"n_trees": 3, "refit": refit, "n_epochs": 20, "random_state": 0}
    model = NeuralRuleClassifierCV(candidates, cv=3, **options).fit(X, y)
    assert model.best_index_ == 1
    smaller = model.simplify(X, y, tolerance=0.1)
    assert smaller.best_params_ == model.best_params_
    assert np.diff(smaller.rules_.offsets).max() <= 3
    # The mean of three networks says nearly everything three times.
    share = 0.1 if refit == "average" else 0.3
    assert smaller.network_.n_parameters < share * model.network_.n_parameters
    # What is left is trained as the candidate was.
    found = {(plan.l2, plan.learning_rate, plan.fit_intercept) for plan in plans}
    assert found == {(0.03, 0.02, False)}


def test_a_smaller_model_can_be_trained_further_and_cloned():
    model, X, y = fitted("two classes")
    smaller = model.simplify(X, y, tolerance=0.1)
    before = smaller.network_.weights.copy()
    smaller.partial_fit(X, y)
    assert smaller.network_.weights.shape == before.shape
    assert (smaller.network_.weights != before).any()
    assert not hasattr(clone(smaller), "network_")


def test_a_constant_model_stays_as_it_is():
    model, X, y = fitted("constant")
    with pytest.warns(UserWarning, match="predicts no better than a constant") as told:
        smaller = model.simplify(X, y)
    assert [str(one.message).split(" this model")[0] for one in told] == [
        "On the rows given",
        "On rows that it has not seen",
    ]
    assert smaller.network_.n_rules == 1
    np.testing.assert_array_equal(smaller.predict(X), model.predict(X))


def test_frames_are_fine(mixed_frame):
    frame, y = mixed_frame
    model = NeuralRuleClassifier.paper(4, n_epochs=30, random_state=0).fit(frame, y)
    smaller = model.simplify(frame, pd.Series(y), tolerance=0.05)
    assert smaller.network_.n_parameters < model.network_.n_parameters


def test_errors():
    with pytest.raises(NotFittedError):
        NeuralRuleRegressor().simplify(*CANCER)
    model, X, y = fitted("two classes")
    for tolerance in (-1, "much", float("nan"), True):
        with pytest.raises(ValueError, match=r"tolerance=.* must be a number of at least 0"):
            model.simplify(X, y, tolerance=tolerance)
    with pytest.raises(
        ValueError, match="X_val and y_val belong together: give both or neither"
    ):
        model.simplify(X, y, X_val=X)
    with pytest.raises(ValueError, match="X has 4 rows, too few to hold a fifth of each class"):
        model.simplify(X[:4], y[:4])
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    for step in (99, -1, "a", None, 1.5):
        with pytest.raises(ValueError, match=r"is not one of the .* steps of this path"):
            path.model(step)
    with pytest.raises(ValueError, match="tolerance=-1 must be a number of at least 0"):
        path.within(-1)


@unix
def test_ctrl_c_ends_it_and_leaves_the_model_alone():
    script = """
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it
        from sklearn.datasets import make_classification
        from neuralrules import NeuralRuleClassifier
        from neuralrules._training import _training
        X, y = make_classification(4000, 20, n_informative=10, random_state=0)
        model = NeuralRuleClassifier.paper(6, n_epochs=3, random_state=0).fit(X, y)
        before = dict(vars(model))
        train_epoch, left = _training.Trainer.train_epoch, [5]
        def struck(*given):
            left[0] -= 1
            if not left[0]:
                signal.raise_signal(signal.SIGINT)
            return train_epoch(*given)
        _training.Trainer.train_epoch = struck
        try:
            model.simplify(X, y)
        except KeyboardInterrupt:
            assert all(vars(model)[name] is before[name] for name in before)
            print("interrupted")
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    assert result.stdout == "interrupted\n", result.stderr


def test_regression_losses_are_shares_of_the_variance():
    X, y = load_diabetes(return_X_y=True)
    model = NeuralRuleRegressor.paper(3, random_state=0).fit(X, 1000 * y + 5e5)
    path = model.simplification_path(X, 1000 * y + 5e5)
    assert 0 < path.steps[0].given.loss < 1
    assert path.steps[0].given.loss == pytest.approx(path.steps[0].given.error)
    score = path.model(len(path) - 1).score(X, 1000 * y + 5e5)
    assert path.steps[-1].given.error == pytest.approx(1 - score, rel=1e-4)


def test_a_path_can_be_pickled_and_copied(path):
    for again in (pickle.loads(pickle.dumps(path)), copy.deepcopy(path)):
        assert len(again) == len(path)
        found, expected = again.model(2).network_, path.model(2).network_
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_each_model_is_trained_in_batches_that_fit_its_own_rows(monkeypatch):
    """A batch is a sixteenth of the rows, and the twin has four fifths of them."""
    sizes = set()

    def recorded(network, rows, plan, *others):
        sizes.add((len(rows), plan.batch_size))
        return network

    monkeypatch.setattr(_path, "trained", recorded)
    X, y = make_classification(2600, 5, random_state=0)
    model = NeuralRuleClassifier.paper(3, n_epochs=1, random_state=0).fit(X, y)
    model.simplification_path(X, y)
    assert len(sizes) == 2
    assert all(size == n_rows // 16 for n_rows, size in sizes)


@pytest.mark.parametrize("with_twin", [True, False])
def test_a_path_shows_its_steps(with_twin, monkeypatch, capsys):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", 0)
    model, X, y = fitted("two classes")
    told = copy.copy(model).set_params(verbose=1)
    unseen = {} if with_twin else {"X_val": X, "y_val": y}
    path = told.simplification_path(X, y, **unseen)
    lines = [line.split(" · ")[:2] for line in capsys.readouterr().err.splitlines()]
    steps = {place.split(" ", 1)[1]: text for place, text in lines}
    whole = path.steps[0].network.n_parameters
    for number in (2, len(path) - 1):
        network = path.steps[number].network
        assert steps[f"step {number}"] == (
            f"{network.n_rules} rules and {network.n_parameters} of {whole} parameters left"
        )
    if not with_twin:  # which may end sooner
        assert lines[-1][0].startswith("█" * 24)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_path_ends_where_no_rule_looks_at_anything(fit_intercept):
    """The intercept takes over what is left, and training must not bring it back for ever."""
    X = np.random.RandomState(0).randn(80, 2)
    y = X[:, 0] > 0
    options = {"n_trees": 2, "n_epochs": 1, "fit_intercept": fit_intercept, "random_state": 0}
    path = NeuralRuleClassifier(2, **options).fit(X, y).simplification_path(X, y)
    sizes = [step.network.n_parameters for step in path.steps[1:]]
    assert all(small < large for large, small in pairwise(sizes))
    assert len(sizes) < 8
