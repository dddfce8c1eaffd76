"""The display of one rule as a network, from columns to its value.

The diagram is laid out in points (1/72 inch) as if it had a figure of its own. The texts are
measured first, so that nothing overlaps. On axes that the user gives, the whole diagram is
scaled to fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neuralrules._charts._rules import RuleDiagram, rule_diagram
from neuralrules._charts._texts import signed
from neuralrules._estimators._base import NeuralRuleModel, fitted_of
from neuralrules._io._checks import check_position, check_whole
from neuralrules._reading._notation import number
from neuralrules._reading._text import letter
from neuralrules.plot._drawing import BLUE, GREY, LIGHT, import_pyplot, literally

FONT = 9.0  # points
MAX_VALUES = 10  # most outputs that are shown: those with the largest values
WIDEST, THINNEST = 4.2, 0.5  # line widths of edges, in points
DASHES = (0, (3.2, 1.6))
# Sizes and distances in points. ROW, BOX and PITCH: of rows of text and of literals, from top
# to bottom. FAN, MIXING_FAN, FUNNEL and EXIT: of the parts of the diagram, from left to right.
ROW, BOX, PITCH, PAD = 20.0, 32.0, 42.0, 6.0
FAN, MIXING_FAN, FUNNEL, EXIT = 130.0, 95.0, 52.0, 56.0
TOP, BOTTOM, RADIUS = 26.0, 42.0, 15.0


class RuleDisplay(RuleDiagram):
    """One rule as a network: columns, literals, minimum, value.

    Parameters
    ----------
    rule : int
    columns : list of str
        The columns shown, in their order from the top.
    features : ndarray of shape (n_shown,), int
        Places of these columns in `network_.features`.
    n_hidden : int
        Number of columns that have a weight in this rule and are not shown.
    weights : ndarray of shape (n_literals, n_shown)
        Weight of each shown column in each literal, per standard deviation of the column.
    splits : list of str
        The tree split that each literal grew from.
    split_features : ndarray of shape (n_literals,), int
        The place of each split's column in `network_.features`, or -1 if the network does not
        use this column.
    angles, biases : ndarray of shape (n_literals,)
        The angle in degrees by which training turned each literal, and the literal's bias.
    mixing : ndarray of shape (n_literals, n_literals) or None
        Weights of the second layer; None if the rule is not deep.
    shifts : ndarray of shape (n_literals,) or None
        Biases of the second layer; None if the rule is not deep.
    values : ndarray of shape (n_outputs,)
        The rule's value for each output.
    outputs : list of str
        The name of each output.

    Attributes
    ----------
    edges_ : list of Edge
        The lines that stand for weights. A weight of zero has no line.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import RuleDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = RuleDisplay.from_estimator(model, rule=1)
    >>> display.columns
    ['petal length (cm)']
    >>> display = display.plot(ax=display.ax_)  # again, on other axes
    """

    @classmethod
    def from_estimator(
        cls, model: NeuralRuleModel, rule: int = 0, *, max_columns: int = 10, ax: Any = None
    ) -> RuleDisplay:
        """Draw a rule of a fitted model.

        Parameters
        ----------
        model : fitted estimator
        rule : int, default=0
            Number of the rule, as in `rules_table` and `rules_text`.
        max_columns : int, default=10
            Show only the columns with the largest weights.
        ax : Axes, optional
        """
        import_pyplot()
        fitted = fitted_of(model)
        rule = check_position("rule", rule, fitted.network.n_rules, "rules of this model")
        check_whole("max_columns", max_columns, 1, 10)
        return cls(**vars(rule_diagram(fitted, rule, max_columns))).plot(ax=ax)

    def plot(self, ax: Any = None) -> RuleDisplay:
        """Draw the network from left to right.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure as large as the diagram needs.

        Returns
        -------
        self
        """
        pyplot = import_pyplot()
        drawing = Drawing(self)
        width, height, scale = drawing.width, drawing.height, 1.0
        if ax is None:
            figure = pyplot.figure(figsize=(width / 72, height / 72 + 0.4))
            ax = figure.add_axes((0, 0, 1, height / 72 / (height / 72 + 0.4)))
        else:
            box = ax.get_window_extent()
            points = np.array([box.width, box.height]) * 72 / ax.figure.dpi
            scale = float(min(points / [width, height]))
            # Both directions have the same scale, so that circles stay circles. The room that
            # is left becomes a margin on both sides.
            drawing.margin = (points / scale - [width, height]) / 2
        self.edges_: list[Edge] = drawing.draw(ax, scale)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class Edge(NamedTuple):
    """A line of the diagram that stands for a weight."""

    layer: str  # that the line leads to: "literals", "second layer" or "values"
    # Place of the column in `network_.features`, or of the literal in the rule; 0 for the
    # minimum.
    source: int
    target: int  # place of the literal, of the unit of the second layer, or of the output
    weight: float
    # Whether the line comes from the tree. It then leads from the column of the tree split to
    # its literal, or from a literal to the unit of the second layer with its number.
    original: bool
    line: Any  # Line2D


class Drawing:
    """The texts of a diagram, and the position of each part in points from the lower left."""

    def __init__(self, display: RuleDiagram) -> None:
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        def widest(texts: list[str], weight: str = "normal", size: float = FONT) -> float:
            font = FontProperties(size=size, weight=weight)
            measured = (
                text_to_path.get_text_width_height_descent(text, font, False) for text in texts
            )
            # A screen's hinting makes text a little wider.
            return max((1.06 * width for width, *_ in measured), default=0.0)

        self.display = display
        self.margin = np.zeros(2)  # free room on the left and right, and above and below
        self.inputs = list(display.columns)
        if display.n_hidden:
            plural = "s" if display.n_hidden > 1 else ""
            self.inputs.append(f"+ {display.n_hidden} more column{plural}")
        splits = [f"{letter(j)}   {split}" for j, split in enumerate(display.splits)]
        notes = [literal_note(display, j) for j in range(len(splits))]
        self.literals = list(zip(splits, notes, strict=True))
        order = np.argsort(-np.abs(display.values), kind="stable")[:MAX_VALUES]
        self.outputs = np.sort(order)
        self.values = [
            f"{signed(display.values[k])}  {display.outputs[k]}" for k in self.outputs
        ]
        if len(display.values) > MAX_VALUES:
            self.values.append(f"+ {len(display.values) - MAX_VALUES} more outputs")
        shifts = display.shifts if display.shifts is not None else np.empty(0)
        self.units = [f"bias {signed(shift, 2)}" for shift in shifts]

        heading = widest(["column"], size=FONT - 1)
        self.x_input = PAD + max(widest(self.inputs), heading)
        x = self.x_input + (PAD + FAN)
        wide = max(widest(splits, "bold"), widest(notes, size=FONT - 1)) + 2 * PAD
        self.x_literals = self.x_units = (x, x + wide)
        if self.units:
            x = self.x_literals[1] + MIXING_FAN
            self.x_units = (x, x + max(widest(self.units), heading) + 2 * PAD)
        self.x_min = self.x_units[1] + FUNNEL + RADIUS
        self.x_value = self.x_min + RADIUS + EXIT
        self.width = max(self.x_value + widest(self.values, "bold") + 2 * PAD, 430.0)
        inner = max(
            ROW * len(self.inputs),
            PITCH * len(splits),
            ROW * len(self.values),
            2 * RADIUS + ROW,
        )
        self.height = inner + TOP + BOTTOM
        self.middle, self.y_heading = BOTTOM + inner / 2, self.height - TOP / 2
        self.y_input = heights(len(self.inputs), ROW, self.middle)
        self.y_literals = heights(len(splits), PITCH, self.middle)
        self.y_values = heights(len(self.values), ROW, self.middle)

    def draw(self, ax: Any, scale: float) -> list[Edge]:
        """Draw everything from left to right, and return the lines that stand for weights.

        `scale` is the number of points drawn per point planned.
        """
        from matplotlib.patches import Circle

        self.ax, self.scale = ax, scale
        across, up = self.margin
        ax.set_xlim(-across, self.width + across)
        ax.set_ylim(-up, self.height + up)
        ax.axis("off")
        edges = self._edges()
        for place, (y, text) in enumerate(zip(self.y_input, self.inputs, strict=True)):
            shown = place < len(self.display.columns)
            self._write(self.x_input, y, text, ha="right", color="black" if shown else GREY)
            if shown:
                looks = {"color": GREY, "markersize": 4 * scale, "zorder": 3, "gid": "column"}
                ax.plot([self.x_input + PAD], [y], "o", **looks)
        for y, (split, note) in zip(self.y_literals, self.literals, strict=True):
            self._box(*self.x_literals, y, BOX)
            x = self.x_literals[0] + PAD
            self._write(x, y + 6.5, split, weight="bold")
            self._write(x, y - 7.5, note, size=FONT - 1, color="#404040")
        for y, text in zip(self.y_literals, self.units, strict=False):
            self._box(*self.x_units, y, 22)
            self._write(sum(self.x_units) / 2, y, text, ha="center")
        ax.add_patch(Circle((self.x_min, self.middle), RADIUS, zorder=3, **self._outline()))
        self._write(self.x_min, self.middle, "min", ha="center")
        for y, text in zip(self.y_values, self.values, strict=True):
            self._write(self.x_value + PAD, y, text)
        for x, text, ha in (
            (self.x_input, "column", "right"),
            (sum(self.x_literals) / 2, "literal: its tree split", "center"),
            (sum(self.x_units) / 2, "second layer" if self.units else "", "center"),
            (self.x_value + PAD, "value", "left"),
        ):
            self._write(x, self.y_heading, text, FONT - 1, ha, color=GREY, style="italic")
        self._legend()
        deep = ", a deep rule," if self.units else ""
        ax.set_title(
            f"Rule {self.display.rule}{deep} as a network",
            fontsize=(FONT + 2.5) * scale,
            y=(self.height + up) / (self.height + 2 * up),
        )
        return edges

    def _edges(self) -> list[Edge]:
        """Draw a line for each weight, and the lines into the minimum.

        The lines that come from the tree are drawn last, above the other lines of weights.
        """
        from matplotlib.patches import ConnectionPatch

        display, left, right = self.display, *self.x_literals
        found: list[tuple[Edge, float, Any, Any]] = []
        for j, k in zip(*np.nonzero(display.weights), strict=True):
            feature, weight = int(display.features[k]), float(display.weights[j, k])
            original = bool(feature == display.split_features[j])
            edge = Edge("literals", feature, int(j), weight, original, None)
            ends = (self.x_input + PAD, self.y_input[k]), (left, self.y_literals[j])
            found.append((edge, abs(weight) / largest(display.weights), *ends))
        mixing = np.empty((0, 0)) if display.mixing is None else display.mixing
        for j, k in zip(*np.nonzero(mixing), strict=True):
            weight = float(mixing[j, k])
            edge = Edge("second layer", int(k), int(j), weight, bool(j == k), None)
            ends = (right, self.y_literals[k]), (self.x_units[0], self.y_literals[j])
            found.append((edge, abs(weight) / largest(mixing), *ends))
        for k, y in zip(self.outputs, self.y_values, strict=False):
            if weight := float(display.values[k]):
                edge = Edge("values", 0, int(k), weight, False, None)
                ends = (self.x_min + RADIUS, self.middle), (self.x_value, y)
                found.append((edge, abs(weight) / largest(display.values), *ends))
        found.sort(key=lambda item: (item[0].original, item[1]))
        edges = [edge._replace(line=self._line(edge, *where)) for edge, *where in found]
        looks: dict[str, Any] = {"color": "black", "linewidth": self.scale, "zorder": 1.9}
        for y in self.y_literals:
            start, end = (self.x_units[1], y), (self.x_min, self.middle)
            self.ax.add_patch(ConnectionPatch(start, end, "data", "data", **looks))
        return edges

    def _line(self, edge: Edge, share: float, start: Any, end: Any) -> Any:
        """Draw a line. Its width shows `share`: its weight over the largest in its layer."""
        dark = edge.original or edge.layer == "values"
        (line,) = self.ax.plot(
            *zip(start, end, strict=True),
            color=BLUE if dark else LIGHT,
            linewidth=(THINNEST + (WIDEST - THINNEST) * share) * self.scale,
            linestyle="-" if edge.weight > 0 else DASHES,
            marker="o" if edge.original else None,
            markevery=[1],
            markersize=7 * self.scale,
            markeredgecolor="white",
            markeredgewidth=0.8 * self.scale,
            solid_capstyle="butt",
            dash_capstyle="butt",
            zorder=2.2 if dark else 2,
        )
        return line

    def _outline(self) -> dict[str, Any]:
        width = 1.1 * self.scale
        return {"facecolor": "white", "edgecolor": "black", "linewidth": width}

    def _box(self, left: float, right: float, y: float, height: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        corner, round_corners = (left, y - height / 2), "round,pad=0,rounding_size=4"
        looks = self._outline() | {"boxstyle": round_corners, "zorder": 2.1}
        self.ax.add_patch(FancyBboxPatch(corner, right - left, height, **looks))

    def _write(
        self, x: float, y: float, text: str, size: float = FONT, ha: str = "left", **looks: Any
    ) -> None:
        looks |= {"fontsize": size * self.scale, "ha": ha, "va": "center", "zorder": 4}
        self.ax.text(x, y, literally(text), **looks)

    def _legend(self) -> None:
        from matplotlib.lines import Line2D

        size = number(largest(self.display.weights), 3)
        thin: dict[str, Any] = {"color": LIGHT, "linewidth": 2 * self.scale}
        dot = {"marker": "o", "markersize": 6 * self.scale, "markeredgecolor": "white"}
        origin = "same column, same literal" if self.units else "the column of the split"
        wide = f"as wide as this: {size} per standard deviation"
        looks: list[dict[str, Any]] = [
            {**thin, "label": "positive weight"},
            {**thin, "label": "negative weight", "linestyle": DASHES},
            {**thin, **dot, "color": BLUE, "label": f"from the tree: {origin}"},
            {"color": LIGHT, "linewidth": WIDEST * self.scale, "label": wide},
        ]
        self.ax.legend(
            handles=[Line2D([], [], **look) for look in looks],
            loc="lower center",
            ncols=2,
            frameon=False,
            fontsize=(FONT - 1) * self.scale,
            borderaxespad=0.3,
            bbox_to_anchor=(self.width / 2, 0),
            bbox_transform=self.ax.transData,
        )


def literal_note(display: RuleDiagram, j: int) -> str:
    """The text below a split: how far training turned the literal, and the literal's bias."""
    bias = signed(display.biases[j], 2)
    if np.isnan(display.angles[j]):
        always = display.splits[j] == "every row"
        return f"bias {bias}" if always else f"looks at no column now, constantly {bias}"
    return f"turned {number(float(np.round(display.angles[j], 1)), 3)}°, bias {bias}"


def heights(n: int, pitch: float, middle: float) -> np.ndarray:
    """Vertical positions of `n` things from the top down, centred on `middle`."""
    return middle + pitch * ((n - 1) / 2 - np.arange(n))


def largest(array: np.ndarray) -> float:
    """The largest absolute value of some weights, or 1 if all are zero."""
    return float(np.abs(array).max(initial=0)) or 1.0
