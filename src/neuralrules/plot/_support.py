"""The display of where rules fire in the plane of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._chart import Axis, date_axis
from neuralrules._charts._plane import Supports, supports_of
from neuralrules._charts._texts import class_name, short_label, short_name
from neuralrules._estimators._base import NeuralRuleModel, checked_table, engine_of, fitted_of
from neuralrules._io._checks import check_whole
from neuralrules._reading._notation import number
from neuralrules.plot._drawing import (
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    import_pyplot,
    legend_below,
    literally,
    show_axis,
)

# The stages to draw on each of one or two axes.
ARRANGEMENTS: dict[str, list[tuple[str, ...]]] = {
    "side by side": [("before",), ("after",)],
    "overlaid": [("before", "after")],
    "before": [("before",)],
    "after": [("after",)],
}
STAGES = {
    ("before",): "before training (tree lea{})",
    ("after",): "after training",
    ("before", "after"): "before and after training",
}
# Rules differ in colour, hatch and outline.
FILLS = (SKY, YELLOW, GREEN, PURPLE)
HATCHES = ("///", "...", "\\\\\\", "xxx", "---")
DASHES = (0, (4, 2))  # of the outlines of tree leaves
OUTLINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
# Classes differ in marker and in colour.
MARKERS = ("o", "x", "^", "s", "+", "D", "v", "*")
INKS = (BLUE, ORANGE, "black", GREY)
LABEL_DEPTH = 0.06  # distance, as a share of the axes, that a label needs to a support's edge
MAX_TICKS = 24  # categories that are named along an axis
JITTER = 0.28  # how far points are spread around their category


class SupportDisplay(Supports):
    """Where rules fire in the plane of two columns: as tree leaves and after training.

    All other columns keep the cells of a reference row. A point of the grid is inside a rule
    if and only if the rule's activation at this point is positive.

    Parameters
    ----------
    rules : list of int
    columns : tuple of two str
    x, y : ndarray of shape (n_x,) and (n_y,)
        The grid in the columns' own units; 0, 1, 2, ... for categories.
    x_categories, y_categories : list of str or None
        The categories that the numbers 0, 1, 2, ... stand for; None for a column of numbers.
    before, after : ndarray of shape (n_rules, n_y, n_x), bool
        Whether each grid point is inside the tree leaf that each rule grew from, and inside
        the trained rule.
    points : ndarray of shape (n_points, 2)
        The rows that have a value in both columns.
    targets : ndarray of shape (n_points,) or None
        The class code or the target of each of these rows.
    reference : dict of str to object
        The cells that all other columns keep.
    classes : list or None
        The classes of a classifier, in the order of their markers.
    title_note : str
        What the title says about the other columns.
    dates : tuple of two bool
        Whether each column holds dates. Dates are numbers of days since 1970-01-01.

    Attributes
    ----------
    regions_ : dict of (str, int) to QuadContourSet
        The area of each rule. A key is "before" or "after" with the number of the rule. A
        rule that fires nowhere on the grid has no area.
    axes_ : ndarray of Axes, one or two
    ax_ : Axes
        The last of `axes_`.
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
    >>> display = display.plot(ax=display.ax_, arrangement="after")  # on other axes
    """

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
            Rows to draw. Rows without a value in one of the two columns are left out.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), optional
            Each class has its own marker. Targets of a regression are shown as grey levels.
        rules : int or sequence of int, optional
            Numbers of the rules to draw, by default of the two rules that are most important
            on the training rows.
        columns : two names or places, optional
            By default the columns with the largest weights in these rules.
        others : row or mapping, optional
            The cells of all other columns: a row of X, or a mapping from column names to
            cells. By default the lower median or the most frequent category of each column
            of X.
        target : int, default=0
            If there are several targets, the number of the target that grey levels show.
        grid_resolution : int, default=300
            Grid points along a column of numbers.
        arrangement, max_points, ax
            As in `plot`.
        """
        import_pyplot()
        fitted, X = fitted_of(model), checked_table(model, X)
        fitted.encoder.transform(X)  # complains about cells that the model cannot take
        check_whole("grid_resolution", grid_resolution, 2, 300)
        found = supports_of(
            fitted,
            engine_of(model),
            X,
            y,
            rules=rules,
            columns=columns,
            others=others,
            target=target,
            grid_resolution=grid_resolution,
        )
        return cls(**vars(found)).plot(ax=ax, arrangement=arrangement, max_points=max_points)

    def plot(
        self, ax: Any = None, *, arrangement: str = "auto", max_points: int = 1000
    ) -> SupportDisplay:
        """Draw the supports and the points.

        Parameters
        ----------
        ax : Axes or sequence of two Axes, optional
            A new figure by default.
        arrangement : {"auto", "side by side", "overlaid", "before", "after"}
            What to draw. "side by side" draws the tree leaves on one axes and the trained
            rules on another. "overlaid" draws both on one axes. "before" draws only the
            leaves, and "after" only the trained rules. "auto" means "overlaid" if one axes
            is given, and "side by side" otherwise.
        max_points : int, default=1000
            Draw at most this many points, taken evenly from all rows.

        Returns
        -------
        self
        """
        check_whole("max_points", max_points, 0, 1000)
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
            where = {"loc": "outside lower center", "ncols": 4, "frameon": False}
            self.figure_.legend(handles=handles, **where)
        else:
            legend_below(self.ax_, handles, 3)
        return self

    def _panels(self, ax: Any, arrangement: str) -> list[tuple[Any, tuple[str, ...]]]:
        """The axes, each with the stages ("before", "after") to draw on it."""
        known = ("auto", *ARRANGEMENTS)
        if arrangement not in known:
            raise ValueError(
                f"arrangement={arrangement!r} is not one of {', '.join(map(repr, known))}."
            )
        given = [] if ax is None else list(np.ravel(np.array(ax, object)))
        if arrangement == "auto":
            arrangement = "overlaid" if len(given) == 1 else "side by side"
        stages = ARRANGEMENTS[arrangement]
        if ax is None:
            size = (8.6 if len(stages) == 2 else 5.2, 4.8)
            looks = {"sharey": True, "squeeze": False, "layout": "constrained"}
            _, axes = import_pyplot().subplots(1, len(stages), figsize=size, **looks)
            given = list(axes[0])
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
        line: Any = "-" if overlaid else OUTLINES[place % len(OUTLINES)]
        colour, hatch = FILLS[place % len(FILLS)], HATCHES[place % len(HATCHES)]
        looks: dict[str, Any] = {"colors": [colour], "hatches": [hatch], "alpha": 0.38}
        if overlaid and stage == "before":  # only an outline, below the filled area
            line, looks = DASHES, {"colors": ["none"], "hatches": [None]}
        region = ax.contourf(x, y, inside, levels=[0.5, 1.5], **looks)
        region.set(edgecolor=LIGHT, linewidth=0)  # the colour of the hatches
        self.regions_[stage, self.rules[place]] = region
        if not mask.all():
            looks = {"colors": ["black"], "linestyles": [line], "linewidths": 1.5}
            ax.contour(x, y, inside, levels=[0.5], **looks)

    def _label_supports(self, ax: Any, stages: tuple[str, ...]) -> None:
        """Write each rule's number where its support is widest, if possible outside others."""
        from scipy.ndimage import distance_transform_edt

        masks = np.concatenate([getattr(self, stage) for stage in stages])
        alone = masks.sum(axis=0) == 1

        def deepest(mask: np.ndarray) -> tuple[float, int, int]:
            """Row and column of the point farthest from the edge, after its distance to it.

            The distance is a share of the axes.
            """
            steps = tuple(1 / length for length in mask.shape)
            depth = distance_transform_edt(np.pad(mask, 1), sampling=steps)[1:-1, 1:-1]
            row, column = np.unravel_index(depth.argmax(), depth.shape)
            return float(depth[row, column]), int(row), int(column)

        height = ax.get_window_extent().height * 72 / ax.figure.dpi  # in points
        taken: list[tuple[float, float]] = []
        for place, mask in enumerate(masks):
            if not mask.any():
                continue
            depth, row, column = deepest(mask & alone)
            if depth < LABEL_DEPTH:
                _, row, column = deepest(mask)
            across, up, move = column / len(self.x), row / len(self.y) * height, 0
            # A label moves down until it hides no earlier label.
            while any(abs(across - a) < 0.3 and abs(up + move - u) < 18 for a, u in taken):
                move -= 6
            taken.append((across, up + move))
            leaf = len(stages) == 2 and place < len(self.rules)
            ax.annotate(
                f"rule {self.rules[place % len(self.rules)]}" + (" (leaf)" if leaf else ""),
                (float(self.x[column]), float(self.y[row])),
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
        elif self.classes is None:
            greys = self._grey_levels(self.targets[chosen])
            ax.scatter(*points.T, c=greys, edgecolors="black", **looks)
        else:
            for place in range(len(self.classes)):
                of_class = points[self.targets[chosen] == place]
                ax.scatter(*of_class.T, **class_looks(place), **looks)

    def _grey_levels(self, targets: np.ndarray) -> np.ndarray:
        """The grey of each target, (n, 3): from nearly white for the lowest to black."""
        assert self.targets is not None
        low, high = self.targets.min(), self.targets.max()
        share = (targets - low) / (high - low) if high > low else 0.5 + 0 * targets
        return np.repeat((0.97 - 0.97 * share)[:, None], 3, axis=1)

    def _label_axes(self, ax: Any, stages: tuple[str, ...]) -> None:
        show_line(ax, self.x, self.x_categories, self.columns[0], self.dates[0])
        show_line(ax, self.y, self.y_categories, self.columns[1], self.dates[1], vertical=True)
        several = len(self.rules) > 1
        what = f"{len(self.rules)} rules" if several else f"Rule {self.rules[0]}"
        when = STAGES[stages].format("ves" if several else "f")
        ax.set_title(f"{what} {when}\n{self.title_note}".rstrip(), fontsize="medium")

    def _handles(self, *, overlaid: bool) -> list[Any]:
        """The entries of the legend: rules, the tree leaf, and classes or targets."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles: list[Any] = []
        for place, rule in enumerate(self.rules):
            fires = self.before[place].any() or self.after[place].any()
            handles.append(
                Patch(
                    facecolor=FILLS[place % len(FILLS)],
                    edgecolor="black",
                    linestyle="-" if overlaid else OUTLINES[place % len(OUTLINES)],
                    hatch=HATCHES[place % len(HATCHES)],
                    alpha=0.6,
                    label=f"rule {rule}{'' if fires else ' (nowhere here)'}",
                )
            )
        if overlaid:
            handles.append(Line2D([], [], label="tree leaf", color="black", linestyle=DASHES))
        if self.targets is None or not len(self.targets):
            return handles
        points: list[dict[str, Any]]
        if self.classes is not None:
            points = [
                {**class_looks(place), "label": literally(class_name(label))}
                for place, label in enumerate(self.classes)
            ]
        else:
            low, high = self.targets.min(), self.targets.max()
            values = np.array([low, (low + high) / 2, high])
            points = [
                {"markerfacecolor": grey, "label": f"target {number(value, 3)}"}
                for value, grey in zip(values.tolist(), self._grey_levels(values), strict=True)
            ]
            points = [{**look, "marker": "o", "markeredgecolor": "black"} for look in points]
        return handles + [Line2D([], [], linestyle="", markersize=5, **look) for look in points]


def class_looks(place: int) -> dict[str, Any]:
    """Marker and colour of a class. The first 32 classes all look different."""
    turn, marker = divmod(place, len(MARKERS))
    return {"marker": MARKERS[marker], "color": INKS[(place + turn) % len(INKS)]}


def show_line(
    ax: Any,
    values: np.ndarray,
    categories: list[str] | None,
    name: str,
    dates: bool,
    *,
    vertical: bool = False,
) -> None:
    """Set the label, the ticks and the ends of one axis of the plane."""
    ends, label = (float(values[0]), float(values[-1])), short_label(name)
    if categories is not None:
        step = -(-len(categories) // MAX_TICKS)
        texts = [short_name(category, 18) for category in categories[::step]]
        axis = Axis(label, (-0.5, len(categories) - 0.5), values[::step], texts)
        show_axis(ax, axis, vertical=vertical)
        if not vertical and sum(map(len, texts)) > 40:
            ax.tick_params(axis="x", labelrotation=90)
    elif dates:
        show_axis(ax, date_axis(label, *ends), vertical=vertical)
    else:
        (ax.set_ylim if vertical else ax.set_xlim)(*ends)
        (ax.set_ylabel if vertical else ax.set_xlabel)(literally(label))
        if not vertical:
            ax.locator_params(axis="x", nbins=5)
    # If two panels share the vertical axis, only the left panel is labelled.
    if vertical and not ax.yaxis.get_tick_params().get("labelleft", True):
        ax.set_ylabel("")


def drawn_line(
    values: np.ndarray, categories: list[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates at which the values of a grid are drawn, and the place of each one's value.

    Categories are drawn as blocks, so each category has two coordinates.
    """
    places = np.arange(len(values))
    if categories is None:
        return values, places
    ends = np.array([-0.4999, 0.4999])
    return (values[:, None] + ends).ravel(), np.repeat(places, 2)


def spread(points: np.ndarray, categories: tuple[Any, Any]) -> np.ndarray:
    """The points, moved at random within their category so that they can be told apart."""
    moves = np.random.RandomState(0).uniform(-JITTER, JITTER, points.shape)
    return points + moves * [names is not None for names in categories]
