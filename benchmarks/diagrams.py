"""A tree and one of its rules as a network, drawn from the arrays of a model."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks import drawing
from benchmarks.drawing import BLUE, GREY, STYLE, plt
from neuralrules import NeuralRuleClassifier

LIGHT = "#B8B8B8"
GAP = 1.6  # distance between two layers


def example_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of three standardised features. Its tree of depth 2 uses all three."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(400, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(X[:, 0] > 0.3, X[:, 1] > -0.4, X[:, 2] > 0.8).astype(int)
    return X, y


def draw_mapping(path: Path, model: NeuralRuleClassifier, rule: int) -> None:
    """A tree with the path of one rule marked, beside the neural rule that starts from it."""
    deep = model.network_.deep
    with mpl.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1,
            2,
            figsize=(11.5 if deep else 10, 4.6),
            width_ratios=(1, 1.5 if deep else 1.15),
            layout="constrained",
        )
        draw_tree(left, model, rule)
        draw_rule(right, model, rule)
        handles = [
            Line2D([], [], color=BLUE, linewidth=2.2, label="taken over from the tree"),
            Line2D([], [], color=LIGHT, linewidth=1.2, label="new connection, starts at 0"),
        ]
        drawing.legend_below(figure, handles)
        drawing.save(figure, path)


def draw_tree(axes: Axes, model: NeuralRuleClassifier, rule: int) -> None:
    """Draw a tree of depth 2. Its leaves are the rules, from left to right."""
    rules = model.rules_
    paths = [
        [
            (rules.features[k], rules.signs[k], rules.thresholds[k])
            for k in range(rules.offsets[i], rules.offsets[i + 1])
        ]
        for i in range(rules.n_rules)
    ]
    nodes = {0: (1.5, 2.0), 1: (0.5, 1.0), 2: (2.5, 1.0)}
    splits = {0: paths[0][0], 1: paths[0][1], 2: paths[2][1]}
    taken = {0, 1 + (rule > 1)}
    for i, path in enumerate(paths):
        inner = 1 + (i > 1)
        for start, end, literal in (
            (nodes[0], nodes[inner], path[0]),
            (nodes[inner], (i, 0.0), path[1]),
        ):
            own = i == rule or (literal is path[0] and inner in taken)
            connect(axes, start, end, BLUE if own else GREY, 2.2 if own else 1.2)
    for number, (x, y) in nodes.items():
        feature, _, threshold = splits[number]
        text = f"$x_{feature + 1} \\leq {threshold:.2f}$"
        circle(axes, x, y, text, BLUE if number in taken else GREY, wide=True)
    for i in range(len(paths)):
        circle(axes, i, 0, f"rule {i + 1}", BLUE if i == rule else GREY, wide=True)
    axes.text(0.8, 1.62, "yes", ha="right", color=GREY)
    axes.text(2.2, 1.62, "no", ha="left", color=GREY)
    axes.set(xlim=(-0.6, 3.6), ylim=(-0.4, 2.45), title="A tree of four rules")
    axes.axis("off")


def draw_rule(axes: Axes, model: NeuralRuleClassifier, rule: int) -> None:
    """Draw a rule: inputs, literals, units of the second layer if deep, minimum and value."""
    network = model.network_
    first, last = network.offsets[rule], network.offsets[rule + 1]
    weights = np.column_stack([network.weights[first:last], network.biases[first:last]])
    inputs = [f"$x_{feature + 1}$" for feature in network.features] + ["1"]
    layers = [weights]
    if network.deep:
        layers.append(np.column_stack([network.second_layer(rule), network.shifts[first:last]]))
    ys = heights(len(inputs))
    for y, text in zip(ys, inputs, strict=True):
        circle(axes, 0, y, text, GREY)
    for depth, matrix in enumerate(layers):
        if depth > 0:  # the bias of the second layer
            ys = np.append(ys, -1.55)
            circle(axes, GAP * depth, ys[-1], "1", GREY)
        ys = draw_layer(axes, GAP * depth, ys, matrix)
    x = GAP * len(layers)
    for y in ys:
        connect(axes, (x, y), (x + 1.1, 0), "black", 1.2)
    connect(axes, (x + 1.1, 0), (x + 2.1, 0), BLUE, 2.2)
    circle(axes, x + 1.1, 0, "min", "black")
    axes.text(x + 1.65, 0.1, f"c = {network.values[rule, 0]:.2f}", ha="center", color=BLUE)
    axes.text(x + 2.15, 0, "r(x)", va="center")
    kind = "a deep neural rule" if network.deep else "a neural rule"
    axes.set(xlim=(-0.3, x + 2.6), ylim=(-1.9, 1.75), title=f"Rule {rule + 1} as {kind}")
    axes.axis("off")


def draw_layer(axes: Axes, x: float, sources: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Draw a layer: edges from the sources at `x`, with weights, to units. Returns heights."""
    targets = heights(len(matrix))
    for j, target in enumerate(targets):
        for k, source in enumerate(sources):
            color, width = (BLUE, 2.2) if matrix[j, k] else (LIGHT, 1.2)
            start, end = (x, source), (x + GAP, target)
            connect(axes, start, end, color, width)
            # The labels of different units have different distances from the sources, so that
            # no two labels overlap.
            label(axes, start, end, 0.3 + 0.28 * j, signed(float(matrix[j, k])), color)
        circle(axes, x + GAP, target, "ReLU", BLUE)
    return targets


def signed(weight: float) -> str:
    text = f"{weight:+.0f}" if weight == round(weight) else f"{weight:+.2f}"
    return "0" if weight == 0 else text.replace("-", "−")


def heights(n: int) -> np.ndarray:
    return np.linspace(1.35, -1.35, n) if n > 2 else np.linspace(0.75, -0.75, n)


def connect(axes: Axes, start: tuple, end: tuple, color: str, width: float) -> None:
    above = 2 if color == BLUE else 1
    axes.plot(*zip(start, end, strict=True), color=color, linewidth=width, zorder=above)


def circle(axes: Axes, x: float, y: float, text: str, color: str, wide: bool = False) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        zorder=4,
        bbox={
            "boxstyle": "round,pad=0.35" if wide else "circle,pad=0.3",
            "facecolor": "white",
            "edgecolor": color,
            "linewidth": 1.6,
        },
    )


def label(axes: Axes, start: tuple, end: tuple, share: float, text: str, color: str) -> None:
    x = start[0] + share * (end[0] - start[0])
    y = start[1] + share * (end[1] - start[1])
    looks = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    shade = color if color == BLUE else GREY
    axes.text(
        x, y, text, fontsize=8.5, ha="center", va="center", color=shade, bbox=looks, zorder=3
    )
