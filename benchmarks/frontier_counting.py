"""The size of a fitted model, counted in the same way for all methods of the frontier.

Every function returns a dictionary with some of these keys:

``parameters``
    Number of learned numbers. A split of a tree has two: the column and the threshold. A leaf
    has one for each output. In CatBoost's trees, a level has one split. An EBM has the scores
    of all bins of all terms, a network its weights, and a linear model its coefficients.
``rules``
    Number of leaves of trees, or of the rules and linear terms of a rule model.
``literals``, ``most_literals``
    Mean and largest number of conditions on the way to a leaf or in a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Size = dict[str, float]


def of_leaves(depths: Iterable[int], n_trees: int, n_values: int) -> Size:
    """Size of binary trees, from the depths of all their leaves and the values per leaf."""
    depths = list(depths)
    n_splits = len(depths) - n_trees
    return {
        "parameters": 2 * n_splits + n_values * len(depths),
        "rules": len(depths),
        "literals": float(np.mean(depths)),
        "most_literals": max(depths),
    }


def n_outputs(n_classes: int) -> int:
    """Values of a leaf that gives shares of classes. For two classes, one value is enough."""
    return n_classes if n_classes > 2 else 1


def tree_depths(tree: Any) -> list[int]:
    """Depth of each leaf of one of scikit-learn's trees."""
    depth = np.zeros(tree.node_count, dtype=int)
    for node in range(tree.node_count):  # children come after their parents
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    return depth[tree.children_left < 0].tolist()


def decision_tree(model: Any) -> Size:
    return forest_of([model])


def random_forest(model: Any) -> Size:
    return forest_of(model.estimators_)


def forest_of(models: list[Any]) -> Size:
    depths = [depth for model in models for depth in tree_depths(model.tree_)]
    values = n_outputs(getattr(models[0], "n_classes_", 0))
    return of_leaves(depths, len(models), values)


def hist_boosting(model: Any) -> Size:
    """HistGradientBoosting: one value for each leaf, a tree for each class and round."""
    trees = [tree for stage in model._predictors for tree in stage]
    depths = [d for tree in trees for d in tree.nodes["depth"][tree.nodes["is_leaf"] == 1]]
    return of_leaves(map(int, depths), len(trees), 1)


def lightgbm(model: Any) -> Size:
    trees = [tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]]
    return of_leaves((d for tree in trees for d in nested_depths(tree)), len(trees), 1)


def nested_depths(node: dict[str, Any], depth: int = 0) -> list[int]:
    """Depth of each leaf of a tree of nested dictionaries."""
    if "left_child" not in node:
        return [depth]
    children = (node["left_child"], node["right_child"])
    return [d for child in children for d in nested_depths(child, depth + 1)]


def xgboost(model: Any) -> Size:
    """XGBoost's dump has one line for each node, indented by its depth."""
    dump = model.get_booster().get_dump()
    lines = [line for tree in dump for line in tree.splitlines()]
    depths = (line.count("\t") for line in lines if "leaf=" in line)
    return of_leaves(depths, len(dump), 1)


def catboost(model: Any) -> Size:
    """All nodes of a level share their split; a leaf has a value for each output."""
    n_leaves = np.asarray(model.get_tree_leaf_counts())
    levels = np.log2(n_leaves)
    return {
        "parameters": int(2 * levels.sum()) + len(model.get_leaf_values()),
        "rules": int(n_leaves.sum()),
        "literals": float(np.average(levels, weights=n_leaves)),
        "most_literals": int(levels.max()),
    }


def ebm(model: Any) -> Size:
    scores = sum(np.size(term) for term in model.term_scores_)
    return {"parameters": scores + np.size(model.intercept_)}


def scikit_network(model: Any) -> Size:
    layers = model.regressor_[-1] if hasattr(model, "regressor_") else model[-1]
    return {"parameters": sum(array.size for array in (*layers.coefs_, *layers.intercepts_))}


def torch_network(model: Any) -> Size:
    """RealMLP: all parameters of its network, without the statistics of the columns."""
    net = model.alg_interface_.model
    return {"parameters": sum(array.numel() for array in net.parameters())}


def linear(model: Any) -> Size:
    return {"parameters": np.size(model[-1].coef_) + np.size(model[-1].intercept_)}


def figs(model: Any) -> Size:
    """FIGS adds up trees. A leaf has a value for each class, but only one if there are two."""
    depths = [depth for tree in model.trees_ for depth in linked_depths(tree)]
    return of_leaves(depths, len(model.trees_), n_outputs(model.n_outputs))


def linked_depths(node: Any, depth: int = 0) -> list[int]:
    """Depth of each leaf of a tree of linked nodes."""
    if node.left is None:
        return [depth]
    return linked_depths(node.left, depth + 1) + linked_depths(node.right, depth + 1)


def rulefit(model: Any) -> Size:
    """RuleFit's rules, and its linear terms as rules without literals."""
    literals = [rule.rule.count(" and ") + 1 for rule in model.rules_]
    n_linear = int(np.count_nonzero(model.coef[: model.n_features_]))
    return {
        "parameters": 2 * sum(literals) + len(literals) + n_linear + 1,
        "rules": len(literals) + n_linear,
        "literals": float(np.mean(literals)) if literals else 0.0,
        "most_literals": max(literals, default=0),
    }


def constant(model: Any) -> Size:
    values = getattr(model, "class_prior_", None)
    return {"parameters": 1 if values is None else n_outputs(len(values)), "rules": 1}
