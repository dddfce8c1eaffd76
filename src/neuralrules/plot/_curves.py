"""Displays made of curves: the loss during training, and error against size."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from neuralrules._charts._performance import SizeErrors, size_axis, size_errors
from neuralrules._estimators._base import NeuralRuleModel, fitted_of
from neuralrules._simplify._path import SimplificationPath
from neuralrules.plot._drawing import (
    BLUE,
    ORANGE,
    SKY,
    axes_to_draw_on,
    check_kind,
    import_pyplot,
    legend_below,
    show_axis,
)


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
        self.validation_loss = (
            None if validation_loss is None else np.asarray(validation_loss, float)
        )

    @classmethod
    def from_estimator(cls, model: NeuralRuleModel, *, ax: Any = None) -> HistoryDisplay:
        """Draw `model.history_`, the losses of the last call of `fit`.

        Parameters
        ----------
        model : fitted estimator
        ax : Axes, optional
        """
        history = fitted_of(model).history
        return cls(loss=history["loss"], validation_loss=history.get("validation_loss")).plot(
            ax=ax
        )

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
        marker = "." if len(epochs) < 3 else None
        looks = {"linewidth": 1.8, "marker": marker}
        self.lines_ = ax.plot(epochs, self.loss, color=BLUE, label="training rows", **looks)
        if self.validation_loss is not None:
            self.lines_ += ax.plot(
                epochs,
                self.validation_loss,
                color=ORANGE,
                linestyle="--",
                label="rows held out",
                **looks,
            )
            if len(epochs):
                best = int(np.argmin(self.validation_loss))
                ax.plot(
                    epochs[best],
                    self.validation_loss[best],
                    "o",
                    color="black",
                    zorder=3,
                    label=f"kept: epoch {epochs[best]}",
                )
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
        self.band_ = ax.fill_between(
            self.n_parameters,
            self.error - self.error_se,
            self.error + self.error_se,
            color=SKY,
            alpha=0.35,
            linewidth=0,
            label="± 1 standard error",
        )
        (self.line_,) = ax.plot(
            self.n_parameters, self.error, color=BLUE, marker="o", markersize=4, label="error"
        )
        self.marks_ = {"knee": self._mark(ax, self.knee, "D", "knee")}
        if self.chosen is not None:
            name = f"tolerance {self.tolerance:g}"
            self.marks_["chosen"] = self._mark(ax, self.chosen, "s", name)
        show_axis(ax, size_axis(self))
        ax.set_ylim(bottom=0)
        ax.set_ylabel(f"{self.measure},\nrows not seen in training")
        ax.set_title("Error against size of the simplified models")
        legend_below(ax, ax.get_legend_handles_labels()[0], 2)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any, step: int, marker: str, name: str) -> Any:
        rules = f"{self.n_rules[step]} rule{'s' if self.n_rules[step] > 1 else ''}"
        (mark,) = ax.plot(
            self.n_parameters[step],
            self.error[step],
            marker,
            markersize=10 if marker == "D" else 14,
            markerfacecolor="none",
            markeredgecolor="black",
            markeredgewidth=1.6,
            label=f"{name}: {self.n_parameters[step]} parameters, {rules}",
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
