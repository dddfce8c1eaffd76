"""Words for a predicted class or number, and for what contributions add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._notation import printable, rounded
from neuralrules._task._task import Task

DIGITS = 2  # significant digits of what rules add; training rows do not determine more
LARGEST_EXPONENT = 700.0  # its exponential is still a finite float64
FAINT = 0.005  # smaller effects, in log odds or deviations of a number, are not mentioned


@dataclass(frozen=True)
class Outcome:
    """One class or one number of a prediction, with the words for contributions to it.

    `place` is the code of the class, or the number of the target. `sign` is 1 if a larger
    decision speaks for the outcome, and -1 if it speaks against it, as it does for the first of
    two classes.
    """

    task: Task
    place: int
    sign: float = 1.0

    def effects(self, contributions: np.ndarray) -> np.ndarray:
        """What contributions (n, n_outputs) add to the outcome, (n,) float64."""
        outputs = contributions.astype(np.float64)
        if outputs.shape[1] == 1:
            return self.sign * outputs[:, 0]
        if self.task.are_classes:
            outputs = self.task.comparable(outputs)
        return outputs[:, self.place]

    @property
    def label(self) -> str:
        """The class in words."""
        return printable(str(self.task.labels[self.place]))

    @property
    def is_odds(self) -> bool:
        """Whether contributions are log odds: their exponentials multiply the odds."""
        return self.task.gives_probabilities and self.task.n_classes == 2

    @property
    def multiplied(self) -> str:
        """The quantity that contributions multiply, in words; empty if there is none."""
        if self.is_odds:
            return "odds"
        return "" if self.task.are_classes else self.task.loss.link.multiplied

    @property
    def what(self) -> str:
        """The quantity that contributions are added to, in words."""
        if self.is_odds:
            return f"the log odds of {self.label}"
        if self.task.are_classes:
            return f"the score of {self.label}"
        of = "" if self.task.n_outputs == 1 else f" of target {self.place}"
        return f"the {self.task.loss.link.output_words}{of}"

    @property
    def faint(self) -> float:
        """The size below which an effect is not worth mentioning."""
        if self.task.are_classes or self.multiplied:
            return FAINT
        return FAINT * float(self.task.scale[self.place])

    def addition(self, effect: float, most: str = "") -> str:
        """What an effect adds, in words: "adds 1.9 to the log odds of bad (odds times 6.7)"."""
        verb, to = ("takes", "from") if effect < 0 else ("adds", "to")
        text = f"{verb} {most}{size_text(effect)} {to} {self.what}"
        return f"{text} ({self.multiple(effect)})" if self.multiplied else text

    def usual(self, effect: float) -> str:
        """An effect as texts say it: "odds of bad times 1.6", "adds 2 to the prediction"."""
        if not self.multiplied:
            return self.addition(effect)
        of = f"odds of {self.label}" if self.is_odds else "odds"
        return self.multiple(effect).replace("odds", of, 1)

    def size(self, effect: float) -> str:
        """The size of an effect: a factor if the effect multiplies odds or a number."""
        return self.multiple(effect).split()[-1] if self.multiplied else size_text(effect)

    def growth(self, effect: float) -> str:
        """The amount by which an effect grows: "a factor 1.6", or "2"."""
        return f"{'a factor ' if self.multiplied else ''}{self.size(effect)}"

    def comparison(self, effect: float) -> str:
        """A positive effect as a difference between two rows: "odds of bad times 8.2"."""
        if self.multiplied:
            return self.usual(effect if self.task.are_classes else self.sign * effect)
        side = "lower" if self.sign < 0 and not self.task.are_classes else "higher"
        return f"{self.what.removeprefix('the ')} {side} by {size_text(effect)}"

    def multiple(self, effect: float) -> str:
        """An effect as a factor of odds or of a prediction; empty if it is added instead."""
        if not self.multiplied:
            return ""
        factor = float(np.exp(min(abs(effect), LARGEST_EXPONENT)))
        # A factor of 1 changes nothing, so the digits count from the distance to 1.
        size = rounded(factor, factor - 1, DIGITS) if factor > 1 else "1"
        return f"{self.multiplied} {'divided by' if effect < 0 else 'times'} {size}"


def size_text(size: float) -> str:
    """A number without its sign, to a few digits."""
    size = abs(size)
    return rounded(size, size, DIGITS) if size else "0"


def rare_class(fitted: Fitted) -> int:
    """Code of the class with the fewest rows in training; the last of equally rare classes."""
    totals = fitted.activity.all_totals
    # If sample weights balance the classes, their totals are equal up to rounding.
    return int(np.flatnonzero(totals <= totals.min() * (1 + 1e-6))[-1])


def outcome_of_class(task: Task, code: int) -> Outcome:
    return Outcome(task, code, -1.0 if task.n_classes == 2 and code == 0 else 1.0)


def adverse_outcome(fitted: Fitted, adverse: Any) -> Outcome:
    """The outcome that reasons are given for.

    `adverse` is a class, by default the rarest. For a regression it is "high", the default, or
    "low".
    """
    task = fitted.task
    if not task.are_classes:
        if task.n_outputs > 1:
            raise ValueError(
                f"The model predicts {task.n_outputs} numbers, and reasons are those of one. "
                "Fit a model for each target."
            )
        if adverse not in (None, "high", "low"):
            raise ValueError(
                f"adverse={adverse!r} must be 'high' or 'low' for a model of numbers."
            )
        return Outcome(task, 0, -1.0 if adverse == "low" else 1.0)
    if adverse is None:
        return outcome_of_class(task, rare_class(fitted))
    if adverse not in task.labels:
        raise ValueError(f"adverse={adverse!r} is no class. The classes are {task.labels}.")
    return outcome_of_class(task, task.labels.index(adverse))
