"""Schedules, batches, early stopping, interruption, progress."""

import math
import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from platforms import unix
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from waiting import HANG

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    load,
)
from neuralrules._engine._numba import NumbaEngine
from neuralrules._training import _training
from neuralrules._training._training import (
    Plan,
    interrupt_flag,
    rule_gates,
    shuffled_batches,
)

X, Y = make_classification(600, 10, n_informative=6, random_state=0)


def plan(**changes):
    options = {
        "loss": 0,
        "fit_intercept": True,
        "l2": 0.0,
        "rule_dropout": 0.0,
        "learning_rate": 0.1,
        "schedule": "constant",
        "n_epochs": 10,
        "stop_after": None,
        "batch_size": 16,
        "patience": None,
        "verbose": False,
    }
    return Plan(**{**options, **changes})


def test_constant_and_cosine_schedules():
    assert (plan().rates(3, 5) == 0.1).all()
    cosine = np.concatenate([plan(schedule="cosine").rates(epoch, 5) for epoch in range(10)])
    expected = 0.1 * (1 + np.cos(np.pi * np.arange(50) / 50)) / 2
    np.testing.assert_allclose(cosine, expected)
    shorter = plan(schedule="cosine", stop_after=4)
    assert (plan().n_run, shorter.n_run) == (10, 4)
    np.testing.assert_array_equal(shorter.rates(3, 5), cosine[15:20])


def test_batches_hold_every_row_once_in_tree_order():
    order = np.random.RandomState(0).permutation(1000).astype(np.int32)
    place = np.argsort(order)
    rows = shuffled_batches(order, 64, np.random.RandomState(1))
    assert sorted(rows) == list(range(1000))
    for start in range(0, 1000, 64):
        assert (np.diff(place[rows[start : start + 64]]) > 0).all()
    again = shuffled_batches(order, 64, np.random.RandomState(2))
    assert set(rows[:64]) != set(again[:64])


def test_gates_drop_rules_and_keep_the_expected_output():
    gates = rule_gates((400, 50), 0.2, np.random.RandomState(0))
    assert set(np.unique(gates)) == {0, np.float32(1.25)}
    assert gates.mean() == pytest.approx(1, abs=0.01)
    assert (rule_gates((3, 2), 0.0, np.random.RandomState(0)) == 1).all()


def test_training_lowers_the_loss_and_records_it():
    model = NeuralRuleClassifier.paper(4, n_epochs=20, random_state=0).fit(X, Y)
    losses = model.history_["loss"]
    assert len(losses) == model.n_iter_ == 20
    assert losses[-1] < 0.5 * losses[0]
    assert "validation_loss" not in model.history_


def test_no_epochs_give_the_tree_as_it_started():
    model = NeuralRuleClassifier.paper(4, n_epochs=0, random_state=0).fit(X, Y)
    encoded = model.encoder_.transform(X)
    inside = model.rules_.covers(encoded)
    leaf_signs = np.sign(inside @ model.rules_.values[:, 0])
    np.testing.assert_array_equal(np.sign(model.decision_function(X)), leaf_signs)
    assert model.history_ == {"loss": []}


def test_early_stopping_restores_the_best_parameters():
    options = {
        **{"max_depth": 8, "learning_rate": 0.1, "schedule": "constant", "random_state": 0},
        **{"early_stopping": True, "validation_fraction": 0.3, "patience": 3},
    }
    noisy = np.where(np.random.RandomState(0).rand(600) < 0.2, 1 - Y, Y)
    model = NeuralRuleClassifier.paper(n_epochs=200, **options).fit(X, noisy)
    losses = model.history_["validation_loss"]
    best = int(np.argmin(losses))
    assert model.n_iter_ == len(losses) == best + 4 < 200
    shorter = NeuralRuleClassifier.paper(n_epochs=best + 1, **options).fit(X, noisy)
    np.testing.assert_array_equal(model.network_.weights, shorter.network_.weights)


def test_a_start_that_training_makes_worse_is_kept():
    options = {"n_trees": 4, "learning_rate": 100.0, "patience": 2, "random_state": 0}
    model = NeuralRuleClassifier(n_epochs=50, **options).fit(X, Y)
    start = NeuralRuleClassifier(n_epochs=0, **options).fit(X, Y)
    for kept, first in zip(model.network_.parameters, start.network_.parameters, strict=True):
        np.testing.assert_array_equal(kept, first)
    assert model.n_iter_ == len(model.history_["validation_loss"]) == 2
    assert start.history_ == {"loss": [], "validation_loss": []}


