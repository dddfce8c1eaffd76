"""Displays made of curves: losses, error against size, and shapes of one or two columns."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from neuralrules._charts._chart import odds_axis
from neuralrules._charts._performance import SizeErrors, size_axis, size_errors
from neuralrules._charts._shapes import View, cell_axis, edges_around, shape_chart
from neuralrules._charts._texts import short_label, short_name
from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import NeuralRuleModel, fitted_of
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._outcomes import Outcome, outcome_of_class, rare_class
from neuralrules._reading._shapes import PairShape, Shape
from neuralrules._simplify._path import SimplificationPath
from neuralrules.plot._drawing import (
    BLUE,
    LIGHT,
    ORANGE,
    SKY,
    axes_to_draw_on,
    check_kind,
    check_output,
    import_pyplot,
    legend_below,
    literally,
    show_axis,
)

ROOM = 0.22  # share of the height below the line of a shape that is left for the bars of rows
PALE = 0.35  # opacity of the cells of a map that hold no rows
EFFECTS = ("outputs", "interaction")


class HistoryDisplay:
    """The loss of each epoch, on the training rows and on rows held out for early stopping.

    Parameters
    ----------
    loss : array-like of shape (n_epochs,)
    validation_loss : array-like of shape (n_epochs,), optional

    Attributes
    ----------
    lines_ : list of Line2D
        The line of the loss and, if there is a validation loss, its line.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import HistoryDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = HistoryDisplay.from_estimator(model)
    >>> len(display.lines_[0].get_xdata())
    5
    >>> display = display.plot(ax=display.ax_)  # again, on other axes
    """

    def __init__(self, *, loss: Any, validation_loss: Any = None) -> None:
        self.loss = np.asarray(loss, float)
        held_out = None if validation_loss is None else np.asarray(validation_loss, float)
        self.validation_loss = held_out

    @classmethod
    def from_estimator(cls, model: NeuralRuleModel, *, ax: Any = None) -> HistoryDisplay:
        """Draw `model.history_`, the losses of the last call of `fit`.

        Parameters
        ----------
        model : fitted estimator
        ax : Axes, optional
        """
        history = fitted_of(model).history
        held_out = history.get("validation_loss")
        return cls(loss=history["loss"], validation_loss=held_out).plot(ax=ax)

    def plot(self, ax: Any = None) -> HistoryDisplay:
        """Draw the losses. A dot marks the epoch that early stopping kept.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax, (6, 3.8))
        epochs = np.arange(1, len(self.loss) + 1)
        looks: dict[str, Any] = {"linewidth": 1.8, "marker": "." if len(epochs) < 3 else None}
        self.lines_ = ax.plot(epochs, self.loss, color=BLUE, label="training rows", **looks)
        held_out = self.validation_loss
        if held_out is not None:
            looks |= {"color": ORANGE, "linestyle": "--", "label": "rows held out"}
            self.lines_ += ax.plot(epochs, held_out, **looks)
            if len(epochs):
                best = int(np.argmin(held_out))
                dot = {"color": "black", "zorder": 3, "label": f"kept: epoch {epochs[best]}"}
                ax.plot(epochs[best], held_out[best], "o", **dot)
            ax.legend(frameon=False)
        if not len(epochs):
            ax.text(0.5, 0.5, "no epoch was trained", transform=ax.transAxes, ha="center")
        ax.set_title("Loss during training")
        ax.set_xlabel("epoch")
        ax.set_ylabel("mean loss")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SizeDisplay(SizeErrors):
    """Error against size along a simplification path.

    Parameters
    ----------
    n_parameters, n_rules : ndarray of shape (n_steps,), int
        Size of the model of each step.
    error, error_se : ndarray of shape (n_steps,)
        Error of each model on rows that the models have not seen, and its standard error.
    knee : int
        The smallest step whose error is within one standard error of the lowest.
    chosen : int or None
        The step that the tolerance picks; None without a tolerance.
    tolerance : float or None
    measure : str
        Name of the error, for the label of the axis.

    Attributes
    ----------
    line_ : Line2D
    band_ : FillBetweenPolyCollection
        One standard error above and below the line.
    marks_ : dict of str to Line2D
        The marks of two steps: "knee" and, with a tolerance, "chosen".
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import SizeDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = SizeDisplay.from_estimator(model, X, y, X_val=X, y_val=y)
    >>> path = model.simplification_path(X, y, X_val=X, y_val=y)
    >>> display = SizeDisplay.from_path(path, tolerance=0.05)
    >>> sorted(display.marks_)
    ['chosen', 'knee']
    >>> display = display.plot(ax=display.ax_)  # again, on other axes
    """

    @classmethod
    def from_estimator(
        cls,
        model: NeuralRuleModel,
        X: Any,
        y: Any,
        *,
        tolerance: float | None = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        ax: Any = None,
    ) -> SizeDisplay:
        """Compute the simplification path of a model and draw it. This trains many models.

        Parameters
        ----------
        model : fitted estimator
        X, y, sample_weight, X_val, y_val
            As in `model.simplification_path`.
        tolerance : float, optional
            Mark the step that `model.simplify` would choose.
        ax : Axes, optional
        """
        import_pyplot()
        check_tolerance(tolerance)
        path = model.simplification_path(
            X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val
        )
        return cls.from_path(path, tolerance=tolerance, ax=ax)

    @classmethod
    def from_path(
        cls, path: SimplificationPath, *, tolerance: float | None = None, ax: Any = None
    ) -> SizeDisplay:
        """Draw a path that `model.simplification_path` returned.

        Parameters
        ----------
        path : SimplificationPath
        tolerance : float, optional
            Mark the step that `model.simplify` would choose.
        ax : Axes, optional
        """
        check_kind("path", path, SimplificationPath, "model.simplification_path(X, y)")
        check_tolerance(tolerance)
        return cls(**vars(size_errors(path, tolerance))).plot(ax=ax)

    def plot(self, ax: Any = None) -> SizeDisplay:
        """Draw the error against the number of parameters, on a logarithmic axis.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax, (6.8, 4.4))
        ends = self.error - self.error_se, self.error + self.error_se
        pale = {"color": SKY, "alpha": 0.35, "linewidth": 0, "label": "± 1 standard error"}
        self.band_ = ax.fill_between(self.n_parameters, *ends, **pale)
        dots = {"marker": "o", "markersize": 4, "label": "error"}
        (self.line_,) = ax.plot(self.n_parameters, self.error, color=BLUE, **dots)
        self.marks_ = {"knee": self._mark(ax, self.knee, "D", 10, "knee")}
        if self.chosen is not None:
            name = f"tolerance {self.tolerance:g}"
            self.marks_["chosen"] = self._mark(ax, self.chosen, "s", 14, name)
        show_axis(ax, size_axis(self))
        ax.set_ylim(bottom=0)
        ax.set_ylabel(f"{self.measure},\nrows not seen in training")
        ax.set_title("Error against size of the simplified models")
        legend_below(ax, ax.get_legend_handles_labels()[0], 2)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any, step: int, marker: str, size: int, name: str) -> Any:
        n, rules = self.n_parameters[step], self.n_rules[step]
        (mark,) = ax.plot(
            n,
            self.error[step],
            marker,
            markersize=size,
            markerfacecolor="none",
            markeredgecolor="black",
            markeredgewidth=1.6,
            label=f"{name}: {n} parameters, {rules} rule{'s' if rules > 1 else ''}",
        )
        return mark


def check_tolerance(tolerance: Any) -> None:
    number = isinstance(tolerance, Real) and not isinstance(tolerance, bool)
    if tolerance is not None and not (number and float(tolerance) >= 0):
        raise ValueError(
            f"tolerance={tolerance!r} must be a number of at least 0, the share of its gain "
            "over a constant that a model may give up, or None to mark no step. For example "
            "tolerance=0.02."
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ShapeDisplay:
    """The mean output of a model: a line over one column, or a map over a pair of columns.

    Parameters
    ----------
    shape : Shape or PairShape
        A shape that `model.shapes` returned.
    output : int
        Place of the output that is drawn.
    sign : {1, -1}
        Factor of the output. With -1, the log odds of the first of two classes are drawn.
    measure : str
        Name of the output, for the label of the axis.
    odds : bool
        Whether the output is log odds. If so, a second axis shows probabilities.

    Attributes
    ----------
    line_ : Line2D or None
        The mean output; None for a pair.
    band_ : FillBetweenPolyCollection, LineCollection or None
        The range of the middle 80 % of the rows; None for a pair.
    rows_ : BarContainer or None
        Bars below the line that show where the rows are; None for a pair.
    mesh_ : QuadMesh or None
        The map of a pair; None for one column.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import ShapeDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = ShapeDisplay.from_estimator(model, X, "petal width (cm)", output=2)
    >>> shape = model.shapes(X)[0]
    >>> display = ShapeDisplay.from_shape(shape, model=model)
    >>> display = display.plot(ax=display.ax_)  # again, on other axes
    """

    shape: Shape | PairShape
    output: int = 0
    sign: float = 1
    measure: str = "output"
    odds: bool = False

    @classmethod
    def from_estimator(
        cls,
        model: Answers,
        X: Any,
        column: Any,
        *,
        output: Any = None,
        effect: str = "outputs",
        n_values: int = 50,
        max_rows: int | None = 2000,
        sample_weight: Any = None,
        random_state: Any = None,
        ax: Any = None,
    ) -> ShapeDisplay:
        """Compute the shape of a column, or of a pair of columns, and draw it.

        Parameters
        ----------
        model : fitted estimator
        X : array-like or frame of shape (n_rows, n_columns)
        column : column, or pair of columns
            For example ``"age"`` or ``("age", "income")``.
        output : object, optional
            A class label, or the number of a target. By default the rarest class in training,
            or the first target.
        effect : {"outputs", "interaction"}, default="outputs"
            For a pair: the mean output, or only the effect of both columns together.
        n_values, max_rows, sample_weight, random_state
            As in `model.shapes`.
        ax : Axes, optional
        """
        import_pyplot()
        fitted_of(model)
        pair = isinstance(column, tuple | list)
        (shape,) = model.shapes(
            X,
            [tuple(column) if pair else column],
            n_values=n_values,
            max_rows=max_rows,
            sample_weight=sample_weight,
            random_state=random_state,
        )
        return cls.from_shape(shape, model=model, output=output, effect=effect, ax=ax)

    @classmethod
    def from_shape(
        cls,
        shape: Shape | PairShape,
        *,
        model: NeuralRuleModel,
        output: Any = None,
        effect: str = "outputs",
        ax: Any = None,
    ) -> ShapeDisplay:
        """Draw one of the shapes that `model.shapes` returned.

        Parameters
        ----------
        shape : Shape or PairShape
        model : fitted estimator
            The model that the shape was computed with.
        output : object, optional
            As in `from_estimator`.
        effect : {"outputs", "interaction"}, default="outputs"
            For a pair: the mean output, or only the effect of both columns together.
        ax : Axes, optional
        """
        if not isinstance(shape, PairShape):
            check_kind("shape", shape, Shape, "model.shapes(X)[0]")
        outcome = drawn_outcome(fitted_of(model), output)
        display = cls(
            shape=shape,
            output=0 if outcome.task.n_outputs == 1 else outcome.place,
            sign=outcome.sign,
            measure=short_name(outcome.what.removeprefix("the "), 36),
            odds=outcome.is_odds,
        )
        return display.plot(ax=ax, effect=effect)

    def plot(self, ax: Any = None, *, effect: str = "outputs") -> ShapeDisplay:
        """Draw the line, its band and the bars of rows below it, or the map of a pair.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        effect : {"outputs", "interaction"}, default="outputs"
            For a pair only.

        Returns
        -------
        self
        """
        if not isinstance(effect, str) or effect not in EFFECTS:
            raise ValueError(f"effect={effect!r} must be 'outputs' or 'interaction'.")
        self.line_ = self.band_ = self.rows_ = self.mesh_ = None
        if isinstance(self.shape, PairShape):
            ax = axes_to_draw_on(ax, (6.4, 4.6))
            self._draw_map(ax, self.shape, effect)
        elif effect == "outputs":
            ax = axes_to_draw_on(ax, (6.4, 4.2))
            self._draw_line(ax, self.shape)
        else:
            raise ValueError(
                f"effect={effect!r} needs a pair of columns, and this is the shape of one. "
                "Give two columns, or effect='outputs'."
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_line(self, ax: Any, shape: Shape) -> None:
        unit = "odds" if self.odds else "number"
        view = View(self.measure, [self.measure], self.output, self.sign, unit)
        chart = shape_chart(shape, view)
        reached: list[float] = []
        for line in chart.lines:
            assert line.low is not None  # one output has a band
            assert line.high is not None
            if line.joined:
                (drawn,) = ax.plot(line.x, line.y, color=BLUE, linewidth=1.8)
                looks = {"color": SKY, "alpha": 0.35, "linewidth": 0}
                band = ax.fill_between(line.x, line.low, line.high, **looks)
            else:
                (drawn,) = ax.plot(line.x, line.y, "o", color=BLUE, markersize=6, zorder=3)
                band = ax.vlines(line.x, line.low, line.high, color=SKY, linewidth=7, alpha=0.6)
            if self.line_ is None:  # a second line is the point of the missing values
                self.line_, self.band_ = drawn, band
            reached += [*line.low, *line.high]
        bottom, top = min(reached), max(reached)
        height = (top - bottom) or max(abs(top), 1.0)
        ax.set_ylim(bottom - (0.06 + ROOM) * height, top + 0.08 * height)
        assert chart.rows is not None
        start, end = ax.get_ylim()
        heights = chart.rows.shares * 0.8 * ROOM * (end - start)
        heights /= chart.rows.shares.max(initial=0) or 1
        looks = {"color": LIGHT, "alpha": 0.5, "zorder": 0, "align": "edge"}
        self.rows_ = ax.bar(chart.rows.lefts, heights, chart.rows.widths, start, **looks)
        show_axis(ax, chart.x)
        low, high = chart.x.ends
        ax.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        if shape._levels.names is not None and len(chart.x.ticks) > 4:
            turned = 90 if len(chart.x.ticks) > 6 else 0
            ax.tick_params(axis="x", labelrotation=turned, labelsize="small")
        if chart.missing is not None:
            ax.set_xticks([*chart.x.ticks, chart.missing], [*chart.x.texts, "missing"])
        ax.set_ylabel(literally(f"mean {self.measure}"))
        ax.set_title(literally(f"Shape of {short_label(shape.column)}"))
        if self.odds:
            beside = ax.secondary_yaxis("right")
            odds = odds_axis("as a probability", *ax.get_ylim())
            beside.set_yticks(odds.ticks, odds.texts)
            beside.set_ylabel(odds.label)

    def _draw_map(self, ax: Any, pair: PairShape, effect: str) -> None:
        lines = pair.outputs if effect == "outputs" else pair.interaction
        shown = [np.flatnonzero(~np.isnan(levels.numbers)) for levels in pair._levels]
        colours = self.sign * lines[np.ix_(*shown)][:, :, self.output].T
        limit = float(np.abs(colours).max()) or 1.0
        looks: dict[str, Any] = {"cmap": "viridis"}
        if effect == "interaction":
            looks = {"cmap": "PuOr_r", "vmin": -limit, "vmax": limit}
        edges = [edges_around(pair._levels[k].numbers[shown[k]]) for k in (0, 1)]
        seen = pair.shares[np.ix_(*shown)].T > 0
        self.mesh_ = ax.pcolormesh(*edges, colours, alpha=np.where(seen, 1, PALE), **looks)
        bar = ax.figure.colorbar(self.mesh_, ax=ax)
        bar.solids.set_alpha(1)
        what = "mean" if effect == "outputs" else "what only both add to the"
        bar.set_label(literally(f"{what} {self.measure}"))
        x, y = map(cell_axis, pair.columns, pair._levels, edges)
        show_axis(ax, x)
        show_axis(ax, y, vertical=True)
        if len(x.ticks) > 6 and pair._levels[0].names is not None:
            ax.tick_params(axis="x", labelrotation=90)
        if not seen.all():
            ax.set_xlabel(f"{ax.get_xlabel()}\n(pale: no rows there)")
        labels = " and ".join(short_label(name, 20) for name in pair.columns)
        title = "Interaction" if effect == "interaction" else "Shape"
        ax.set_title(literally(f"{title} of {labels}"))


def drawn_outcome(fitted: Fitted, output: Any) -> Outcome:
    """The class or target to draw, by default the rarest class or the first target."""
    task = fitted.task
    if not task.are_classes:
        return Outcome(task, check_output(task.output_names, output, 0))
    return outcome_of_class(task, check_output(task.labels, output, rare_class(fitted)))
