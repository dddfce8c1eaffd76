"""What "auto" means, which rows are held out, and where training starts and ends."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from neuralrules import NeuralRuleClassifier
from neuralrules._engine._reference import NumpyEngine
from neuralrules._estimators._base import encoded_rows, settings_of
from neuralrules._fitting import _gain
from neuralrules._fitting._fit import fit
from neuralrules._fitting._gain import no_worse_than_constant
from neuralrules._fitting._settings import epochs, trees
from neuralrules._fitting._table import TableSource, held_out
from neuralrules._task._task import Task
from neuralrules._training._training import mean_loss_on

X, Y = make_classification(600, 10, n_informative=6, random_state=0)


@pytest.mark.parametrize(
    ("n_rows", "n_epochs"),
    [(1, 300), (80_000, 300), (80_001, 299), (800_000, 30), (8_000_000, 3), (10**9, 3)],
)
def test_very_large_tables_have_fewer_epochs_unless_they_are_told(n_rows, n_epochs):
    assert epochs("auto", n_rows) == n_epochs
    assert epochs(70, n_rows) == 70
    task = Task.of_classes(np.array([0, 1]), "logistic")
    settings = replace(settings_of(NeuralRuleClassifier()), stop_after=40)
    found = settings.plan(task, n_rows)
    assert (found.n_epochs, found.n_run) == (n_epochs, min(40, n_epochs))


@pytest.mark.parametrize(
    ("n_rows", "n_trees"), [(1, 32), (25_000, 32), (50_000, 64), (100_000, 128), (10**9, 128)]
)
def test_large_tables_grow_more_trees(n_rows, n_trees):
    assert trees(n_rows, 1) == n_trees
    assert trees(n_rows, 3) == n_trees / 2


def test_a_start_is_judged_by_rows_of_all_parts_of_a_large_table(monkeypatch):
    monkeypatch.setattr(_gain, "START_ROWS", 50)
    model = NeuralRuleClassifier(n_trees=4, n_epochs=0, random_state=0).fit(X, Y)
    rows, every = encoded_rows(model, X, Y), np.arange(600, dtype=np.int32)
    wild = replace(model.network_, values=model.network_.values * 1e3)
    expected = no_worse_than_constant(
        wild, rows.take(every[::12]), np.arange(50, dtype=np.int32), NumpyEngine()
    )
    np.testing.assert_array_equal(
        no_worse_than_constant(wild, rows, every, NumpyEngine()).values, expected.values
    )


def test_training_may_end_before_its_schedule_does():
    options = {"n_trees": 2, "rule_dropout": 0.2, "early_stopping": False, "random_state": 0}
    settings = settings_of(NeuralRuleClassifier(n_epochs=9, **options))
    source = TableSource(X, Y, np.ones(len(Y), np.float32), named=False)
    whole, part = fit(source, settings), fit(source, replace(settings, stop_after=3))
    assert part.history["loss"] == whole.history["loss"][:3]
    assert (part.n_epochs, whole.n_epochs) == (3, 9)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.randoms(use_true_random=False),
)
def test_held_out_rows_are_a_share_of_each_class_but_never_all(sizes, fraction, random):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    random.shuffle(groups)
    state = np.random.RandomState(random.randrange(2**31))
    held = held_out(groups, fraction, state)
    assert held.dtype == bool
    trained = np.bincount(groups[~held], minlength=len(sizes))
    assert (trained >= 1).all()
    n_held = np.bincount(groups[held], minlength=len(sizes))
    possible = np.array(sizes) - 1
    assert held.sum() <= fraction * len(groups) + 0.5
    if (fraction * np.array(sizes) + 0.5 < possible).all():
        assert abs(held.sum() - fraction * len(groups)) <= 0.5 + 1e-9
        assert (np.abs(n_held - fraction * np.array(sizes)) <= 1 + 1e-9).all()


def test_wild_starts_are_tamed():
    model = NeuralRuleClassifier(n_trees=4, n_epochs=0, random_state=0).fit(X, Y)
    network, rows = model.network_, encoded_rows(model, X, Y)
    every, engine = np.arange(600, dtype=np.int32), NumpyEngine()
    assert no_worse_than_constant(network, rows, every, engine) is network
    wild = replace(network, values=network.values * 1e3)
    silent = replace(network, values=network.values * 0)
    tame = no_worse_than_constant(wild, rows, every, engine)
    mean_loss = mean_loss_on(rows, engine)
    nothing = mean_loss(silent)
    assert mean_loss(tame) <= nothing
    doubled = replace(tame, values=tame.values * 2)
    assert mean_loss(doubled) > nothing
    contrary = replace(network, values=-network.values)
    assert not no_worse_than_constant(contrary, rows, every, engine).values.any()