@pytest.mark.parametrize(
    ("n_rows", "options", "n_trained"),
    [
        (199, {}, 199),
        (200, {}, 160),
        (200, {"validation_fraction": 0.3}, 140),
        (200, {"early_stopping": False}, 200),
        (50, {"early_stopping": True}, 40),
        # Too few to hold out one: all are trained on.
        (200, {"validation_fraction": 0.002}, 200),
    ],
)
def test_rows_are_held_out_of_tables_that_have_enough(n_rows, options, n_trained):
    model = NeuralRuleClassifier(n_trees=1, n_epochs=2, random_state=0, **options)
    model.fit(X[:n_rows], Y[:n_rows])
    assert model.rules_.n_training == n_trained
    assert ("validation_loss" in model.history_) == (n_trained < n_rows)


def test_only_rows_with_weight_are_enough():
    weights = (np.arange(300) < 199).astype(float)
    model = NeuralRuleClassifier(n_trees=1, n_epochs=1).fit(X[:300], Y[:300], weights)
    assert model.rules_.n_training == 199
    assert "validation_loss" not in model.history_


@pytest.mark.parametrize("early_stopping", ["auto", False])
def test_partial_fit_trains_on_all_rows(early_stopping):
    model = NeuralRuleClassifier(n_trees=1, early_stopping=early_stopping, random_state=0)
    for _ in range(2):
        model.partial_fit(X, Y)
        assert model.rules_.n_training == 600
        assert model.history_.keys() == {"loss"}
        assert model.n_iter_ == 1


def test_a_warm_start_holds_rows_out_too_and_keeps_the_best():
    options = {"n_trees": 2, "patience": 2, "warm_start": True, "random_state": 0}
    model = NeuralRuleClassifier(n_epochs=5, **options).fit(X, Y)
    before = model.network_
    model.set_params(learning_rate=3.0, n_epochs=50).fit(X, Y)
    assert model.n_iter_ == len(model.history_["validation_loss"]) == 2
    np.testing.assert_array_equal(model.network_.weights, before.weights)


def one_column_each(model):
    """Whether every literal looks at the column of its split, and at no other."""
    network, rules = model.network_, model.rules_
    for rule in range(network.n_rules):
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        for weights, origin in zip(network.weights[own], network.origins[own], strict=True):
            split = [rules.features[rules.offsets[rule] + origin]] if origin >= 0 else []
            if network.features[np.flatnonzero(weights)].tolist() != split:
                return False
    return True


@pytest.mark.parametrize("start", ["hinge", "leaf"])
@pytest.mark.parametrize("deep", [False, True])
def test_literals_of_own_columns_stay_on_them(start, deep):
    options = {"n_trees": 3, "n_epochs": 3, "warm_start": True, "random_state": 0}
    model = NeuralRuleClassifier(3, literal_columns="own", start=start, deep=deep, **options)
    before = None
    for train in (model.fit, model.fit, model.partial_fit):
        train(X, Y)
        assert one_column_each(model)
        assert before is None or (model.network_.weights != before).any()
        before = model.network_.weights
    model.set_params(literal_columns="rule").fit(X, Y)
    assert not one_column_each(model)


def test_second_layers_of_own_columns_learn_too():
    options = {"n_trees": 3, "n_epochs": 3, "early_stopping": False, "random_state": 0}
    model = NeuralRuleClassifier(3, deep=True, literal_columns="own", **options).fit(X, Y)
    layers = [model.network_.second_layer(rule) for rule in range(model.network_.n_rules)]
    assert any((layer - np.diag(np.diag(layer))).any() for layer in layers)


@pytest.mark.parametrize("estimator", [NeuralRuleClassifier, NeuralRuleRegressor])
def test_an_intercept_is_trained_or_stays(estimator):
    options = {"n_trees": 2, "n_epochs": 3, "early_stopping": False, "random_state": 0}
    moved = estimator(**options).fit(X, Y).fitted_.state
    assert moved.network.intercept != 0
    assert moved.moments.means.intercept.any()
    fixed = estimator(fit_intercept=False, **options).fit(X, Y).fitted_.state
    assert fixed.network.intercept == 0
    assert not fixed.moments.means.intercept.any()


