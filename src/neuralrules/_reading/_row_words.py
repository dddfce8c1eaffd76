"""What a rule asks of one row, in words: "income is 21000, not above 35300 (14300 too low)".

In one row, all columns but one can be held at their values. Each literal is then a plain
threshold on the one column. A threshold that the row fails is rounded away from the row, so
that a number beyond the shown threshold always passes. A threshold that the row passes is
rounded towards the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._data._columns import Flag, Indicator, Missing
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import indicator_words, number_words, state_text
from neuralrules._reading._conditions import Bound
from neuralrules._reading._names import in_formula
from neuralrules._reading._reach import literal_reach
from neuralrules._reading._wording import EVERY_ROW, listed

RULED_OUT = "which is ruled out"  # said if the row would pass without its category


class RowOfTable(NamedTuple):
    """One row of the table: its literals, encoded columns and numbers.

    Attributes
    ----------
    literals : (n_literals,) float64
    encoded : (n_encoded,) float64
    cells : (n_columns,) float64
        Numbers of the table; NaN for missing cells and categories.
    """

    literals: np.ndarray
    encoded: np.ndarray
    cells: np.ndarray


class CellFact(NamedTuple):
    """What a row has in a column, and what a literal asks for instead.

    Attributes
    ----------
    has : str
        "region is north".
    asked : str
        "not south or east"; empty if there is nothing to ask for.
    """

    has: str
    asked: str = ""


def row_words(fitted: Fitted, rule: int, row: RowOfTable, kind: str) -> str:
    """Which literals of a shallow rule a row passes or fails, in words.

    `kind` is the kind of reason that the rule is. For a "missed" rule the text names the
    literals that the row fails. For a "weak" rule the text names the smallest literal, because
    it keeps the rule from firing more. For a rule "against" the row the text names all
    literals. It names literals that every row of training passes only if there are no others.
    """
    network, missed = fitted.network, kind == "missed"
    literals = range(network.offsets[rule], network.offsets[rule + 1])
    if kind != "against":
        # If a row fails a rule only by rounding of float32, its smallest literal is named.
        least = max(min(row.literals[literal] for literal in literals), 0.0)
        chosen = [literal for literal in literals if row.literals[literal] <= least]
    else:
        reaches = {literal: literal_reach(fitted, literal) for literal in literals}
        chosen = [literal for literal in literals if not reaches[literal].always]
        chosen = chosen or [literal for literal in literals if not reaches[literal].flat]
    bounds: dict[int, dict[bool, Bound]] = {}
    facts: dict[str, CellFact] = {}
    for literal in chosen:
        found = condition_for_row(fitted, literal, row)
        if isinstance(found, CellFact):
            if found.has not in facts or facts[found.has].asked == RULED_OUT:
                facts[found.has] = found  # "not south" says more than "which is ruled out"
            continue
        sides = bounds.setdefault(found.column.source, {})
        held = sides.get(found.rises, found)
        further = found.threshold > held.threshold
        sides[found.rises] = found if further == found.rises else held
    texts = [
        bounds_words(fitted, list(own.values()), row, missed=missed) for own in bounds.values()
    ]
    texts += [f"{has}, {asked}" if asked else has for has, asked in facts.values()]
    return listed(texts, "and")


def condition_for_row(fitted: Fitted, literal: int, row: RowOfTable) -> Bound | CellFact:
    """What a literal asks of one column, if the other columns stay as they are in the row.

    The column chosen is the one of largest weight. Columns that alone can decide whether the
    literal holds, within their range in training, come before the others.
    """
    network, encoder = fitted.network, fitted.encoder
    weights = network.weights[literal].astype(np.float64)
    value = float(row.literals[literal])
    settles: list[tuple[bool, float, Bound | CellFact]] = []
    done = set()
    for place in np.argsort(-np.abs(weights), kind="stable").tolist():
        feature, weight = int(network.features[place]), float(weights[place])
        column = encoder.columns[feature]
        if not weight:
            continue
        found: Bound | CellFact | None
        if isinstance(column, Missing):
            holds = bool(np.isnan(row.cells[column.source]))
            settled, found = False, CellFact(state_text(encoder, column, present=holds))
        elif isinstance(column, Indicator):
            if column.source in done:
                continue
            done.add(column.source)
            found = category_fact(fitted, literal, column.source, row)
            settled = True
        elif np.isnan(row.cells[column.source]):
            name = in_formula(encoder.names[column.source])
            settled, found = False, CellFact(f"{name} is missing")
        elif isinstance(column, Flag):
            settled, found = truth_fact(fitted, row, feature, value, weight)
        else:
            encoded = row.encoded[feature] - value / weight
            low, high = column.span
            slope = weight / column.in_sums.scale
            settled = bool(low <= encoded <= high)
            found = Bound(column, weight > 0, column.original(encoded), slope)
        if found is not None:
            settles.append((settled, abs(weight), found))
    settles.sort(key=lambda one: (not one[0], -one[1]))
    return settles[0][2] if settles else CellFact(EVERY_ROW)


def truth_fact(
    fitted: Fitted, row: RowOfTable, feature: int, value: float, weight: float
) -> tuple[bool, CellFact]:
    """Whether the other truth value would change if a literal holds, and what the row has."""
    column = fitted.encoder.columns[feature]
    cell = bool(row.cells[column.source])
    text = state_text(fitted.encoder, column, present=cell)
    other = float(column.encoded(np.array(float(not cell))))
    turned = value + weight * (other - row.encoded[feature])
    if value <= 0 < turned:
        return True, CellFact(text, f"not {'false' if cell else 'true'}")
    return value > 0 >= turned, CellFact(text)


def category_fact(
    fitted: Fitted, literal: int, source: int, row: RowOfTable
) -> CellFact | None:
    """The category of a row and, if the row fails a literal, the categories that would pass.

    None if the row fails the literal with every category.
    """
    network, encoder = fitted.network, fitted.encoder
    weights = dict(zip(network.features.tolist(), network.weights[literal], strict=True))
    without = value = float(row.literals[literal])
    held, steps = "another value", []
    for feature, column in enumerate(encoder.columns):
        if column.source != source:
            continue
        category = indicator_words(encoder, column).category
        low, high = column.span
        step = float(weights.get(feature, 0.0)) * (high - low)
        steps.append((category, step))
        if row.encoded[feature] > (low + high) / 2:
            held = category
            without -= step
    has = f"{in_formula(encoder.names[source])} is {held}"
    if value > 0:
        return CellFact(has)
    passing = [category for category, step in steps if without + step > 0]
    if without > 0:
        return CellFact(has, RULED_OUT)
    return CellFact(has, f"not {listed(passing, 'or')}") if passing else None


def bounds_words(fitted: Fitted, bounds: list[Bound], row: RowOfTable, *, missed: bool) -> str:
    """A number of a row and the bounds on it, in words: from below, from above or both."""
    column = bounds[0].column
    words, cell = number_words(fitted.encoder, column), float(row.cells[column.source])
    shown = f"{words.name} is {words.cell(cell)}"
    if missed:
        gaps = [words.gap(bound.threshold, cell, rises=bound.rises) for bound in bounds]
        return f"{shown}, {' and '.join(gaps)}"
    asked = []
    for bound in bounds:
        if column.lowest <= bound.threshold <= column.highest:
            threshold = words.threshold_for_row(bound.threshold, up=not bound.rises)
            asked.append(f"{words.side(bound.rises)} {words.cell(threshold)}")
    return f"{shown}, {' and '.join(asked)}" if asked else shown
