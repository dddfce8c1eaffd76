"""A fitted model as a formula: from the cells of a row to the predictions.

    cells          numbers, dates as days, or texts, as `CellReading` says; or missing
    x0, x1, ...    encoded columns
    r0_0, ...      positive parts of the literals of deep rules
    r0, r1, ...    activations of rules
    d0, d1, ...    outputs
    predictions    functions of the outputs

Printers write the formula in other languages. Some printers use standardised columns. Others
use columns in units of the table: such sums are easier to read, but may lose digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from neuralrules._data._categories import number_spellings, spellings
from neuralrules._data._columns import (
    AS_IT_IS,
    Category,
    Date,
    EncodedColumn,
    Number,
    Unit,
    in_original_units,
)
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network

# A mean is far from 0 if its distance is more than this many standard deviations. Doubles have
# 16 digits, so sums with a nearer mean keep 9 digits of a standard deviation.
FAR = 1e6


@dataclass(frozen=True)
class CellReading:
    """How the cells of one column of the table are read.

    The kind is "number", "flag", "date", "text" or "code". A flag is 0 or 1, and may be a
    boolean. A code is a text that may look like a number.
    """

    source: int
    name: str
    kind: str
    missing_texts: tuple[str, ...]  # besides those that mean missing in every table
    missing_numbers: tuple[float, ...]  # or days of dates
    largest: float  # the largest number, or day, that the model takes
    decimal: str  # the decimal mark of numbers in the table of the fit

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "code")

    @property
    def is_date(self) -> bool:
        return self.kind == "date"


@dataclass(frozen=True)
class FormulaColumn:
    """An encoded column as an expression, which is a step of the formula."""

    name: str
    source: int  # the column of the table that it reads
    column: EncodedColumn
    value: ops.Number  # the column before it is standardised
    unit: Unit  # what standardises `value`: mean 0 and scale 1 if it is scaled already

    @property
    def standardised(self) -> ops.Number:
        """The column as the network takes it, before it is rounded to float32."""
        if self.column.in_sums is AS_IT_IS:
            return self.value
        standardised = ops.Standardised(self.value, *self.unit)
        if isinstance(self.value, ops.Indicator):
            return standardised
        return ops.Bounded(standardised, -float(LARGEST), float(LARGEST))

    def in_table_units(self, largest: float) -> FormulaColumn:
        """The column in units of the table, minus its mean if the mean is far from 0.

        Without this shift, w / scale * x and the constant of a literal would cancel each other
        and lose digits. `largest` is the largest number that the column's cells may hold.
        """
        value, (mean, scale) = self.value, self.unit
        if not (isinstance(value, ops.Filled) and isinstance(value.value, ops.Cell)):
            return self
        shift = mean if abs(mean) > FAR * scale else 0.0
        reach = float(LARGEST) * scale
        needs_bounds = largest + abs(mean) > reach
        mean -= shift
        if shift:
            value = ops.Filled(ops.Standardised(value.value, shift), mean)
        if needs_bounds:  # the encoder has the same bounds
            value = ops.Bounded(value, mean - reach, mean + reach)
        return replace(self, value=value, unit=Unit(mean, scale))


class Part(NamedTuple):
    """The positive part of one of a deep rule's literals."""

    name: str
    place: int
    value: ops.Positive


@dataclass(frozen=True)
class RuleFormula:
    """The activation of a rule, and the literals' parts that it uses if the rule is deep."""

    name: str
    parts: tuple[Part, ...]
    activation: ops.Positive