def test_validation_rows_are_not_seen_by_the_tree():
    model = NeuralRuleClassifier(
        rule_source="tree",
        early_stopping=True,
        validation_fraction=0.25,
        random_state=0,
        n_epochs=1,
    ).fit(X, Y)
    assert model.rules_.n.sum() == model.rules_.n_training == 450


def test_warm_start_goes_on_from_where_it_was():
    options = {
        "n_trees": 4,
        "schedule": "constant",
        "batch_size": 600,
        "early_stopping": False,
        "random_state": 0,
    }
    once = NeuralRuleClassifier(3, n_epochs=20, **options).fit(X, Y)
    twice = NeuralRuleClassifier(3, n_epochs=10, warm_start=True, **options).fit(X, Y).fit(X, Y)
    np.testing.assert_allclose(
        twice.decision_function(X), once.decision_function(X), rtol=1e-4, atol=1e-4
    )
    assert len(twice.history_["loss"]) == 10


def test_without_warm_start_a_second_fit_forgets_the_first():
    model = NeuralRuleClassifier(3, n_epochs=5, random_state=0)
    first = model.fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(first, model.fit(X, Y).decision_function(X))


FROM_FEW_ROWS = pytest.mark.filterwarnings("ignore:The first call of partial_fit grew")


@FROM_FEW_ROWS
def test_partial_fit_trains_on_pieces():
    whole = NeuralRuleClassifier(3, n_epochs=30, random_state=0).fit(X, Y).score(X, Y)
    model = NeuralRuleClassifier(3, random_state=0)
    model.partial_fit(X[:300], Y[:300], classes=[0, 1])
    rules = model.rules_
    for _ in range(15):
        for start in range(0, 600, 150):
            model.partial_fit(X[start : start + 150], Y[start : start + 150])
    assert model.rules_ is rules
    assert model.score(X, Y) > whole - 0.05


@FROM_FEW_ROWS
def test_partial_fit_of_a_regression_keeps_the_first_scaling():
    features, target = make_regression(400, 5, noise=1, random_state=0)
    model = NeuralRuleRegressor(3, random_state=0)
    for _ in range(40):
        model.partial_fit(features[:200], target[:200]).partial_fit(
            features[200:], target[200:]
        )
    assert model.score(features, target) > 0.8
    task = model.fitted_.task
    assert task.centre == pytest.approx(target[:200].mean())
    assert task.scale == pytest.approx(target[:200].std())


@FROM_FEW_ROWS
def test_partial_fit_drops_other_rules_in_each_call(monkeypatch):
    drawn = []

    def record(*arguments):
        drawn.append(rule_gates(*arguments))
        return drawn[-1]

    monkeypatch.setattr(_training, "rule_gates", record)
    model = NeuralRuleClassifier(4, rule_dropout=0.5, random_state=0)
    for _ in range(4):
        model.partial_fit(X[:100], Y[:100])
    assert len({gates.tobytes() for gates in drawn}) == 4


def test_how_an_epoch_is_split_into_calls_does_not_matter(monkeypatch):
    options = {"n_epochs": 3, "batch_size": 32, "rule_dropout": 0.3, "random_state": 0}
    at_once = NeuralRuleClassifier(3, **options).fit(X, Y)
    monkeypatch.setattr(NumbaEngine, "operations_per_call", 1)
    split = NeuralRuleClassifier(3, **options).fit(X, Y)
    np.testing.assert_array_equal(at_once.network_.weights, split.network_.weights)


def test_the_first_rows_of_partial_fit_should_be_ten_for_each_rule():
    """Rules grow from them alone."""
    options = {"rule_source": "tree", "min_samples_leaf": 1, "random_state": 0}
    model = NeuralRuleClassifier(1, **options).partial_fit(X[:20], Y[:20])
    assert model.rules_.n_rules == 2
    message = (
        "The first call of partial_fit grew all 2 rules from its 19 rows; further calls train "
        "them but grow none. Begin with more rows, at least 10 for each rule, or fewer rules "
        "(n_trees, max_depth, max_rules)."
    )
    few = NeuralRuleClassifier(1, **options)
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        few.partial_fit(X[:19], Y[:19])
    few.partial_fit(X[:5], Y[:5])  # later ones may be few
    NeuralRuleClassifier(1, n_epochs=20, **options).fit(X[:19], Y[:19])


