"""What one column, or a pair of columns, does to the output of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from neuralrules._data._dates import date_text
from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import NeuralRuleModel, fitted_of
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._levels import Levels
from neuralrules._reading._outcomes import Outcome, outcome_of_class, rare_class
from neuralrules._reading._shapes import PairShape, Shape, edges_around
from neuralrules.plot._drawing import (
    BLUE,
    LIGHT,
    SKY,
    axes_to_draw_on,
    check_kind,
    check_output,
    import_pyplot,
    literally,
    short_label,
    short_name,
)

ROOM = 0.22  # of the height, left below the line for the rows
PALE = 0.35  # how much of its colour a cell without rows keeps
EFFECTS = ("outputs", "interaction")
ODDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 0.999)


class ShapeDisplay:
    """The shape of a column: the mean output as it moves; or that of a pair, as a map.

    Parameters
    ----------
    shape : Shape or PairShape
        As of `model.shapes`.
    output : int
        Which of the outputs is drawn.
    sign : {1, -1}
        -1 draws the log odds of the first of two classes, the output being of the second.
    measure : str
        What the output is, for the axis.
    odds : bool
        Whether it is log odds, so that an axis of probabilities stands beside it.

    Attributes
    ----------
    line_ : Line2D
        The mean output; None for a pair.
    band_ : FillBetweenPolyCollection, LineCollection or None
        Between which 80 % of the rows lie.
    rows_ : BarContainer or None
        How many rows there are, below the line.
    mesh_ : QuadMesh or None
        The map of a pair.
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
    >>> display = display.plot(ax=display.ax_)  # again, on axes of one's own
    """

    def __init__(
        self,
        *,
        shape: Shape | PairShape,
        output: int = 0,
        sign: float = 1,
        measure: str = "output",
        odds: bool = False,
    ) -> None:
        self.shape = shape
        self.output = output
        self.sign = sign
        self.measure = measure
        self.odds = odds

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
            A class, or the number of a target; by default the rarest class in training, or
            the first target.
        effect : {"outputs", "interaction"}, default="outputs"
            For a pair: the mean output, or what only both columns together do.
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
        """Draw one of the shapes that `model.shapes` has computed.

        Parameters
        ----------
        shape : Shape or PairShape
        model : fitted estimator
            That it was computed with.
        output : object, optional
            As in `from_estimator`.
        effect : {"outputs", "interaction"}, default="outputs"
            For a pair: the mean output, or what only both columns together do.
        ax : Axes, optional
        """
        if not isinstance(shape, PairShape):
            check_kind("shape", shape, Shape, "model.shapes(X)[0]")
        outcome = drawn_outcome(fitted_of(model), output)
        single = outcome.task.n_outputs == 1
        display = cls(
            shape=shape,
            output=0 if single else outcome.place,
            sign=outcome.sign,
            measure=short_name(outcome.what.removeprefix("the "), 36),
            odds=outcome.is_odds,
        )
        return display.plot(ax=ax, effect=effect)

    def plot(self, ax: Any = None, *, effect: str = "outputs") -> ShapeDisplay:
        """Draw the line and its band with the rows below, or the map of a pair.

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
        else:
            if effect != "outputs":
                raise ValueError(
                    f"effect={effect!r} needs a pair of columns, and this is the shape of one. "
                    "Give two columns, or effect='outputs'."
                )
            ax = axes_to_draw_on(ax, (6.4, 4.2))
            self._draw_line(ax, self.shape)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_line(self, ax: Any, shape: Shape) -> None:
        own = shape._levels
        middle, low, high = (
            self.sign * lines[:, self.output]
            for lines in (shape.outputs, shape.low, shape.high)
        )
        places, missing = line_places(shape)
        line = np.flatnonzero(~np.isnan(own.numbers))
        if own.names is not None:
            (self.line_,) = ax.plot(places, middle, "o", color=BLUE, markersize=6, zorder=3)
            self.band_ = ax.vlines(places, low, high, color=SKY, linewidth=7, alpha=0.6)
        else:
            (self.line_,) = ax.plot(places[line], middle[line], color=BLUE, linewidth=1.8)
            self.band_ = ax.fill_between(
                places[line], low[line], high[line], color=SKY, alpha=0.35, linewidth=0
            )
            if missing:
                ax.vlines(places[-1], low[-1], high[-1], color=SKY, linewidth=7, alpha=0.6)
                ax.plot(places[-1], middle[-1], "o", color=BLUE, markersize=6)
        shown = shown_places(shape, places)
        bottom, top = (
            float(end)
            for end in (
                np.min([low, high], axis=0)[shown].min(),
                np.max([low, high], axis=0)[shown].max(),
            )
        )
        height = (top - bottom) or max(abs(top), 1.0)
        ax.set_ylim(bottom - (0.06 + ROOM) * height, top + 0.08 * height)
        self._draw_rows(ax, shape, places, missing)
        self._name_places(ax, own, places, missing)
        ax.set_xlabel(literally(short_label(shape.column)))
        ax.set_ylabel(literally(f"mean {self.measure}"))
        ax.set_title(literally(f"Shape of {short_label(shape.column)}"))
        if self.odds:
            beside = ax.secondary_yaxis("right", functions=(expit, logit))
            ends = expit(np.array(ax.get_ylim()))
            ticks = [odd for odd in ODDS if ends[0] < odd < ends[1]]
            if len(ticks) < 2:
                ticks = [float(f"{end:.2g}") for end in expit(np.array([bottom, top]))]
            beside.set_yticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
            beside.set_ylabel("as a probability")

    def _draw_rows(self, ax: Any, shape: Shape, places: np.ndarray, missing: bool) -> None:
        """Bars along the bottom: where the rows are."""
        if shape._levels.names is not None:
            lefts, widths, shares = places - 0.3, np.full(len(places), 0.6), shape.shares
        else:
            edges, shares = shape.histogram()
            lefts, widths = edges[:-1], np.diff(edges)
            if missing:
                width = 0.03 * (edges[-1] - edges[0])
                lefts = np.append(lefts, places[-1] - width)
                widths, shares = (
                    np.append(widths, 2 * width),
                    np.append(shares, shape.shares[-1]),
                )
        start, end = ax.get_ylim()
        scale = 0.8 * ROOM * (end - start) / (shares.max(initial=0) or 1)
        self.rows_ = ax.bar(
            lefts, shares * scale, widths, start, align="edge", color=LIGHT, alpha=0.5, zorder=0
        )

    def _name_places(self, ax: Any, own: Levels, places: np.ndarray, missing: bool) -> None:
        """Names of categories, dates, and what is missing, below the axis."""
        if own.names is not None:
            texts = [literally(short_name(own.text(i), 18)) for i in range(len(own))]
            many = len(texts) > 6
            ax.set_xticks(
                places,
                texts,
                rotation=90 if many else 0,
                fontsize="small" if len(texts) > 4 else None,
            )
            return
        low, high = self.shape.shown_range()  # type: ignore[union-attr]
        room = 0.02 * (high - low) or 0.5
        ax.set_xlim(
            low - room, (places[-1] if missing else high) + room * (2 if missing else 1)
        )
        if not missing and own.kind == "number":
            return
        ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
        if own.kind == "date":
            ticks = np.linspace(low, high, 4).round().tolist()
        texts = [date_text(t) if own.kind == "date" else f"{t:g}" for t in ticks]
        if missing:
            ticks, texts = [*ticks, places[-1]], [*texts, "missing"]
        ax.set_xticks(ticks, texts)

    def _draw_map(self, ax: Any, pair: PairShape, effect: str) -> None:
        lines = pair.outputs if effect == "outputs" else pair.interaction
        first, second = pair._levels
        shown = [np.flatnonzero(~np.isnan(own.numbers)) for own in pair._levels]
        colours = self.sign * lines[np.ix_(*shown)][:, :, self.output].T
        limit = float(np.abs(colours).max()) or 1.0
        looks: dict[str, Any] = {"cmap": "viridis"}
        if effect == "interaction":
            looks = {"cmap": "PuOr_r", "vmin": -limit, "vmax": limit}
        edges = [
            edges_around(own.numbers[use]) for own, use in zip(pair._levels, shown, strict=True)
        ]
        seen = pair.shares[np.ix_(*shown)].T > 0
        self.mesh_ = ax.pcolormesh(*edges, colours, alpha=np.where(seen, 1, PALE), **looks)
        bar = ax.figure.colorbar(self.mesh_, ax=ax)
        bar.solids.set_alpha(1)
        what = "mean" if effect == "outputs" else "what only both add to the"
        bar.set_label(literally(f"{what} {self.measure}"))
        for own, name, axis in ((first, pair.columns[0], "x"), (second, pair.columns[1], "y")):
            getattr(ax, f"set_{axis}label")(literally(short_label(name)))
            name_cells(ax, own, axis)
        if not seen.all():
            ax.set_xlabel(f"{ax.get_xlabel()}\n(pale: no rows there)")
        labels = " and ".join(short_label(name, 20) for name in pair.columns)
        title = "Interaction" if effect == "interaction" else "Shape"
        ax.set_title(literally(f"{title} of {labels}"))


