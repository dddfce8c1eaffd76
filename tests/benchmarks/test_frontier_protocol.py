"""A cell of the frontier: its rows, its losses, and what becomes of one that takes too long."""

from __future__ import annotations

import dataclasses
import json
import time

import numpy as np
import pytest
import sklearn.metrics
from sklearn.tree import DecisionTreeClassifier

from benchmarks import frontier_protocol as protocol
from benchmarks.datasets import FRONTIER, TABLES
from benchmarks.frontier_methods import METHODS
from benchmarks.frontier_protocol import DATA, FrontierProtocol, Split, measure, split
from benchmarks.protocol import Task

SMALL = FrontierProtocol(train_rows=60, test_rows=30)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 1).astype(int)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    return X, X[:, 0] ** 2


def rows_in(X, part):
    """Positions of the rows of a part; all rows of X differ."""
    where = {row.tobytes(): i for i, row in enumerate(X)}
    return {where[row.tobytes()] for row in part}


def test_there_are_15_of_the_papers_sets_and_21_others():
    assert len(protocol.FROM_THE_PAPER) == 15
    assert set(protocol.FROM_THE_PAPER) < set(TABLES)
    assert len(FRONTIER) == 21
    assert len(set(DATA)) == len(DATA) == 36
    kinds = [len((TABLES | FRONTIER)[name].counts) for name in DATA]
    assert [
        sum(test) for test in zip(*((k == 2, k > 2, k == 0) for k in kinds), strict=True)
    ] == [19, 8, 9]


def test_a_split_is_random_whole_and_by_classes(classes):
    X, y = classes
    parts = split(FrontierProtocol(), X, y, 0)
    assert parts.X.shape == (300, 3)
    assert parts.X_test.shape == (100, 3)
    assert rows_in(X, parts.X) | rows_in(X, parts.X_test) == set(range(400))
    assert parts.n_classes == 3
    np.testing.assert_allclose(np.bincount(parts.y), 0.75 * np.bincount(y), atol=1)
    same, other = split(FrontierProtocol(), X, y, 0), split(FrontierProtocol(), X, y, 1)
    np.testing.assert_array_equal(same.X, parts.X)
    assert rows_in(X, other.X) != rows_in(X, parts.X)


def test_large_tables_are_cut_and_keep_their_shares(classes):
    X, y = classes
    whole, parts = split(FrontierProtocol(), X, y, 0), split(SMALL, X, y, 0)
    assert len(parts.y) == 60
    assert len(parts.y_test) == 30
    assert rows_in(X, parts.X) < rows_in(X, whole.X)
    assert rows_in(X, parts.X_test) < rows_in(X, whole.X_test)
    np.testing.assert_allclose(np.bincount(parts.y) / 60, np.bincount(y) / 400, atol=0.02)


def test_numbers_are_split_and_cut_as_they_come(numbers):
    parts = split(SMALL, *numbers, 0)
    assert (len(parts.y), len(parts.y_test), parts.n_classes) == (60, 30, 0)


def test_a_class_of_one_row_is_no_reason_to_stop(classes):
    X, y = classes
    rare = np.where(np.arange(400) == 7, 3, y)
    for seed in range(6):  # it comes into either part, and is cut away
        parts = split(SMALL, X, rare, seed)
        assert parts.n_classes == 4
        assert np.isfinite(protocol.constant_loss(parts))


def test_a_class_that_was_not_trained_costs_the_most_and_no_more():
    rng = np.random.default_rng(0)
    rows = Split(
        rng.normal(size=(30, 2)), np.arange(30) % 2 * 2, np.zeros((4, 2)), np.ones(4, int), 3
    )
    found = protocol.fit(METHODS["tree"], rows)
    assert found["loss"] == pytest.approx(-np.log(protocol.TINY), rel=1e-5)
    assert found["error"] == 100
    assert found["auc"] is None
    assert protocol.constant_loss(rows) == pytest.approx(-np.log(protocol.TINY), rel=1e-5)


def test_losses_are_scikit_learns(classes, numbers):
    parts = split(FrontierProtocol(), *classes, 0)
    found = protocol.fit(METHODS["tree 16"], parts)
    tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0).fit(parts.X, parts.y)
    given = np.clip(tree.predict_proba(parts.X_test), 1e-7, 1 - 1e-7)
    given /= given.sum(axis=1, keepdims=True)
    assert found["loss"] == pytest.approx(sklearn.metrics.log_loss(parts.y_test, given))
    assert found["error"] == pytest.approx(
        100 * np.mean(tree.predict(parts.X_test) != parts.y_test)
    )
    constant = protocol.fit(METHODS["constant"], parts)
    assert constant["loss"] == pytest.approx(protocol.constant_loss(parts))
    parts = split(FrontierProtocol(), *numbers, 0)
    constant = protocol.fit(METHODS["constant"], parts)
    assert constant["loss"] == pytest.approx(protocol.constant_loss(parts))
    assert constant["loss"] == pytest.approx(np.mean((parts.y_test - parts.y.mean()) ** 2))
    assert constant["error"] is None


def test_two_classes_have_an_auc(classes):
    X, y = classes
    parts = split(FrontierProtocol(), X, np.minimum(y, 1), 0)
    found = protocol.fit(METHODS["linear"], parts)
    assert 0.9 < found["auc"] < 1


def test_of_two_ways_to_make_probabilities_the_better_counts(classes):
    X, y = classes
    parts = split(FrontierProtocol(), X, y, 0)

    def both(model, X):
        sure = model.predict_proba(X)
        return [np.full_like(sure, 1 / 3), sure]

    stump = dataclasses.replace(METHODS["tree 16"], probabilities=both)
    assert protocol.fit(stump, parts)["loss"] == min(
        np.log(3), protocol.fit(METHODS["tree 16"], parts)["loss"]
    )


@pytest.fixture
def tables(monkeypatch, classes):
    monkeypatch.setattr(protocol, "table", lambda name, folder: classes)


def spin(n_classes):
    while True:
        time.process_time()


@pytest.mark.parametrize("method", ["constant", "linear", "tree", "random forest"])
def test_what_is_found_can_be_written_down(classes, numbers, method):
    for rows in (classes, numbers):
        json.dumps(protocol.fit(METHODS[method], split(SMALL, *rows, 0)))


@pytest.mark.usefixtures("tables")
def test_a_record_holds_what_is_promised():
    record = measure(FrontierProtocol(), Task("sleep", "tree 16", 2), commit="abc")
    assert record["status"] == "measured"
    assert (record["data"], record["method"], record["fold"]) == ("sleep", "tree 16", 2)
    assert record["loss"] < record["constant_loss"]
    assert record["rules"] <= 16
    assert record["fit_seconds"] >= 0
    assert record["environment"]["commit"] == "abc"
    assert {"numpy", "scikit-learn", "Python", "CPU"} <= set(record["environment"])


@pytest.mark.usefixtures("tables")
def test_what_takes_too_long_or_is_too_large_has_a_record_that_says_so(monkeypatch):
    slow = dataclasses.replace(METHODS["tree 16"], make=spin, limit=1)
    monkeypatch.setitem(METHODS, "tree 16", slow)
    record = measure(FrontierProtocol(), Task("sleep", "tree 16", 0))
    assert record["status"] == "over time"
    assert record["limit"] == 1
    assert "loss" not in record
    assert record["constant_loss"] > 0
    monkeypatch.setitem(METHODS, "tree 16", dataclasses.replace(slow, most_rows=299))
    record = measure(FrontierProtocol(), Task("sleep", "tree 16", 0))
    assert record["status"] == "left out for its size"
