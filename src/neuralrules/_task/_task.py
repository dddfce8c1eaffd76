"""What a model predicts: classes or numbers.

Classifiers and regressors differ only in their task and in their loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # scipy loads its submodules when they are used

from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._loss import Loss, LossDocument, loss_from
from neuralrules._task._number_losses import NUMBER_LOSSES


@dataclass(frozen=True, eq=False)
class Task:
    """Classes or numbers, and the loss that says how well they are predicted.

    The network has one output if there are two classes. Otherwise it has one output for each
    class or for each target.

    Attributes
    ----------
    loss : Loss
    classes : (n_classes,) array or None
        Labels in ascending order; None for numbers.
    centre, scale : (n_targets,) float64
        A target in the user's units is centre + scale * standardised target. For classes, the
        centre is 0 and the scale is 1.
    flat : bool
        Whether predictions have the shape (n_rows,), like y in `fit`, and not
        (n_rows, n_targets).
    """

    loss: Loss
    classes: np.ndarray | None
    centre: np.ndarray
    scale: np.ndarray
    flat: bool = True

    @classmethod
    def of_classes(cls, classes: np.ndarray, loss: LossDocument) -> Task:
        """The task to predict classes. Their labels are in ascending order."""
        found = loss_from(loss, CLASS_LOSSES).for_classes(len(classes))
        return cls(found, classes, np.zeros(1), np.ones(1))

    @classmethod
    def of_numbers(
        cls, y: np.ndarray, weights: np.ndarray, loss: LossDocument, *, flat: bool = True
    ) -> Task:
        """The task to predict numbers like y (n_rows, n_targets), with weights (n_rows,)."""
        found = loss_from(loss, NUMBER_LOSSES)
        return cls(found, None, *found.standardise(y, weights), flat)

    @classmethod
    def of_scaled_numbers(
        cls, centre: np.ndarray, scale: np.ndarray, loss: LossDocument, *, flat: bool
    ) -> Task:
        """The task to predict numbers whose centre and scale (n_targets,) are known."""
        return cls(loss_from(loss, NUMBER_LOSSES), None, centre, scale, flat)

    def scaled_by(self, y: np.ndarray, weights: np.ndarray) -> Task:
        """The same task with the centre and scale of y (n_rows, n_targets) under weights."""
        centre, scale = self.loss.standardise(y, weights)
        return replace(self, centre=centre, scale=scale)

    @property
    def are_classes(self) -> bool:
        return self.classes is not None

    @property
    def labels(self) -> list[Any]:
        """The classes as plain Python objects. Empty for numbers."""
        return [] if self.classes is None else self.classes.tolist()

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for numbers."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_outputs(self) -> int:
        if self.classes is None:
            return len(self.centre)
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_totals(self) -> int:
        """The number of totals of a group of rows: one for each class or for each target."""
        return self.n_classes or len(self.centre)

    @property
    def output_names(self) -> list[Any]:
        """A name for each output: its class, or the number of its target.

        The only output of two classes belongs to the second class.
        """
        if self.classes is None:
            return list(range(self.n_outputs))
        return list(self.classes[1:] if self.n_classes == 2 else self.classes)

    @property
    def gives_probabilities(self) -> bool:
        return self.are_classes and self.loss.probabilities

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Targets y (n_rows, n_targets) standardised for training, float32."""
        return ((y - self.centre) / self.scale).astype(np.float32)

    def leaf_values(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Value c of groups of rows: the mean target, with classes coded -1 and +1.

        For two classes there is one output, c = (n+ - n-) / n. For more classes, each output
        has this value for its class against all others. For numbers, c is the output that
        predicts the mean target.

        Parameters
        ----------
        n : (n_groups,) float64
        totals : (n_groups, n_classes or n_targets) float64

        Returns
        -------
        (n_groups, n_outputs) float64
        """
        if not self.are_classes:
            return self.loss.link.leaf_outputs(n[:, None], totals)
        means = totals / np.where(n > 0, n, 1)[:, None]
        return 2 * means[:, 1:] - 1 if self.n_classes == 2 else 2 * means - 1

    def prior(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """The outputs (n_outputs,) float64 before a model has seen any column of a row.

        If the outputs are log odds, one row is added to each class. So a class with few rows,
        or with none yet, never gets a probability of zero. The outputs of several classes are
        centred, because adding a number to all of them changes nothing.

        Parameters
        ----------
        n : (1,) float64
            Weight of the training rows.
        totals : (1, n_classes or n_targets) float64
            Weight of each class, or weighted sums of the standardised targets.
        """
        if not self.are_classes:
            return self.loss.prior(n, totals)
        if not self.gives_probabilities:
            return self.leaf_values(n, totals)[0]
        logarithms = np.log(totals[0] + 1)
        if self.n_classes == 2:
            return logarithms[1:] - logarithms[:1]
        return logarithms - logarithms.mean()

    def in_units(
        self, values: np.ndarray, intercept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values and intercept of a network that predicts in the units of the targets.

        Parameters
        ----------
        values : (n_rules, n_outputs) float32
            Values of the network that was trained on standardised targets.
        intercept : (n_outputs,) float64
            Its intercept.

        Returns
        -------
        values : (n_rules, n_outputs) float32
        intercept : (n_outputs,) float64
        """
        shift, factor = self.loss.link.in_units(self.centre, self.scale)
        return (values * factor).astype(np.float32), intercept * factor + shift

    def taken_over(
        self, values: np.ndarray, intercept: np.ndarray, other: Task
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values and intercept of a network that was trained on another centre and scale.

        With the result the network predicts the same numbers, for targets that are
        standardised by this task.

        Parameters
        ----------
        values : (n_rules, n_outputs) float32
        intercept : (n_outputs,) float64
        other : Task
            The task that the network was trained for.

        Returns
        -------
        values : (n_rules, n_outputs) float32
        intercept : (n_outputs,) float64
        """
        shift, factor = self.loss.link.in_units(self.centre, self.scale)
        other_shift, other_factor = other.loss.link.in_units(other.centre, other.scale)
        ratio = other_factor / factor
        moved = (other_shift - shift) / factor
        return (values * ratio).astype(np.float32), intercept * ratio + moved

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Labels (n_rows,), or numbers in the shape of y, from outputs (n_rows, n_outputs)."""
        if self.classes is not None:
            return self.classes[chosen_classes(outputs)]
        numbers = self.loss.link.predictions(outputs)
        return numbers[:, 0] if self.flat else numbers

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Probabilities (n_rows, n_classes) from outputs (n_rows, n_outputs)."""
        return class_probabilities(outputs)

    def comparable(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs or values (n, n_outputs) in a form whose sizes can be compared, float64.

        Several classes: adding a number to the outputs of all classes changes no probability,
        so the mean output is subtracted. Several targets: each output is divided by the
        deviation of its target. Otherwise the target with the smallest unit would dominate.
        """
        outputs = outputs.astype(np.float64)
        if outputs.shape[1] == 1:
            return outputs
        if not self.are_classes:
            return outputs / self.loss.link.in_units(self.centre, self.scale)[1]
        if self.loss.compares_outputs:
            return outputs - outputs.mean(axis=1, keepdims=True)
        return outputs


def chosen_classes(outputs: np.ndarray) -> np.ndarray:
    """Codes (n_rows,) int64 of the classes that outputs (n_rows, n_outputs) predict."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.int64)
    return outputs.argmax(axis=1)


def class_probabilities(outputs: np.ndarray) -> np.ndarray:
    """Probabilities (n_rows, n_classes) from outputs (n_rows, n_outputs) that are log odds."""
    if outputs.shape[1] == 1:
        positive = scipy.special.expit(outputs[:, 0])
        return np.stack([1 - positive, positive], axis=1)
    return scipy.special.softmax(outputs, axis=1)
