"""Rules that were read from the text of `exact_text` and can predict.

`neuralrules._reading._exact` describes the form of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.metaestimators import available_if

from neuralrules._data._categories import as_categories, spellings
from neuralrules._data._columns import Date, Number
from neuralrules._data._dates import LAST_MOMENT, holds_dates
from neuralrules._data._markers import Markers
from neuralrules._data._numbers import LARGEST, as_numbers
from neuralrules._data._table import check_table, column_of, is_frame
from neuralrules._task._task import Task


class Term(NamedTuple):
    """What a factor multiplies: a column's number, or one of its indicators."""

    column: str
    kind: str  # number, missing, category or rare; "scaled" for a number with knots
    category: str | None = None


# Factors and what they multiply: a term, the positive part of a literal by its number, or None
# for a constant.
Sum: TypeAlias = tuple[tuple[float, Term | int | None], ...]


@dataclass(frozen=True)
class DeclaredColumn:
    """How the text declares a column.

    Attributes
    ----------
    name : str
    terms : tuple of Term
        The terms of the column that rules may use in sums.
    number : Number or None
        The kind and the scale of a column of numbers; its place in the table is not set. None
        for a column of categories.
    """

    name: str
    terms: tuple[Term, ...]
    number: Number | None = None

    @property
    def stand_in(self) -> float | None:
        """The number that replaces a missing number; None for a column of categories.

        In a scaled column this is the column's mean, but it replaces nothing: a missing number
        has the scaled number 0.
        """
        return None if self.number is None else self.number.mean

    def values(self, data: Any, markers: Markers) -> dict[Any, np.ndarray]:
        """The column's terms for some cells, each of shape (n_rows,)."""
        kind = self.number
        if kind is None:
            # A category that training did not have is rare. So is a missing cell if training
            # had none. The dictionary compares whole strings; NumPy ignores NULs at their end.
            rare = Term(self.name, "rare")
            known = {term.category: term for term in self.terms if term != rare}
            table = spellings(known, markers.texts)
            places = {cell: known[name] for cell, name in table.items()}
            names = as_categories(data, markers.texts)[:, 0]
            cells = [places.get(cell, rare) for cell in names]
            codes = {term: code for code, term in enumerate((*self.terms, rare))}
            coded = np.array([codes[cell] for cell in cells])
            return {term: coded == codes[term] for term in self.terms}
        numbers = as_numbers(markers.without_texts(data), self.name)
        if numbers is None:
            raise ValueError(f"Column {self.name!r} must hold numbers.")
        numbers = kind.without_markers(numbers, markers)
        if holds_dates(data) and not isinstance(kind, Date):
            raise ValueError(f"Column {self.name!r} must hold numbers, not dates.")
        if isinstance(kind, Date) and (np.abs(numbers) > LAST_MOMENT).any():
            raise ValueError(
                f"Column {self.name!r} must hold dates, or numbers of days since 1970-01-01."
            )
        if (np.abs(numbers) > LARGEST).any():
            raise ValueError(
                f"Column {self.name!r} holds infinity or a number beyond {LARGEST:.2g}, "
                "which no model takes. Replace it by a finite number, or by NaN if missing."
            )
        holes = np.isnan(numbers)
        number, missing = self.terms
        if kind.knots is not None:
            return {number: np.nan_to_num(kind.knots.scaled(numbers)), missing: holes}
        return {number: np.where(holes, kind.mean, numbers), missing: holes}


class ParsedRule(NamedTuple):
    """A rule as parsed: its values, its literals and, if it is deep, its units."""

    values: np.ndarray
    literals: list[Sum]
    units: list[Sum] | None


def _gives_probabilities(rules: Any) -> bool:
    if not rules.task.gives_probabilities:
        raise AttributeError(
            "predict_proba needs loss='logistic'; these rules have "
            f"loss={rules.task.loss.name!r}."
        )
    return True


@dataclass(frozen=True, eq=False)
class ExactRules:
    """Rules read back from text; they predict what the model predicts.

    The sums of the text are evaluated in float64, one after the other. The result agrees with
    the model to the rounding of the model's float32.

    Attributes
    ----------
    task : Task
        For a regression, the centre is 0. The scale is that of the fit, or 1 if the text does
        not give it. Text labels have dtype object, because NumPy's strings lose NULs at their
        end.
    columns : list of DeclaredColumn
    intercept : ndarray of shape (n_outputs,), float64
    rules : list of ParsedRule
    named : bool or None
        Whether the columns' names are those of a frame. None if the text does not say.
    missing : tuple of str
        The texts that mean missing, besides empty cells.
    """

    task: Task
    columns: list[DeclaredColumn]
    intercept: np.ndarray
    rules: list[ParsedRule] = field(repr=False)
    named: bool | None = None
    missing: tuple[str, ...] = ()

    @property
    def classes(self) -> list[Any]:
        """Class labels; empty for a regression."""
        return self.task.labels

    @property
    def loss(self) -> str:
        """The name of the loss that the rules were trained with."""
        return self.task.loss.name

    @property
    def flat(self) -> bool:
        """Whether a regression predicts (n_rows,) and not (n_rows, n_targets)."""
        return self.task.flat and not self.task.are_classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Intercept and sum of the rules.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for one output, else (n_rows, n_outputs)
        """
        outputs = self._decide(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, (n_rows, n_classes), for ``loss="logistic"``."""
        return self.task.probabilities(self._decide(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes or numbers, in the same shape as the predictions of the model."""
        return self.task.predictions(self._decide(X))

    def _decide(self, X: Any) -> np.ndarray:
        """Intercept and sum of the rules, (n_rows, n_outputs) float64."""
        X = check_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(
                f"X has {X.shape[1]} columns, but the rules were written for "
                f"{len(self.columns)}: {', '.join(column.name for column in self.columns)}."
            )
        terms: dict[Any, np.ndarray] = {None: np.ones(X.shape[0])}
        markers = Markers.of(self.missing)
        names = [str(name) for name in X.columns] if is_frame(X) else []
        for place, column in enumerate(self.columns):
            if names and column.name not in names:
                raise ValueError(f"X has no column {column.name!r}, which the rules name.")
            place_in_X = names.index(column.name) if names else place
            terms |= column.values(column_of(X, place_in_X), markers)
        outputs = np.zeros((X.shape[0], len(self.intercept)))
        for rule in self.rules:
            values = evaluate(rule.literals, terms)
            if rule.units is not None:
                values = evaluate(rule.units, terms | dict(enumerate(np.maximum(values, 0))))
            outputs += np.outer(np.maximum(values.min(axis=0), 0), rule.values)
        return outputs + self.intercept


def evaluate(sums: list[Sum], terms: dict[Any, np.ndarray]) -> np.ndarray:
    """The sums for every row, (n_sums, n_rows) float64; `terms` has each term's values."""
    values = np.zeros((len(sums), len(terms[None])))
    for place, summands in enumerate(sums):
        for factor, term in summands:
            values[place] += factor * terms[term]
    return values