def drawn_outcome(fitted: Fitted, output: Any) -> Outcome:
    """What is drawn: a class, or a target; by default the rarest class or the first target."""
    task = fitted.task
    if not task.are_classes:
        place = 0 if output is None else check_output(task.output_names, output)
        return Outcome(task, place)
    code = rare_class(fitted) if output is None else check_output(task.labels, output)
    return outcome_of_class(task, code)


def line_places(shape: Shape) -> tuple[np.ndarray, bool]:
    """Where each value stands on the axis, and whether the last one is what is missing."""
    own = shape._levels
    missing = bool(np.isnan(own.numbers[-1]))
    if not missing:
        return own.numbers, False
    low, high = shape.shown_range()
    return np.append(own.numbers[:-1], high + 0.12 * ((high - low) or 1.0)), True


def shown_places(shape: Shape, places: np.ndarray) -> np.ndarray:
    """Values inside of the picture, and the missing one."""
    if shape._levels.names is not None:
        return np.ones(len(places), bool)
    low, high = shape.shown_range()
    inside = (places >= low) & (places <= high)
    return inside | np.isnan(shape._levels.numbers)


def name_cells(ax: Any, own: Levels, axis: str) -> None:
    """Names of categories and dates along an axis of a map."""
    if own.names is not None:
        texts = [literally(short_name(own.text(i), 18)) for i in range(len(own))]
        ticks = own.numbers.tolist()
    elif own.kind == "date":
        known = own.numbers[~np.isnan(own.numbers)]
        ticks = np.linspace(known[0], known[-1], 4).round().tolist()
        texts = [date_text(tick) for tick in ticks]
    else:
        return
    rotation = 90 if axis == "x" and len(texts) > 6 else 0
    getattr(ax, f"set_{axis}ticks")(ticks, texts, rotation=rotation)
