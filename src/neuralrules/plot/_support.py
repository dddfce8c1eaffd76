"""The display of where rules fire in the plane of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._texts import plain_value, short_name
from neuralrules._estimators._base import NeuralRuleModel, checked_table, engine_of, fitted_of
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._numbers import number
from neuralrules.plot._drawing import (
    GREEN,
    GREY,
    LIGHT,
    PURPLE,
    SKY,
    YELLOW,
    check_count,
    class_looks,
    grey_levels,
    import_pyplot,
    legend_below,
    literally,
)
from neuralrules.plot._plane import (
    chosen_columns,
    chosen_rules,
    direction,
    drawn_targets,
    reference_cells,
    supports,
)
from neuralrules.plot._plane_axes import drawn_line, label_axis, spread

ARRANGEMENTS = ("auto", "side by side", "overlaid", "before", "after")
# Rules differ in colour, hatch and outline.
FILLS = (SKY, YELLOW, GREEN, PURPLE)
HATCHES = ("///", "...", "\\\\\\", "xxx", "---")
OUTLINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
LABEL_DEPTH = 0.06  # share of the axes that a label needs to stand inside a support


class SupportDisplay:
    """Where rules fire, over two columns: as tree leaves and after training.

    All other columns are held at a reference row. A point of the grid is inside a rule
    exactly if the rule's activation there is positive.

    Parameters
    ----------
    rules : list of int
    columns : tuple of two str
    x, y : ndarray of shape (n_x,) and (n_y,)
        The grid in the columns' own units; 0, 1, 2, ... for categories.
    x_categories, y_categories : list of str or None
        What these numbers stand for.
    before, after : ndarray of shape (n_rules, n_y, n_x), bool
        Grid points inside each tree leaf, and inside the rule that it has become.
    points : ndarray of shape (n_points, 2)
        The rows that have a value in both columns.
    targets : ndarray of shape (n_points,) or None
        Their classes or targets.
    reference : dict of str to object
        The cells that the other columns are held at.
    classes : list or None
        Of a classifier: in the order of the markers.
    title_note : str
        What the title says of the other columns.
    dates : tuple of two bool
        Which of the columns hold dates: days since 1970-01-01.

    Attributes
    ----------
    regions_ : dict of (str, int) to QuadContourSet
        The filled area for "before" or "after" and each rule that fires anywhere here.
    axes_ : ndarray of Axes, one or two
    ax_ : Axes
        The last of them.
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import SupportDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> columns = ["petal length (cm)", "petal width (cm)"]
    >>> display = SupportDisplay.from_estimator(model, X, y, rules=[0, 1], columns=columns)
    >>> len(display.axes_)
    2
    >>> display = display.plot(ax=display.ax_, arrangement="after")  # on axes of one's own
    """

    def __init__(
        self,
        *,
        rules: list[int],
        columns: tuple[str, str],
        x: np.ndarray,
        y: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        points: np.ndarray,
        x_categories: list[str] | None = None,
        y_categories: list[str] | None = None,
        targets: np.ndarray | None = None,
        reference: dict[str, Any] | None = None,
        classes: list[Any] | None = None,
        title_note: str = "",
        dates: tuple[bool, bool] = (False, False),
    ) -> None:
        self.rules = rules
        self.columns = columns
        self.x = x
        self.y = y
        self.before = before
        self.after = after
        self.points = points
        self.x_categories = x_categories
        self.y_categories = y_categories
        self.targets = targets
        self.reference = reference or {}
        self.classes = classes
        self.title_note = title_note
        self.dates = dates

    @classmethod
    def from_estimator(
        cls,
        model: NeuralRuleModel,
        X: Any,
        y: Any = None,
        *,
        rules: Any = None,
        columns: Any = None,
        others: Any = None,
        target: int = 0,
        grid_resolution: int = 300,
        arrangement: str = "auto",
        max_points: int = 1000,
        ax: Any = None,
    ) -> SupportDisplay:
        """Compute the supports over the range of two columns of X and draw them.

        Parameters
        ----------
        model : fitted estimator
        X : array-like or frame of shape (n_rows, n_columns)
            Rows to draw; those without a value in one of the two columns are left out.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), optional
            Classes get markers, targets of a regression grey levels.
        rules : int or sequence of int, optional
            By default the two most important ones on the training rows.
        columns : two names or places, optional
            By default those that the rules weigh most.
        others : row or mapping, optional
            What the other columns are held at: a row of X, or cells by column name. By
            default the (lower) median or the most frequent category of X.
        target : int, default=0
            Which target of a regression with several the grey levels show.
        grid_resolution : int, default=300
            Grid points along a column of numbers.
        arrangement, max_points, ax
            As in `plot`.
        """
        import_pyplot()
        fitted, X = fitted_of(model), checked_table(model, X)
        fitted.encoder.transform(X)  # complains about cells that the model cannot take
        check_count("grid_resolution", grid_resolution, 300, least=2)
        chosen = chosen_rules(fitted, rules)
        sources = chosen_columns(fitted, columns, chosen)
        first, second = (direction(fitted, X, source, grid_resolution) for source in sources)
        cells = reference_cells(fitted, X, others)
        before, after = supports(fitted, engine_of(model), chosen, first, second, cells)
        points = np.column_stack([first.points, second.points])
        present = np.isfinite(points).all(axis=1)
        targets = drawn_targets(fitted, X.shape[0], y, target)
        held = {
            name: cell
            for source, (name, cell) in enumerate(zip(fitted.encoder.names, cells, strict=True))
            if source not in sources
        }
        at = "median or mode" if others is None else "the row given"
        classes = fitted.task.classes
        display = cls(
            rules=chosen,
            columns=(first.name, second.name),
            x=first.values,
            y=second.values,
            before=before,
            after=after,
            points=points[present],
            x_categories=first.categories,
            y_categories=second.categories,
            targets=None if targets is None else targets[present],
            reference=held,
            classes=None if classes is None else list(classes),
            title_note=f"other columns at {at}" if held else "",
            dates=(holds_dates(fitted, sources[0]), holds_dates(fitted, sources[1])),
        )
        return display.plot(ax=ax, arrangement=arrangement, max_points=max_points)

    def plot(
        self, ax: Any = None, *, arrangement: str = "auto", max_points: int = 1000
    ) -> SupportDisplay:
        """Draw the supports and the points.

        Parameters
        ----------
        ax : Axes or sequence of two Axes, optional
            A new figure by default.
        arrangement : {"auto", "side by side", "overlaid", "before", "after"}
            Leaves and trained rules side by side (two axes) or overlaid (one), or only
            one of them. "auto" is side by side, but overlaid on axes given alone.
        max_points : int, default=1000
            At most so many points are drawn, evenly taken from all.

        Returns
        -------
        self
        """
        check_count("max_points", max_points, 1000, least=0)
        panels = self._panels(ax, arrangement)
        self.regions_: dict[tuple[str, int], Any] = {}
        for panel, stages in panels:
            panel.spines[["top", "right"]].set_visible(False)
            overlaid = len(stages) == 2
            for place in range(len(self.rules)):
                for stage in stages:
                    self._draw_support(panel, stage, place, overlaid=overlaid)
            if len(self.rules) > 1:
                self._label_supports(panel, stages)
            self._draw_points(panel, max_points)
            self._label_axes(panel, stages)
        self.axes_ = np.array([panel for panel, _ in panels])
        self.ax_, self.figure_ = self.axes_[-1], self.axes_[-1].figure
        handles = self._handles(overlaid=len(panels[0][1]) == 2)
        if ax is None:
            self.figure_.legend(
                handles=handles, loc="outside lower center", ncols=4, frameon=False
            )
        else:
            legend_below(self.ax_, handles, 3)
        return self

    def _panels(self, ax: Any, arrangement: str) -> list[tuple[Any, tuple[str, ...]]]:
        """Axes, each with the stages to draw on it."""
        if arrangement not in ARRANGEMENTS:
            raise ValueError(
                f"arrangement={arrangement!r} is not one of "
                f"{', '.join(map(repr, ARRANGEMENTS))}."
            )
        given = [] if ax is None else list(np.ravel(np.array(ax, object)))
        if arrangement == "auto":
            arrangement = "overlaid" if len(given) == 1 else "side by side"
        sets: dict[str, list[tuple[str, ...]]] = {
            "side by side": [("before",), ("after",)],
            "overlaid": [("before", "after")],
        }
        stages = sets.get(arrangement, [(arrangement,)])
        if ax is None:
            _, given = import_pyplot().subplots(
                1,
                len(stages),
                figsize=(8.6 if len(stages) == 2 else 5.2, 4.8),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )
            given = list(given[0])
        if len(given) != len(stages):
            raise ValueError(
                f"ax holds {len(given)} axes, and arrangement={arrangement!r} needs "
                f"{len(stages)}. Give as many, or another arrangement."
            )
        return list(zip(given, stages, strict=True))

    def _draw_support(self, ax: Any, stage: str, place: int, *, overlaid: bool) -> None:
        mask = getattr(self, stage)[place]
        if not mask.any():
            return
        x, columns = drawn_line(self.x, self.x_categories)
        y, rows = drawn_line(self.y, self.y_categories)
        inside = mask[np.ix_(rows, columns)].astype(float)
        ghost = overlaid and stage == "before"  # an outline below the filled area
        hatch = None if ghost else HATCHES[place % len(HATCHES)]
        region = ax.contourf(
            x,
            y,
            inside,
            levels=[0.5, 1.5],
            colors=["none" if ghost else FILLS[place % len(FILLS)]],
            hatches=[hatch],
            alpha=None if ghost else 0.38,
        )
        region.set(edgecolor=LIGHT, linewidth=0)  # the colour of the hatches
        self.regions_[stage, self.rules[place]] = region
        line = OUTLINES[place % len(OUTLINES)]
        if overlaid:
            line = (0, (4, 2)) if ghost else "-"
        if not mask.all():
            ax.contour(
                x, y, inside, levels=[0.5], colors=["black"], linestyles=[line], linewidths=1.5
            )

    def _label_supports(self, ax: Any, stages: tuple[str, ...]) -> None:
        """Each rule's number where its support is widest, if possible outside others."""
        from scipy.ndimage import distance_transform_edt

        masks = np.concatenate([getattr(self, stage) for stage in stages])
        alone = masks.sum(axis=0) == 1

        def deepest(mask: np.ndarray) -> tuple[float, float, float]:
            """Depth, as a share of the axes, and place of the point farthest inside."""
            steps = tuple(1 / length for length in mask.shape)
            depth = distance_transform_edt(np.pad(mask, 1), sampling=steps)[1:-1, 1:-1]
            row, column = np.unravel_index(depth.argmax(), depth.shape)
            return float(depth[row, column]), float(self.x[column]), float(self.y[row])

        for place, mask in enumerate(masks):
            if not mask.any():
                continue
            depth, x, y = deepest(mask & alone)
            move = 0.0
            if depth < LABEL_DEPTH:
                _, x, y = deepest(mask)
                move = 14 * ((len(masks) - 1) / 2 - place)
            leaf = len(stages) == 2 and place < len(self.rules)
            ax.annotate(
                f"rule {self.rules[place % len(self.rules)]}" + (" (leaf)" if leaf else ""),
                (x, y),
                xytext=(0, move),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize="small",
                fontstyle="italic" if leaf else "normal",
                zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2},
            )

    def _draw_points(self, ax: Any, max_points: int) -> None:
        n = len(self.points)
        if not n or not max_points:
            return
        chosen = np.unique(np.linspace(0, n - 1, min(n, max_points)).astype(int))
        points = spread(self.points, (self.x_categories, self.y_categories))[chosen]
        looks: dict[str, Any] = {"s": 16, "zorder": 3, "linewidths": 1.1}
        if self.targets is None:
            ax.scatter(*points.T, color=GREY, **{**looks, "s": 9})
            return
        targets = self.targets[chosen]
        if self.classes is None:
            low, high = self.targets.min(), self.targets.max()
            ax.scatter(
                *points.T, c=grey_levels(targets, low, high), edgecolors="black", **looks
            )
            return
        for place in range(len(self.classes)):
            ax.scatter(*points[targets == place].T, **class_looks(place), **looks)

    def _label_axes(self, ax: Any, stages: tuple[str, ...]) -> None:
        for axis, values, categories, name, dates in (
            (ax.xaxis, self.x, self.x_categories, self.columns[0], self.dates[0]),
            (ax.yaxis, self.y, self.y_categories, self.columns[1], self.dates[1]),
        ):
            label_axis(ax, axis, values, categories, name, dates)
        several = len(self.rules) > 1
        what = f"{len(self.rules)} rules" if several else f"Rule {self.rules[0]}"
        names: dict[tuple[str, ...], str] = {
            ("before",): f"before training (tree lea{'ves' if several else 'f'})",
            ("after",): "after training",
        }
        when = names.get(stages, "before and after training")
        ax.set_title(f"{what} {when}\n{self.title_note}".rstrip(), fontsize="medium")

    def _handles(self, *, overlaid: bool) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles: list[Any] = []
        for place, rule in enumerate(self.rules):
            handles.append(
                Patch(
                    facecolor=FILLS[place % len(FILLS)],
                    edgecolor="black",
                    linestyle="-" if overlaid else OUTLINES[place % len(OUTLINES)],
                    hatch=HATCHES[place % len(HATCHES)],
                    alpha=0.6,
                    label=f"rule {rule}" + ("" if self._fires(place) else " (nowhere here)"),
                )
            )
        if overlaid:
            handles.append(
                Line2D([], [], color="black", linestyle=(0, (4, 2)), label="tree leaf")
            )
        looks: dict[str, Any] = {"linestyle": "", "markersize": 5}
        if self.targets is None or not len(self.targets):
            return handles
        if self.classes is not None:
            for place, label in enumerate(self.classes):
                style = class_looks(place)
                handles.append(
                    Line2D(
                        [],
                        [],
                        marker=style["marker"],
                        color=style["color"],
                        label=literally(f"class {short_name(plain_value(label), 24)}"),
                        **looks,
                    )
                )
            return handles
        low, high = self.targets.min(), self.targets.max()
        for value in (low, (low + high) / 2, high):
            shade = grey_levels(np.array([value]), low, high)[0]
            handles.append(
                Line2D(
                    [],
                    [],
                    marker="o",
                    markerfacecolor=shade,
                    markeredgecolor="black",
                    label=f"target {number(float(value), 3)}",
                    **looks,
                )
            )
        return handles

    def _fires(self, place: int) -> bool:
        return bool(self.before[place].any() or self.after[place].any())


def holds_dates(fitted: Fitted, source: int) -> bool:
    """Whether a column of the table holds dates."""
    return fitted.encoder.columns_of(source)[0].is_date
