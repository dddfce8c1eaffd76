"""Sizes of models, counted again the slow way; of other libraries' on made-up models."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import export_text
from threadpoolctl import threadpool_limits

from benchmarks import frontier_counting as counting
from benchmarks.frontier_methods import (
    METHODS,
    hist_boosting,
    rulefit_probabilities,
    rulefit_size,
)
from benchmarks.methods import rules_size


@pytest.fixture(scope="module", name="X")
def columns():
    return np.random.default_rng(0).normal(size=(120, 4))


def target(X, n_classes):
    codes = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5][: n_classes - 1])
    return codes if n_classes else X[:, 0] * X[:, 1]


def lines_of(tree):
    """Depths of the leaves, and how many splits, of a tree's text."""
    lines = export_text(tree, max_depth=99).splitlines()
    leaves = [line.count("|") - 1 for line in lines if "class:" in line or "value:" in line]
    return leaves, (len(lines) - len(leaves)) // 2


@pytest.mark.parametrize(("n_classes", "values"), [(0, 1), (2, 1), (3, 3)])
def test_trees_are_counted_as_their_texts(X, n_classes, values):
    y = target(X, n_classes)
    tree = METHODS["tree"].make(n_classes).fit(X, y)
    leaves, n_splits = lines_of(tree)
    assert counting.decision_tree(tree) == {
        "parameters": 2 * n_splits + values * len(leaves),
        "rules": len(leaves),
        "literals": pytest.approx(np.mean(leaves)),
        "most_literals": max(leaves),
    }
    forest = METHODS["random forest"].make(n_classes).set_params(n_estimators=5).fit(X, y)
    texts = [lines_of(tree) for tree in forest.estimators_]
    n_leaves = sum(len(leaves) for leaves, _ in texts)
    found = counting.random_forest(forest)
    assert found["rules"] == n_leaves
    assert found["parameters"] == 2 * sum(n for _, n in texts) + values * n_leaves
    assert found["most_literals"] == max(max(leaves) for leaves, _ in texts)


def walk(nodes, number=0, depth=0):
    """Depths of the leaves below a node of scikit-learn's histogram trees."""
    if nodes[number]["is_leaf"]:
        return [depth]
    return [
        d for side in ("left", "right") for d in walk(nodes, nodes[number][side], depth + 1)
    ]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_boosted_trees_are_counted_as_they_are_walked(X, n_classes):
    model = hist_boosting(n_classes, max_iter=4, min_samples_leaf=5)
    with threadpool_limits(1):
        model.fit(X, target(X, n_classes))
    trees = [walk(tree.nodes) for stage in model._predictors for tree in stage]
    leaves = [depth for tree in trees for depth in tree]
    assert len(trees) == 4 * (3 if n_classes == 3 else 1)
    assert counting.hist_boosting(model) == {
        "parameters": 2 * (len(leaves) - len(trees)) + len(leaves),
        "rules": len(leaves),
        "literals": pytest.approx(np.mean(leaves)),
        "most_literals": max(leaves),
    }