class Formula:
    """A fitted model as a formula, step by step.

    With `in_table_units`, rules add up columns in units of the table instead of standardised
    columns.

    Attributes
    ----------
    network : Network
        The network without columns that have no weight.
    columns : list of FormulaColumn
        The encoded columns that rules look at.
    readings : dict of int to CellReading
        How to read the cells of the table's columns behind `columns`, by their place in the
        table.
    """

    def __init__(self, fitted: Fitted, *, in_table_units: bool) -> None:
        self.in_table_units = in_table_units
        self.encoder: Encoder = fitted.encoder
        self.network: Network = fitted.network.without_unused_features()
        self._link = fitted.task.loss.link
        columns = [
            formula_column(self.encoder, feature) for feature in self.network.features.tolist()
        ]
        decimal = (fitted.notes.get("decimal") or ["."])[0]
        self.readings = {
            source: cell_reading(self.encoder, source, decimal)
            for source in sorted({x.source for x in columns})
        }
        self._units = [AS_IT_IS] * len(columns)
        if in_table_units:
            columns = [x.in_table_units(self.readings[x.source].largest) for x in columns]
            self._units = [x.unit for x in columns]
        self.columns = columns

    @cached_property
    def rules(self) -> list[RuleFormula]:
        """All rules, in their order."""
        return [self._rule(rule) for rule in range(self.network.n_rules)]

    def output(self, output: int, rules: range | None = None) -> ops.Sum:
        """The intercept plus the sum of all rules, or of the given range of rules.

        Rules with the value 0 are left out.
        """
        rules = range(self.network.n_rules) if rules is None else rules
        values = self.network.values[rules.start : rules.stop, output].tolist()
        names = [ops.Named(f"r{rule}") for rule in rules]
        return weighted(values, names, float(self.network.intercept[output]))

    @property
    def predictions(self) -> list[ops.Number]:
        """The predictions of a regression, one for each output."""
        outputs = [ops.Named(f"d{output}") for output in range(self.network.n_outputs)]
        return [self._link.expression(output) for output in outputs]

    def _rule(self, rule: int) -> RuleFormula:
        literals = range(self.network.offsets[rule], self.network.offsets[rule + 1])
        sums = [self.literal(literal) for literal in literals]
        parts: list[Part] = []
        if self.network.deep:
            names = [f"r{rule}_{place}" for place in range(len(sums))]
            layer = self.network.second_layer(rule)
            parts = [
                Part(name, place, ops.Positive(sums[place]))
                for place, name in enumerate(names)
                if layer[:, place].any()
            ]
            shifts = self.network.shifts[literals].tolist()
            sums = [
                weighted(weights, map(ops.Named, names), shift)
                for weights, shift in zip(layer.tolist(), shifts, strict=True)
            ]
        activation = ops.Positive(ops.Smallest(tuple(sums)))
        return RuleFormula(f"r{rule}", tuple(parts), activation)

    def literal(self, literal: int) -> ops.Sum:
        """A literal as a weighted sum of columns."""
        factors, constant = in_original_units(
            self.network.weights[literal].tolist(),
            float(self.network.biases[literal]),
            self._units,
        )
        return weighted(factors, [ops.Named(column.name) for column in self.columns], constant)


def cell_reading(encoder: Encoder, source: int, decimal: str = ".") -> CellReading:
    """How a model reads the cells of one column of the table."""
    columns = encoder.columns_of(source)
    column, largest = columns[0], float(LARGEST)
    if isinstance(column, Number):
        kind, largest = "flag" if is_flag(column) else "number", column.furthest
        kind = "date" if isinstance(column, Date) else kind
    else:
        names = [other.category for other in columns if isinstance(other, Category)]
        kind = "code" if any(name and number_spellings(name) for name in names) else "text"
    markers = encoder.markers
    texts, numbers = tuple(sorted(markers.texts)), column.marked(markers)
    return CellReading(source, encoder.names[source], kind, texts, numbers, largest, decimal)


def is_flag(column: EncodedColumn) -> bool:
    """Whether a column may be boolean: its variance is that of zeros and ones with its mean."""
    expected = column.mean * (1 - column.mean)
    return abs(column.scale**2 - expected) < 1e-6 * expected


def formula_column(encoder: Encoder, feature: int) -> FormulaColumn:
    """An encoded column as a step of a formula."""
    column = encoder.columns[feature]
    own = encoder.columns_of(column.source)
    # Cells with a marker were read as missing before this step, so markers are not needed here.
    known = spellings(other.category for other in own if isinstance(other, Category))
    unit = Unit(column.in_sums.mean, column.in_sums.scale)
    return FormulaColumn(f"x{feature}", column.source, column, column.expression(known), unit)


def weighted(
    factors: Iterable[float], values: Iterable[ops.Number], constant: float
) -> ops.Sum:
    """A sum of values times factors, without those whose factor is 0."""
    pairs = zip(factors, values, strict=True)
    return ops.Sum(tuple((factor, value) for factor, value in pairs if factor), constant)
