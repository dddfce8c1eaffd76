"""What a rule asks of one row, in words: "income is 21000, not above 35300 (14300 too low)".

For one row the other columns of a literal are known, so each literal is a plain threshold on
one column. Thresholds are rounded away from the row where it fails them, so that what is asked
for suffices, and towards it where it passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._data._columns import EncodedColumn
from neuralrules._data._dates import date_text
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._literals import (
    DAYS_APART,
    EVERY_ROW,
    indicator_text,
    original_number,
)
from neuralrules._reading._names import in_formula
from neuralrules._reading._numbers import MAX_PRECISION, number
from neuralrules._reading._reach import literal_reach
from neuralrules._reading._words import (
    category_name,
    days_words,
    listed,
    round_step,
    side_words,
)

PRECISION = 3  # digits of a column's deviation
CELL_DIGITS = 6  # of what stands in the row
RULED_OUT = "which is ruled out"  # where any other category would do
SURELY = 1e-9  # of a step: what rounding may add to a number that is on it


class RowOfTable(NamedTuple):
    """One row.

    Attributes
    ----------
    literals : (n_literals,) float64
    encoded : (n_encoded,) float64
    cells : (n_columns,) float64
        Numbers of the table; NaN for what is missing or no number.
    """

    literals: np.ndarray
    encoded: np.ndarray
    cells: np.ndarray


class Need(NamedTuple):
    """What a literal asks of one column of a row, the others being as they are."""

    column: EncodedColumn
    rises: bool
    threshold: float


def row_words(fitted: Fitted, rule: int, row: RowOfTable, kind: str) -> str:
    """How a row stands to the literals of a shallow rule that is a reason of some `kind`.

    Of a rule that is "missed" those it fails are told; of a "weak" one what keeps it from
    firing more, which is its least literal, since the others are in the row's favour; and of
    one "against" all it passes. There, what every row of training passes is told only if
    there is nothing else.
    """
    network, missed = fitted.network, kind == "missed"
    own = range(network.offsets[rule], network.offsets[rule + 1])
    if kind != "against":
        # A row on the bound itself may fail a rule by the rounding of float32 alone.
        least = max(min(row.literals[literal] for literal in own), 0.0)
        chosen = [literal for literal in own if row.literals[literal] <= least]
    else:
        telling = [literal for literal in own if not literal_reach(fitted, literal).always]
        chosen = telling or [j for j in own if not literal_reach(fitted, j).flat]
    needs: dict[int, dict[bool, Need]] = {}
    others: dict[str, str] = {}
    for literal in chosen:
        need = need_of(fitted, literal, row)
        if isinstance(need, str):
            cell = need.partition(", ")[0]
            if others.get(cell, RULED_OUT).endswith(RULED_OUT):  # the other says more
                others[cell] = need
            continue
        sides = needs.setdefault(need.column.source, {})
        held = sides.get(need.rises, need)
        further = need.threshold > held.threshold
        sides[need.rises] = need if further == need.rises else held
    texts = [need_words(fitted, sides, row, missed=missed) for sides in needs.values()]
    return listed([*texts, *others.values()], "and")


def need_of(fitted: Fitted, literal: int, row: RowOfTable) -> Need | str:
    """What a literal asks of the number that matters most, or in words of something else.

    A column that could settle the literal within its range in training comes before others.
    """
    network, encoder = fitted.network, fitted.encoder
    weights = network.weights[literal].astype(np.float64)
    value = float(row.literals[literal])
    settles: list[tuple[bool, float, Need | str]] = []
    done = set()
    for place in np.argsort(-np.abs(weights), kind="stable").tolist():
        feature, weight = network.features[place], weights[place]
        column = encoder.columns[feature]
        if not weight:
            continue
        if column.kind == "number":
            if np.isnan(row.cells[column.source]):
                name = in_formula(encoder.names[column.source])
                settles.append((False, abs(weight), f"{name} is missing"))
                continue
            if column.is_boolean:
                settled, text = truth_need(fitted, row, int(feature), value, float(weight))
                settles.append((settled, abs(weight), text))
                continue
            encoded = row.encoded[feature] - value / weight
            low, high = column.span
            need = Need(column, weight > 0, column.original(encoded))
            settles.append((low <= encoded <= high, abs(weight), need))
        elif column.kind == "missing":
            holds = bool(np.isnan(row.cells[column.source]))
            text = indicator_text(encoder, column, present=holds)
            settles.append((False, abs(weight), text))
        elif column.source not in done:
            done.add(column.source)
            text = category_need(fitted, literal, column.source, row)
            settles.append((bool(text), abs(weight), text))
    settles.sort(key=lambda one: (not one[0], -one[1]))
    return next((need for _, _, need in settles if need), EVERY_ROW)


def truth_need(
    fitted: Fitted, row: RowOfTable, feature: int, value: float, weight: float
) -> tuple[bool, str]:
    """What a row has in a column of booleans, and whether the other would settle a literal."""
    column = fitted.encoder.columns[feature]
    cell = bool(row.cells[column.source])
    text = indicator_text(fitted.encoder, column, present=cell)
    other = float(column.encoded(np.array(float(not cell))))
    turned = value + weight * (other - row.encoded[feature])
    if value <= 0 < turned:
        return True, f"{text}, not {'false' if cell else 'true'}"
    return value > 0 >= turned, text


def category_need(fitted: Fitted, literal: int, source: int, row: RowOfTable) -> str:
    """Which category a row has, and which a literal that it fails would take; else empty."""
    network, encoder = fitted.network, fitted.encoder
    weights = dict(zip(network.features.tolist(), network.weights[literal], strict=True))
    without = value = float(row.literals[literal])
    held, steps = "another value", {}
    for feature, column in enumerate(encoder.columns):
        if column.source != source:
            continue
        low, high = column.span
        steps[column] = float(weights.get(feature, 0.0)) * (high - low)
        if row.encoded[feature] > (low + high) / 2:
            held = category_name(column)
            without -= steps[column]
    name = in_formula(encoder.names[source])
    if value > 0:
        return f"{name} is {held}"
    passing = [category_name(column) for column, step in steps.items() if without + step > 0]
    if without > 0:
        return f"{name} is {held}, {RULED_OUT}"
    return f"{name} is {held}, not {listed(passing, 'or')}" if passing else ""


def need_words(
    fitted: Fitted, sides: dict[bool, Need], row: RowOfTable, *, missed: bool
) -> str:
    """How a number of a row stands to what is asked of it: from below, from above or both."""
    column = next(iter(sides.values())).column
    cell = float(row.cells[column.source])
    shown = f"{in_formula(fitted.encoder.names[column.source])} is {cell_text(column, cell)}"
    if missed:
        gaps = [gap_words(need, cell) for need in sides.values()]
        return f"{shown}, {' and '.join(gaps)}"
    asked = [
        f"{side_words(column, need.rises)} "
        f"{cell_text(column, stepped(need.threshold, column, up=not need.rises))}"
        for need in sides.values()
        if column.lowest <= need.threshold <= column.highest
    ]
    return f"{shown}, {' and '.join(asked)}" if asked else shown


def gap_words(need: Need, cell: float) -> str:
    """By how much a number misses what is asked of it."""
    column, rises = need.column, need.rises
    whole_days = in_whole_days(column, need.threshold) and cell == round(cell)
    # "After the 8th" asks whole days for the 9th.
    bound = stepped(need.threshold, column, up=rises != whole_days)
    gap = number(abs(bound - cell) + whole_days, CELL_DIGITS)
    if column.is_date:
        gap = f"{days_words(gap)} too {'early' if rises else 'late'}"
    else:
        gap = f"{gap} too {'low' if rises else 'high'}"
    return f"not {side_words(column, rises)} {cell_text(column, bound)} ({gap})"


def in_whole_days(column: EncodedColumn, value: float) -> bool:
    """Whether a number of a column is a date that is told without the time of day."""
    return column.is_date and column.unit_at(value) > DAYS_APART


def stepped(value: float, column: EncodedColumn, *, up: bool) -> float:
    """A threshold rounded up or down to a part of the column's deviation."""
    if in_whole_days(column, value):
        return original_number(column, value, PRECISION, "<" if up else ">")
    step = 10.0 ** (1 - PRECISION) * round_step(column.unit_at(value))
    near = value / step
    whole = np.ceil(near - SURELY) if up else np.floor(near + SURELY)
    return float(number(step * whole, MAX_PRECISION - 2))  # 0.7000000000000001 is 0.7


def cell_text(column: EncodedColumn, value: float) -> str:
    """A number of a column as it stands in the table, or a date."""
    return date_text(value) if column.is_date else number(value, CELL_DIGITS)