@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_fit_that_is_worse_than_a_constant_says_so(early_stopping):
    """It starts at trees that know noise by heart; or hardly begins to learn a rare class."""
    rng = np.random.RandomState(0)
    features, labels = rng.randn(600, 5), rng.rand(600) < (0.5 if early_stopping else 0.05)
    by_heart = {"n_trees": 30, "tree_rate": 0.5, "min_samples_leaf": 1, "start": "leaf"}
    model = NeuralRuleClassifier(6, learning_rate=1e-9, n_epochs=1, random_state=0)
    if early_stopping:
        model.set_params(**by_heart)
    else:
        model.set_params(fit_intercept=False, early_stopping=False)
    where = "120 rows held out to stop on" if early_stopping else "600 training rows"
    message = rf"^This NeuralRuleClassifier predicts worse than a constant: on the {where} its"
    with pytest.warns(ConvergenceWarning, match=message) as told:
        model.fit(features, labels)
    losses = re.findall(r"(?:loss is|constant) ([\d.]+\d)", str(told[0].message))
    share = labels.mean()
    constant = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert float(losses[0]) > float(losses[1]) == pytest.approx(constant, abs=0.01)
    assert "learning_rate=1e-09" in str(told[0].message)
    model.set_params(warm_start=True)
    with pytest.warns(ConvergenceWarning, match="predicts worse than a constant"):
        model.fit(features, labels)


def test_the_untrained_start_may_be_worse_than_a_constant():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    NeuralRuleClassifier.paper(3, n_epochs=0).fit(X, y)


def test_a_search_in_noise_says_so():
    rng = np.random.RandomState(0)
    noise, y = rng.randn(300, 5), rng.randint(0, 2, 300)
    candidates = [{"max_depth": 8}]
    search = NeuralRuleClassifierCV.paper(
        candidates=candidates, cv=2, n_epochs=20, random_state=0
    )
    message = "This NeuralRuleClassifierCV predicts worse than a constant: on the rows of the f"
    with pytest.warns(ConvergenceWarning, match=message):
        search.fit(noise, y)


def test_a_class_may_come_only_later_in_partial_fit():
    model = NeuralRuleClassifier(2, learning_rate=0.1, random_state=0)
    model.partial_fit(X, Y, classes=[0, 1, 2])
    assert set(model.predict(X)) == {0, 1}
    for _ in range(20):
        model.partial_fit(X, np.full(len(X), 2))
    assert set(model.predict(X)) == {2}


def test_divergence_is_an_error_that_names_the_remedy():
    features, target = make_regression(300, 5, random_state=0)
    model = NeuralRuleRegressor(3, learning_rate=1e30, n_epochs=50)
    message = r"Training diverged in epoch \d+: the loss is not finite. Lower learning_rate"
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        model.fit(features, target)


def test_sample_weights_count_in_the_loss():
    heavy = np.where(Y == 1, 20.0, 1.0)
    plain = NeuralRuleClassifier(3, random_state=0).fit(X, Y)
    weighted = NeuralRuleClassifier(3, random_state=0).fit(X, Y, heavy)
    classed = NeuralRuleClassifier(3, random_state=0, class_weight={1: 20.0}).fit(X, Y)
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02
    np.testing.assert_array_equal(weighted.predict_proba(X), classed.predict_proba(X))
    fitted = log_loss(Y, weighted.predict_proba(X), sample_weight=heavy)
    assert fitted < log_loss(Y, plain.predict_proba(X), sample_weight=heavy)


def test_interrupt_flag_is_raised_and_the_old_handler_restored():
    before = signal.getsignal(signal.SIGINT)
    with interrupt_flag() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
    assert signal.getsignal(signal.SIGINT) is before


INTERRUPTED = """
import warnings
import numpy as np
from neuralrules import NeuralRuleClassifier
rng = np.random.RandomState(0)
X = rng.randn(20000, 10)
y = (X[:, 0] * X[:, 1] > 0).astype(int)
NeuralRuleClassifier(2, n_epochs=1).fit(X, y)  # compile
from neuralrules._io import _progress
_progress.SECONDS_BETWEEN_LINES = 0
model = NeuralRuleClassifier(8, n_epochs=10**6, n_jobs={n_jobs}, verbose=1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X, y)
print("said:", caught[0].message)
print("usable:", model.interrupted_, model.n_iter_ > 0, model.score(X, y) > 0.6)
"""


