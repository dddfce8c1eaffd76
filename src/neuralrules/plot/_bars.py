"""Displays made of bars: importances, and how the rules add up for one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from neuralrules._charts._rules import (
    ImportanceBars,
    Waterfall,
    importance_bars,
    waterfall,
)
from neuralrules._charts._texts import (
    LABEL_LENGTH,
    short_label,
    shortened,
    signed,
    with_short_names,
)
from neuralrules._estimators._base import NeuralRuleModel, checked_table
from neuralrules._io._checks import check_position, check_whole
from neuralrules._reading._explain import Explanation
from neuralrules._reading._importance import Importances
from neuralrules._reading._text import rule_text
from neuralrules.plot._drawing import (
    BLUE,
    GREY,
    ORANGE,
    SKY,
    axes_to_draw_on,
    check_kind,
    check_output,
    import_pyplot,
    literally,
)

MEASURES = {
    "rules": "mean absolute contribution",
    "columns": "change with borrowed cells, relative to the variance",
    "pairs": "change that needs both, relative to the variance",
}
HEIGHT = 0.3  # of a horizontal bar with its gap, in inches


class ImportanceDisplay(ImportanceBars):
    """How important rules, columns or pairs of columns are, with 90 % intervals.

    Parameters
    ----------
    kind : {"rules", "columns", "pairs"}
    names : list
        Rule numbers, column names or pairs of column names, the most important first.
    labels : list of str
        The text beside each bar.
    values, low, high : ndarray of shape (n,)
        The importances and the ends of their intervals.

    Attributes
    ----------
    bars_ : BarContainer
        The bars that are drawn, the most important on top.
    intervals_ : LineCollection
        The lines from `low` to `high`.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import ImportanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model, X, kind="columns")
    >>> display = ImportanceDisplay.from_importances(model.importances(X), max_bars=2)
    >>> len(display.bars_)
    2
    >>> display = display.plot(ax=display.ax_)  # again, on other axes
    """

    @classmethod
    def from_estimator(
        cls,
        model: NeuralRuleModel,
        X: Any,
        *,
        kind: str = "columns",
        n_resamples: int = 100,
        max_rows: int | None = 2000,
        random_state: Any = None,
        max_bars: int = 15,
        ax: Any = None,
    ) -> ImportanceDisplay:
        """Measure importances on some rows and draw them.

        Parameters
        ----------
        model : fitted estimator
        X : array-like or frame of shape (n_rows, n_columns)
        kind : {"rules", "columns", "pairs"}, default="columns"
        n_resamples, max_rows, random_state
            As in `model.importances`.
        max_bars : int, default=15
        ax : Axes, optional
        """
        import_pyplot()
        measured = model.importances(
            X, kind=kind, n_resamples=n_resamples, max_rows=max_rows, random_state=random_state
        )
        return cls.from_importances(measured, model=model, max_bars=max_bars, ax=ax)

    @classmethod
    def from_importances(
        cls,
        importances: Importances,
        *,
        model: NeuralRuleModel | None = None,
        max_bars: int = 15,
        ax: Any = None,
    ) -> ImportanceDisplay:
        """Draw importances that `model.importances` returned.

        Parameters
        ----------
        importances : Importances
        model : fitted estimator, optional
            Rules are labelled with their numbers. If the model is given, the label also has
            the text of the rule.
        max_bars : int, default=15
        ax : Axes, optional
        """
        check_kind("importances", importances, Importances, "model.importances(X)")
        label = bar_label(importances.kind, model)
        return cls(**vars(importance_bars(importances, label))).plot(ax=ax, max_bars=max_bars)

    def plot(self, ax: Any = None, *, max_bars: int = 15) -> ImportanceDisplay:
        """Draw horizontal bars, the largest on top.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        max_bars : int, default=15

        Returns
        -------
        self
        """
        n = min(check_whole("max_bars", max_bars, 1, 15), len(self.values))
        width = 7.0 if self.kind == "columns" else 8.6  # sentences need more room
        ax = axes_to_draw_on(ax, (width, 1.3 + HEIGHT * max(n, 3)))
        places = np.arange(n)
        self.bars_ = ax.barh(places, self.values[:n], height=0.68, color=SKY)
        low, high = self.low[:n], self.high[:n]
        self.intervals_ = ax.hlines(places, low, high, color="black", linewidth=1.3)
        for ends in (low, high):
            ax.plot(ends, places, "|", color="black", markersize=6, markeredgewidth=1.3)
        ax.set_yticks(places, list(map(literally, self.labels[:n])))
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(max(n, 3) - 0.4, -0.6)
        ax.set_xlim(left=0)
        ax.set_xlabel(f"{MEASURES[self.kind]}\n(line: 90 % interval)")
        total = len(self.values)
        things = "pairs of columns" if self.kind == "pairs" else self.kind
        most = f"The {n} most important of {total} {things}"
        ax.set_title(most if n < total else f"Importance of {things}")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def bar_label(kind: str, model: NeuralRuleModel | None) -> Callable[[Any], str]:
    """A function that turns the name of a rule, column or pair into the text beside its bar."""
    if kind == "columns":
        return short_label
    if kind == "pairs":
        return lambda pair: " × ".join(short_label(name, 24) for name in pair)
    if model is None:
        return lambda rule: f"rule {rule}"
    twin = with_short_names(model.fitted_)
    return lambda rule: shortened(f"rule {rule}: {rule_text(twin, rule, 3, 1)}", LABEL_LENGTH)


class WaterfallDisplay(Waterfall):
    """How the rules add up to the decision about one row.

    Parameters
    ----------
    row : int
        Number of the row, for the title.
    output : str
        Name of the output that the decision is about.
    intercept, decision : float
        The start and the end of the sum.
    rules : ndarray of shape (n_active,), int
        The rules that fire on the row, the largest absolute contribution first.
    contributions : ndarray of shape (n_active,)
        What each of these rules adds to the output.
    limits : list of str
        The inequality that limits each of these rules, in the user's units.

    Attributes
    ----------
    bars_ : BarContainer
        One bar for each rule shown and one bar for the sum of the other rules. Each bar
        starts at the end of the bar above it, and the last bar ends at the decision.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import WaterfallDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = WaterfallDisplay.from_estimator(model, X, row=100)
    >>> display = WaterfallDisplay.from_explanation(model.explain(X[100:101]), max_rules=3)
    >>> len(display.bars_)
    4
    >>> display = display.plot(ax=display.ax_)  # again, on other axes
    """

    @classmethod
    def from_estimator(
        cls,
        model: NeuralRuleModel,
        X: Any,
        *,
        row: int = 0,
        output: Any = None,
        max_rules: int = 10,
        ax: Any = None,
    ) -> WaterfallDisplay:
        """Explain one row of a table and draw it.

        Parameters
        ----------
        model : fitted estimator
        X : array-like or frame of shape (n_rows, n_columns)
        row : int, default=0
            Which row, counted from 0.
        output : class label or int, optional
            If there are several classes, the class whose score is shown, by default the
            predicted class. If there are several targets, the number of the target, by
            default 0.
        max_rules : int, default=10
            Number of rules that have a bar of their own.
        ax : Axes, optional
        """
        import_pyplot()
        X = checked_table(model, X)
        row = check_position("row", row, X.shape[0], "rows of X")
        explanation = model.explain(_safe_indexing(X, [row]))
        return cls._of(explanation, 0, row, output).plot(ax=ax, max_rules=max_rules)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        row: int = 0,
        output: Any = None,
        max_rules: int = 10,
        ax: Any = None,
    ) -> WaterfallDisplay:
        """Draw one row of an explanation that `model.explain` returned.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=0
            Which row of the explanation, counted from 0.
        output : class label or int, optional
            As in `from_estimator`.
        max_rules : int, default=10
            Number of rules that have a bar of their own.
        ax : Axes, optional
        """
        check_kind("explanation", explanation, Explanation, "model.explain(X)")
        row = check_position("row", row, explanation.n_rows, "rows of this explanation")
        return cls._of(explanation, row, row, output).plot(ax=ax, max_rules=max_rules)

    @classmethod
    def _of(cls, explanation: Explanation, place: int, row: int, output: Any) -> Self:
        """The display of the row at a place of an explanation, with its number in the table."""
        decision = explanation.decision[place]
        usual = int(decision.argmax()) if explanation._fitted.task.are_classes else 0
        shown = check_output(explanation.outputs, output, usual)
        return cls(**vars(waterfall(explanation, place, row, shown)))

    def plot(self, ax: Any = None, *, max_rules: int = 10) -> WaterfallDisplay:
        """Draw the sum from the intercept at the top to the decision at the bottom.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        max_rules : int, default=10
            Number of rules that have a bar of their own. One more bar shows the sum of the
            other rules.

        Returns
        -------
        self
        """
        check_whole("max_rules", max_rules, 1, 10)
        steps, labels = self._steps(max_rules)
        edges = self.intercept + np.concatenate([[0.0], np.cumsum(steps)])
        n = len(steps)
        ax = axes_to_draw_on(ax, (7.5, 1.5 + HEIGHT * (n + 2)))
        places = np.arange(1, n + 1)
        self.bars_ = ax.barh(
            places,
            steps,
            left=edges[:-1],
            height=0.68,
            color=[SKY if step >= 0 else "white" for step in steps],
            edgecolor=[BLUE if step >= 0 else ORANGE for step in steps],
            hatch=["" if step >= 0 else "////" for step in steps],
        )
        # Lines from the end of each bar to the start of the next one.
        ax.vlines(edges, np.arange(n + 1), np.arange(1, n + 2), color=GREY, linewidth=0.8)
        ax.plot([self.intercept], [0], "|", color="black", markersize=13, markeredgewidth=2)
        ax.plot([self.decision], [n + 1], "D", color="black", markersize=6)
        for place, step, end in zip(places.tolist(), steps, edges[1:], strict=True):
            write_beside(ax, signed(step), end, place, right=step >= 0)
        decision = signed(self.decision, 4, plus="")
        write_beside(ax, signed(self.intercept, 4, plus=""), self.intercept, 0)
        write_beside(ax, decision, self.decision, n + 1, fontweight="bold")
        ax.set_yticks(np.arange(n + 2), ["start", *map(literally, labels), "decision"])
        ax.get_yticklabels()[-1].set_fontweight("bold")
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(n + 1.6, -0.6)
        room = 0.22 * (np.ptp(edges) or 1)  # for the numbers beside the bars
        ax.set_xlim(edges.min() - room, edges.max() + room)
        ax.set_xlabel(literally(self._label))
        fires = f"{len(self.rules)} rule{'s fire' if len(self.rules) != 1 else ' fires'}"
        ax.set_title(f"Row {self.row}: {fires}, decision {decision}")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def write_beside(
    ax: Any, text: str, x: float, y: float, *, right: bool = True, **looks: Any
) -> None:
    """Write a number beside the end of a bar."""
    ax.annotate(
        text,
        (x, y),
        xytext=(6 if right else -6, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        **looks,
    )
