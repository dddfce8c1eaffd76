"""The paper's simulations: its figures, and the claims behind them in numbers.

    python -m benchmarks.simulations

Writes docs/figures/*.png and *.gif, and docs/simulations.md with the numbers.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks import diagrams, drawing
from benchmarks.generators import diagonal, rotated_xor
from benchmarks.pages import DOCS, environment, environment_list, write_page
from neuralrules import NeuralRuleClassifier

FIGURES = DOCS / "figures"
SEED = 0
STAGES = (0, 150, 3000)  # iterations, as in the paper's figures 4 and 5
N_FRAMES = 48


@dataclass(frozen=True)
class Support:
    """The region in which a rule is active, at one stage of the rule's training.

    Attributes
    ----------
    iteration : int
    on_grid : ndarray of shape (n, n), bool
        Whether each point of `drawing.grid_points` is inside.
    positives, negatives : float
        Share of the training rows of each class that are inside.
    midpoints_outside : float
        Share of pairs of inside grid points with a midpoint outside. It is 0 for a convex
        support.
    """

    iteration: int
    on_grid: np.ndarray
    positives: float
    negatives: float
    midpoints_outside: float


def evolution(
    X: np.ndarray, y: np.ndarray, iterations: list[int], *, deep: bool
) -> list[Support]:
    """Train the best rule of a tree alone, and look at it after the given iterations.

    An iteration is one step on all rows at the paper's learning rate, without
    shrinkage, rule dropout or schedule.
    """
    model = NeuralRuleClassifier.paper(
        max_depth=4,
        max_rules=1,
        deep=deep,
        n_epochs=0,
        batch_size=len(X),
        l2=0,
        rule_dropout=0,
        schedule="constant",
        random_state=SEED,
    ).fit(X, y)
    supports = []
    for iteration in range(max(iterations) + 1):
        if iteration > 0:
            model.partial_fit(X, y)
        if iteration in iterations:
            supports.append(look(model, X, y, iteration))
    return supports


def look(model: NeuralRuleClassifier, X: np.ndarray, y: np.ndarray, iteration: int) -> Support:
    def is_inside(points: np.ndarray) -> np.ndarray:
        return model.decision_function(points) != 0

    points = drawing.grid_points()
    inside = is_inside(points)
    rng = np.random.RandomState(SEED)
    pairs = points[rng.choice(np.flatnonzero(inside), (2, 4000))]
    rows = is_inside(X)
    return Support(
        iteration,
        inside.reshape(drawing.N_GRID, drawing.N_GRID),
        float(rows[y == 1].mean()),
        float(rows[y == 0].mean()),
        float(1 - is_inside(pairs.mean(axis=0)).mean()),
    )


def frames() -> list[int]:
    """The iterations to draw: all at first, then fewer and fewer, and the three stages."""
    steps = np.geomspace(1, max(STAGES), N_FRAMES).round().astype(int)
    return sorted({*STAGES, *steps.tolist()})


def limits_of_hard_rules() -> list[tuple[str, float]]:
    """Figure 1: test errors of few and of many hard rules on a table split at 45 degrees."""
    X, y = diagonal(600, SEED)
    X_test, y_test = diagonal(20_000, SEED + 1)
    models = {
        f"{n} hard rules": DecisionTreeClassifier(max_leaf_nodes=n, random_state=SEED)
        for n in (5, 20)
    }
    models["5 neural rules"] = NeuralRuleClassifier.paper(
        max_depth=3, max_rules=5, random_state=SEED
    )
    for model in models.values():
        model.fit(X, y)
    errors = [(name, 100 * (1 - model.score(X_test, y_test))) for name, model in models.items()]
    drawing.draw_boundaries(FIGURES / "hard_rules.png", X, y, models, dict(errors))
    return errors


def evolving_support(name: str, *, deep: bool) -> list[Support]:
    """Figures 4 and 5: the support of one rule on rotated XOR, as pictures and as a film."""
    X, y = rotated_xor(1000, SEED)
    supports = evolution(X, y, frames(), deep=deep)
    stages = [support for support in supports if support.iteration in STAGES]
    drawing.draw_stages(FIGURES / f"{name}.png", X, y, stages)
    drawing.animate(FIGURES / f"{name}.gif", X, y, supports)
    return stages


def mappings() -> None:
    """Figures 2 and 3: a tree of four rules, and one of them as a neural rule."""
    X, y = diagrams.example_table(SEED)
    for name, deep in (("mapping_shallow", False), ("mapping_deep", True)):
        model = NeuralRuleClassifier.paper(
            max_depth=2, n_epochs=0, deep=deep, random_state=SEED
        ).fit(X, y)
        diagrams.draw_mapping(FIGURES / f"{name}.png", model, rule=1)


def render(errors: list[tuple[str, float]], stages: dict[str, list[Support]]) -> str:
    """The numbers as Markdown."""
    lines = [
        "### Figure 1 in numbers",
        "",
        "| model | test error |",
        "|---|--:|",
        *(f"| {name} | {error:.2f} % |" for name, error in errors),
        "",
        "### Figures 4 and 5 in numbers",
        "",
        "Of the 1000 training rows of each simulation. *Midpoints outside* is the share of "
        "pairs of points in the support whose midpoint is not in it: 0 for a convex set.",
        "",
        "| rule | iteration | positives inside | negatives inside | midpoints outside |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, supports in stages.items():
        lines += [
            f"| {name} | {s.iteration} | {100 * s.positives:.1f} % | {100 * s.negatives:.1f} % "
            f"| {100 * s.midpoints_outside:.1f} % |"
            for s in supports
        ]
    return "\n".join([*lines, "", environment_list(environment("matplotlib"))])


def main() -> int:
    start = time.perf_counter()
    FIGURES.mkdir(exist_ok=True)
    errors = limits_of_hard_rules()
    mappings()
    stages = {
        "neural rule": evolving_support("neural_rule", deep=False),
        "deep neural rule": evolving_support("deep_neural_rule", deep=True),
    }
    text = render(errors, stages)
    write_page("simulations.md", text)
    print(text)
    for path in sorted(FIGURES.iterdir()):
        print(f"{path.name}  {path.stat().st_size / 1e3:.0f} kB")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