@unix
@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_ctrl_c_leaves_a_usable_model_and_says_so(n_jobs):
    script = textwrap.dedent(INTERRUPTED.format(n_jobs=n_jobs))
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while " epoch 3/1000000 " not in (line := process.stdout.readline()):
        assert line, "it ended before its third epoch"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0, output
    assert "said: Training was interrupted after" in output
    assert "This NeuralRuleClassifier is usable: it keeps what it learned so far." in output
    assert "usable: True True True" in output


@unix
def test_progress_bar_on_a_terminal_shows_epoch_loss_and_time_left():
    script = (
        "from sklearn.datasets import load_breast_cancer as f; "
        "from neuralrules import NeuralRuleClassifier as M; "
        "M(n_epochs=200, verbose=1, early_stopping=True, patience=500).fit(*f(return_X_y=True))"
    )
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stderr=follower)
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece  # while it runs: a terminal that nobody reads is full after 4 KB
    os.close(leader)
    assert process.wait() == 0
    last = shown.decode().rstrip().split("\r")[-1]
    assert "█" * 24 + " epoch 200/200 · loss 0.0" in last
    assert "validation 0." in last
    assert last.endswith("0.0 s left")


def test_progress_elsewhere_is_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", 0)
    NeuralRuleClassifier(2, n_epochs=3, verbose=1).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("epoch ")[1][:3] for line in lines] == ["1/3", "2/3", "3/3", "3/3"]


def test_progress_elsewhere_is_a_single_line_for_short_work(capsys, monkeypatch):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", math.inf)
    NeuralRuleClassifier(2, n_epochs=30, verbose=1).fit(X, Y)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "epoch 30/30" in error
    assert "\r" not in error


def test_silent_by_default(capsys):
    NeuralRuleClassifier(2, n_epochs=3).fit(X, Y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("deep", [False, True])
def test_every_loss_learns(loss, n_classes, deep):
    features, target = make_classification(
        600, 8, n_informative=5, n_classes=n_classes, random_state=0
    )
    options = {"max_depth": 4, "loss": loss, "deep": deep, "random_state": 0}
    model = NeuralRuleClassifier.paper(**options).fit(features, target)
    start = NeuralRuleClassifier.paper(**{**options, "n_epochs": 0}).fit(features, target)
    assert model.score(features, target) > max(0.9, start.score(features, target))
    assert math.isfinite(model.history_["loss"][-1])


def test_rules_for_rare_rows_are_not_worn_away():
    rng = np.random.RandomState(0)
    features = rng.randn(60_000, 3)
    target = np.zeros(60_000, int)
    features[-6:, :2] += 8
    target[-6:] = 1
    model = NeuralRuleClassifier(3, n_epochs=15, random_state=0).fit(features, target)
    assert model.predict(features)[-6:].sum() == 6


def test_a_warm_start_takes_over_with_the_loss_that_is_asked_for_now(tmp_path):
    options = {"n_trees": 4, "n_epochs": 10, "early_stopping": False, "random_state": 0}
    model = NeuralRuleClassifier(3, warm_start=True, rule_dropout=0.1, **options).fit(X, Y)
    model.set_params(loss="hinge").fit(X, Y)
    assert model.fitted_.task.loss.name == "hinge"
    assert not hasattr(model, "predict_proba")
    # The loss of the last epoch is that of the hinge, but for dropped rules.
    margins = np.where(Y == 1, 1, -1) * model.decision_function(X)
    hinge = np.maximum(1 - margins, 0).mean()
    assert 0.8 * hinge < model.history_["loss"][-1] < 1.5 * hinge
    assert not hasattr(load(model.save(tmp_path / "model")), "predict_proba")


def test_what_a_model_gives_depends_on_how_it_was_trained_not_on_its_parameters():
    model = NeuralRuleClassifier(2, n_epochs=2).fit(X, Y).set_params(loss="hinge")
    assert model.predict_proba(X).shape == (600, 2)


def test_divergence_in_the_very_last_step_is_noticed():
    """Its loss would show only in the next epoch."""
    model = NeuralRuleClassifier(
        2, learning_rate=1e39, n_epochs=1, batch_size=10**6, early_stopping=False
    )
    message = r"^Training diverged in epoch 1: the loss is not finite. Lower learning_rate"
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        model.fit(X, Y)