@pytest.mark.parametrize(("n_classes", "outputs"), [(0, 1), (2, 1), (3, 3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_and_coefficients(X, n_classes, outputs):
    y = target(X, n_classes)
    assert counting.linear(METHODS["linear"].make(n_classes).fit(X, y)) == {
        "parameters": (4 + 1) * outputs
    }
    assert counting.scikit_network(METHODS["MLP"].make(n_classes).fit(X, y)) == {
        "parameters": (4 + 1) * 100 + (100 + 1) * outputs
    }
    assert counting.constant(METHODS["constant"].make(n_classes).fit(X, y)) == {
        "parameters": outputs,
        "rules": 1,
    }


def test_our_rules(X):
    model = METHODS["ours"].make(2).fit(X, target(X, 2))
    found, other = METHODS["ours"].size(model), rules_size(model)
    assert found["rules"] == other["rules"]
    assert found["parameters"] == other["nonzero"]
    assert found["literals"] == pytest.approx(other["literals"] / other["rules"])
    average = SimpleNamespace(networks_=[model.network_] * 3)
    assert METHODS["ours average"].size(average) == found | {
        "parameters": 3 * found["parameters"],
        "rules": 3 * found["rules"],
    }


# A tree whose root splits off a leaf and then two: leaves at depths 1, 2 and 2.
THREE_LEAVES = {
    "parameters": 7,
    "rules": 3,
    "literals": pytest.approx(5 / 3),
    "most_literals": 2,
}


def test_lightgbm():
    leaf = {"leaf_value": 1.0}
    tree = {"left_child": leaf, "right_child": {"left_child": leaf, "right_child": leaf}}
    dump = {"tree_info": [{"tree_structure": tree}]}
    model = SimpleNamespace(booster_=SimpleNamespace(dump_model=lambda: dump))
    assert counting.lightgbm(model) == THREE_LEAVES


def test_xgboost():
    dump = (
        "0:[f0<1] yes=1,no=2\n\t1:leaf=1\n\t2:[f1<2] yes=3,no=4\n\t\t3:leaf=2\n\t\t4:leaf=3\n"
    )
    booster = SimpleNamespace(get_dump=lambda: [dump])
    assert counting.xgboost(SimpleNamespace(get_booster=lambda: booster)) == THREE_LEAVES


def test_figs():
    leaf = SimpleNamespace(left=None, right=None)
    inner = SimpleNamespace(left=leaf, right=leaf)
    tree = SimpleNamespace(left=leaf, right=inner)
    assert counting.figs(SimpleNamespace(trees_=[tree], n_outputs=2)) == THREE_LEAVES
    several = counting.figs(SimpleNamespace(trees_=[tree, inner], n_outputs=3))
    assert several["rules"] == 5
    assert several["parameters"] == 2 * 3 + 3 * 5


def test_catboost_has_a_split_for_each_level():
    model = SimpleNamespace(
        get_tree_leaf_counts=lambda: np.array([4, 8]), get_leaf_values=lambda: np.ones(36)
    )
    assert counting.catboost(model) == {
        "parameters": 2 * (2 + 3) + 36,  # three outputs for each of twelve leaves
        "rules": 12,
        "literals": pytest.approx((4 * 2 + 8 * 3) / 12),
        "most_literals": 3,
    }


def test_ebm():
    model = SimpleNamespace(term_scores_=[np.ones(5), np.ones((3, 4))], intercept_=np.ones(1))
    assert counting.ebm(model) == {"parameters": 18}


def test_rulefit():
    rules = [SimpleNamespace(rule="x0 > 1 and x1 <= 2"), SimpleNamespace(rule="x2 > 0")]
    model = SimpleNamespace(rules_=rules, n_features_=3, coef=[0.0, 0.5, 0.0, 1.0, -1.0])
    one = {"parameters": 2 * 3 + 2 + 1 + 1, "rules": 3, "literals": 1.5, "most_literals": 2}
    assert counting.rulefit(model) == one
    several = rulefit_size(SimpleNamespace(estimators_=[model, model]))
    assert several == one | {"parameters": 20, "rules": 6}


def test_rulefits_probabilities_are_those_of_its_log_odds():
    score = np.array([-2.0, 0.0, 3.0])

    def softmax_of_both(X):
        both = np.exp(np.column_stack([1 - score, score]))
        return both / both.sum(axis=1, keepdims=True)

    model = SimpleNamespace(predict_proba=softmax_of_both)
    usual, ours = rulefit_probabilities(model, np.zeros((3, 1)))
    np.testing.assert_array_equal(usual, softmax_of_both(None))
    np.testing.assert_allclose(ours[:, 1], 1 / (1 + np.exp(-score)))
    np.testing.assert_allclose(ours.sum(axis=1), 1)
