"""Train on two small tables, compare with other models, print the rules."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuralrules import NeuralRuleClassifier

REPORT = "breast_cancer.html"


def rotated_xor(n_rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in opposite quadrants, turned by 45 degrees, with a little noise."""
    rng = np.random.RandomState(0)
    square = rng.uniform(-1, 1, (n_rows, 2))
    y = (square[:, 0] * square[:, 1] > 0).astype(int)
    turned = square @ np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    return turned + rng.normal(0, 0.02, turned.shape), y


def parameters(model) -> int:
    """Numbers that make up a fitted model; a node of a tree counts as one."""
    if isinstance(model, NeuralRuleClassifier):
        return model.network_.n_parameters
    if isinstance(model, RandomForestClassifier):
        return sum(tree.tree_.node_count for tree in model.estimators_)
    if isinstance(model, GradientBoostingClassifier):
        return sum(tree.tree_.node_count for tree in model.estimators_.ravel())
    return sum(layer.size for layer in [*model[-1].coefs_, *model[-1].intercepts_])


def read(model: NeuralRuleClassifier, X, y) -> None:
    """Simplify a model, print its rules and one explanation, write a report."""
    small = model.simplify(X, y)
    before, after = model.network_.n_parameters, small.network_.n_parameters
    print(f"\nSimplified from {before} to {after} parameters, its rules are:\n")
    print(small.rules_text())
    print("\nWhy the first row is what it is:\n")
    print(small.explain(X[:1]))
    print("\nThe smallest change that would change that:\n")
    print(small.counterfactual(X[:1]))
    page = small.report(REPORT, X, y, title="Breast cancer")
    print(f"\nOpen {page} in a browser to read on.")


def compare(name: str, X, y, depth: int) -> NeuralRuleClassifier:
    """Print the test errors of four models over five folds; return ours, fitted on all rows."""
    models = {
        "neural rules": NeuralRuleClassifier(depth, random_state=0),
        "random forest": RandomForestClassifier(random_state=0),
        "gradient boosting": GradientBoostingClassifier(random_state=0),
        "MLP(100)": make_pipeline(
            StandardScaler(), MLPClassifier(100, max_iter=1000, random_state=0)
        ),
    }
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns; test error over five folds\n")
    print(f"  {'model':<20}{'test error':>12}{'parameters':>12}{'fit':>10}")
    for label, model in models.items():
        errors = 100 * (1 - cross_val_score(model, X, y, cv=folds))
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        print(f"  {label:<20}{errors.mean():>10.1f} %{parameters(model):>12,}{seconds:>8.2f} s")
    return models["neural rules"]


def main() -> None:
    cancer = load_breast_cancer(as_frame=True)
    print("Compiling the kernels, once …", flush=True)
    start = time.perf_counter()
    NeuralRuleClassifier(2, n_epochs=1).fit(cancer.data, cancer.target).predict(cancer.data)
    print(f"… {time.perf_counter() - start:.1f} s\n")

    X, y = rotated_xor()
    model = compare("Rotated XOR", X, y, depth=3)
    print(f"\nIts {model.network_.n_rules} rules (a positive value speaks for class 1):\n")
    print(model.rules_text())

    print()
    labels = cancer.target_names[cancer.target]
    model = compare("Breast cancer", cancer.data, labels, depth=3)
    read(model, cancer.data, labels)


if __name__ == "__main__":
    main()
