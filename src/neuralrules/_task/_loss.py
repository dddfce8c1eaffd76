"""The base classes of losses and links.

`_class_losses` and `_number_losses` hold the losses that exist. To add one, write it there,
and write its slopes in the module `_losses` of each engine that should train it: `_kernels`
(numba), `_torch` and `_triton`. An engine without the slopes of a loss refuses to train it.
All other code (predictions, reports, files, exports) uses the loss and its link.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np

from neuralrules._expression._nodes import Number

# exp(700) is not infinite in float64, and exp(-700) is not 0.
LARGEST_OUTPUT = 700.0
# A loss in files and texts: its name, or a dict of its name and of the parameters that differ
# from their defaults.
LossDocument: TypeAlias = str | Mapping[str, Any]


@dataclass(frozen=True)
class Link(ABC):
    """How the output of a network for numbers becomes a prediction.

    Attributes
    ----------
    is_identity : bool
        Whether the output is the prediction.
    function : str or None
        The name in texts of the function that turns an output into a prediction, such as
        "exp". None if the output is the prediction.
    multiplied : str
        In words, the quantity that is multiplied by a factor when a number is added to the
        output. Empty if there is no such quantity.
    output_words : str
        A description of the output in words.
    range_words : str
        The range of possible predictions in words. Empty if every number is possible.
    """

    is_identity: ClassVar[bool] = False
    function: ClassVar[str | None]
    multiplied: ClassVar[str] = ""
    output_words: ClassVar[str]
    range_words: ClassVar[str] = ""

    @abstractmethod
    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Predictions from outputs of any shape."""

    @abstractmethod
    def expression(self, output: Number) -> Number:
        """The prediction as an expression of the output, which every export prints.

        As in `predictions`, outputs are limited to the range from -`LARGEST_OUTPUT` to
        `LARGEST_OUTPUT` if the function can overflow.
        """

    @abstractmethod
    def inverse(self, predictions: np.ndarray) -> np.ndarray:
        """Outputs from predictions. The ends of the range of predictions become infinite."""

    @abstractmethod
    def leaf_outputs(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Outputs that predict the mean target of groups of rows.

        Parameters
        ----------
        n : (n_groups, 1) float64
            Weight of each group.
        totals : (n_groups, n_targets) float64
            Weighted sums of the standardised targets of each group.

        Returns
        -------
        (n_groups, n_targets) float64
        """

    @abstractmethod
    def in_units(self, centre: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shift and factor from outputs for standardised targets to outputs in units.

        An output is multiplied by the factor, and then the shift is added. All arrays are
        (n_targets,) float64. `centre` and `scale` are the centre and the scale of the targets.
        If no shift and factor lead from one to the other, as for softplus, the loss must not
        standardise: its `standardise` returns the centre 0 and the scale 1.
        """


class Identity(Link):
    """The output is the prediction."""

    is_identity = True
    function = None
    output_words = "prediction"

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs

    def expression(self, output: Number) -> Number:
        return output

    def inverse(self, predictions: np.ndarray) -> np.ndarray:
        return predictions

    def leaf_outputs(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        return totals / np.where(n > 0, n, 1)

    def in_units(self, centre: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return centre, scale


@dataclass(frozen=True)
class Loss(ABC):
    """The loss that training minimises. The fields of a subclass are the loss's parameters.

    Attributes
    ----------
    name : str
        The name of the loss for users.
    metric : str
        The name of the mean loss among the metrics of a model. Empty if another metric already
        shows it.
    probabilities : bool
        For classes: whether outputs are log odds, which give probabilities.
    compares_outputs : bool
        For classes: whether only the differences between the outputs of classes matter.
    link : Link
        For numbers.
    centres_at_mean : bool
        For numbers: whether `standardise` subtracts the mean.
    standardises_by_moments : bool
        For numbers: whether `standardise` only needs the mean and the standard deviation of
        the targets.
    lowest_target : float
        For numbers: no target may be lower.
    degree : int
        For numbers: if targets and predictions are multiplied by s, the loss is multiplied by
        s to the power of `degree`.
    few_rows_may_decide : bool
        For numbers: whether the loss of a row grows with its target, so that a few large
        targets may decide the mean loss.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    probabilities: ClassVar[bool] = False
    compares_outputs: ClassVar[bool] = False
    link: ClassVar[Link] = Identity()
    centres_at_mean: ClassVar[bool] = False
    standardises_by_moments: ClassVar[bool] = True
    lowest_target: ClassVar[float] = -math.inf
    degree: ClassVar[int] = 2
    few_rows_may_decide: ClassVar[bool] = False

    @abstractmethod
    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The loss of each row and its slopes.

        Parameters
        ----------
        outputs, targets : (n_rows, n_outputs)
            The targets of classes are -1 and +1. If there are several outputs, exactly one
            target of each row is +1. The targets of numbers are standardised.

        Returns
        -------
        losses : (n_rows,)
        slopes : (n_rows, n_outputs)
            Derivatives of the losses with respect to the outputs.
        """

    @abstractmethod
    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The outputs (n_outputs,) that have the lowest mean loss if all rows share them.

        `targets` (n_rows, n_outputs) are as in `evaluate`, and `weights` are (n_rows,).
        """

    def standardise(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For numbers: centre and scale of y (n_rows, n_targets), both (n_targets,) float64.

        Training subtracts the centre and divides by the scale.
        """
        return mean_and_deviation(y, weights)

    def prior(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """For numbers: the outputs (n_targets,) before a model has seen any column of a row.

        Parameters
        ----------
        n : (1,) float64
            Weight of the rows.
        totals : (1, n_targets) float64
            Weighted sums of the standardised targets of the rows.
        """
        return self.link.leaf_outputs(n[:, None], totals)[0]

    def boosting_loss(self, y: np.ndarray) -> Any:
        """For numbers: the loss for boosting trees by scikit-learn on targets y (n_rows,)."""
        return "squared_error"

    def for_classes(self, n_classes: int) -> Loss:
        """For classes: the same loss for `n_classes` classes."""
        return self

    @property
    def numbers(self) -> tuple[float, ...]:
        """The parameters as kernels receive them, in the order of the fields."""
        return astuple(self)

    def document(self) -> LossDocument:
        """The loss as a `LossDocument`."""
        defaults = {field.name: field.default for field in fields(self)}
        changed = {k: v for k, v in asdict(self).items() if v != defaults[k]}
        return {"name": self.name, **changed} if changed else self.name


def loss_from(document: LossDocument, known: Mapping[str, type[Loss]]) -> Loss:
    """The loss of a document, or a ValueError that says what is wrong with the document."""
    named = isinstance(document, str)
    parameters = {} if named or not isinstance(document, Mapping) else dict(document)
    name = document if named else parameters.pop("name", None)
    if not isinstance(name, str) or name not in known:
        given = repr(document[:40] if isinstance(document, str) else document)[:60]
        raise ValueError(f"the loss must be one of {', '.join(known)}, not {given}")
    allowed = [field.name for field in fields(known[name])]
    for parameter, value in parameters.items():
        if parameter not in allowed:
            its = f"its parameters are {', '.join(allowed)}" if allowed else "it has none"
            raise ValueError(f"the loss {name} has no parameter {parameter!r:.60}; {its}")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise ValueError(f"{parameter}={value!r:.60} of the loss {name} must be a number")
    return known[name](**parameters)


def mean_and_deviation(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each column; a deviation of 0 becomes 1."""
    mean = np.average(y, axis=0, weights=weights)
    deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(deviation > 0, deviation, 1.0)


def weighted_means(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean of each column of targets (n_rows, n_outputs), float64."""
    return np.asarray(np.average(targets, axis=0, weights=weights), np.float64)


def logarithms_of_shares(shares: np.ndarray) -> np.ndarray:
    """Logarithms that stay finite if a share is 0."""
    return np.log(np.maximum(shares, np.exp(-LARGEST_OUTPUT)))
