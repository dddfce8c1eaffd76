"""Where rules fire in a plane of two columns, all other columns held at one row.

A plane is a grid of encoded rows: those encoded columns that come from one of the two
columns vary, the others are those of a reference row. Encoding works column by column,
so each grid point is encoded exactly as a row of the user's table would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._charts._texts import plain_value
from neuralrules._data._numbers import LARGEST, holds_booleans
from neuralrules._data._table import column_of, is_frame
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules.plot._drawing import check_position, is_whole

GRID_CELLS = 2**21  # cells of the encoded grid held at a time
MARGIN = 0.04  # of the data's range, left free around it


@dataclass(frozen=True)
class Direction:
    """One of the two columns: where the grid and the rows of a table lie along it.

    Attributes
    ----------
    source : int
        Column of the user's table.
    name : str
    values : (n,) float64
        Grid in the column's own units; 0, 1, 2, ... for categories.
    categories : list of str or None
        What the numbers stand for; None for a column of numbers.
    features : (m,) int
        Encoded columns that come from this column.
    encoded : (n, m) float32
        Their values along the grid.
    points : (n_rows,) float64
        Where the rows of the table lie, NaN where the cell is missing.
    """

    source: int
    name: str
    values: np.ndarray
    categories: list[str] | None
    features: np.ndarray
    encoded: np.ndarray
    points: np.ndarray


def chosen_rules(fitted: Fitted, rules: Any) -> list[int]:
    """Checked rule numbers; by default the two most important ones."""
    n = fitted.network.n_rules
    if rules is None:
        importance = rule_importance(fitted.task, fitted.network, fitted.activity.activation)
        return np.argsort(-importance, kind="stable")[:2].tolist()
    if not is_whole(rules) and (isinstance(rules, str) or not hasattr(rules, "__iter__")):
        raise ValueError(
            f"rules={rules!r} must be a rule number or a list of them. For example rules=[0]."
        )
    asked = [rules] if is_whole(rules) else list(rules)
    if not asked or len(set(asked)) < len(asked):
        raise ValueError(
            f"rules={rules!r} must hold at least one rule number, and each only once. "
            "For example rules=[0]."
        )
    return [check_position("rules", rule, n, "rules of this model") for rule in asked]


def chosen_columns(fitted: Fitted, columns: Any, rules: list[int]) -> tuple[int, int]:
    """Places of two columns; by default those of largest weight in the rules."""
    n = len(fitted.encoder.names)
    if columns is None:
        if n < 2:
            raise ValueError(
                "columns=None: the table has only one column, and a plane needs two. "
                "Read this model with rules_text()."
            )
        network = fitted.network.take(np.array(rules))
        weights = np.zeros(n)
        for feature, column in zip(network.features, network.weights.T, strict=True):
            source = fitted.encoder.columns[feature].source
            weights[source] = max(weights[source], float(np.abs(column).max()))
        best = np.argsort(-weights, kind="stable")[:2]
        return int(best.min()), int(best.max())
    if isinstance(columns, str) or not hasattr(columns, "__len__") or len(columns) != 2:
        raise ValueError(
            f"columns={columns!r} must be two column names or places, for example "
            "columns=(0, 1)."
        )
    first, second = (find_column(fitted, column, columns) for column in columns)
    if first == second:
        raise ValueError(
            f"columns={columns!r} names column {fitted.encoder.names[first]!r} twice. "
            "Give two different columns."
        )
    return first, second


def drawn_targets(fitted: Fitted, n_rows: int, y: Any, target: int) -> np.ndarray | None:
    """Class codes or one target of each row, (n_rows,) float64."""
    if y is None:
        return None
    array = np.asarray(y)
    if array.ndim == 0 or len(array) != n_rows:
        given = f"{len(array)} rows" if array.ndim else "no rows"
        raise ValueError(
            f"y has {given} and X has {n_rows}. Give one class or target for each row of X, "
            "or y=None."
        )
    classes = fitted.task.classes
    if classes is None:
        array = array.reshape(n_rows, -1)
        place = check_position("target", target, array.shape[1], "targets in y")
        return array[:, place].astype(np.float64)
    codes = np.full(n_rows, -1.0)
    for code, label in enumerate(classes):
        codes[array.ravel() == label] = code
    if (codes < 0).any():
        strange = plain_value(array.ravel()[codes < 0][0])
        raise ValueError(
            f"y holds the class {strange!r}, which the model does not know. Its classes are "
            f"{', '.join(repr(plain_value(label)) for label in classes)}."
        )
    return codes


def find_column(fitted: Fitted, column: Any, columns: Any) -> int:
    """Place of a column that is given by its name or by its place."""
    names = fitted.encoder.names
    if is_whole(column):
        if 0 <= column < len(names):
            return int(column)
    elif str(column) in names:
        return names.index(str(column))
    listed = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    raise ValueError(
        f"columns={columns!r}: the table has no column {column!r}. Give two names out of "
        f"{listed}, or two places from 0 to {len(names) - 1}."
    )


def direction(fitted: Fitted, X: Any, source: int, n_grid: int) -> Direction:
    """The grid along one column of a checked table X."""
    encoder = fitted.encoder
    features = np.flatnonzero([column.source == source for column in encoder.columns])
    numeric = encoder.columns[features[0]].kind == "number"
    make = number_line if numeric else category_line
    values, categories, raw, points = make(fitted, X, features, n_grid)
    if not np.isfinite(points).any():
        raise ValueError(
            f"columns: every cell of column {encoder.names[source]!r} of X is missing or "
            "unknown to the model, so it spans no axis. Give another column, or other rows."
        )
    scaled = [encoder.columns[f].encoded(raw[:, i]) for i, f in enumerate(features)]
    encoded = np.clip(np.stack(scaled, axis=1), -LARGEST, LARGEST).astype(np.float32)
    name = encoder.names[source]
    return Direction(source, name, values, categories, features, encoded, points)


def number_line(
    fitted: Fitted, X: Any, features: np.ndarray, n_grid: int
) -> tuple[np.ndarray, list[str] | None, np.ndarray, np.ndarray]:
    """Grid, names, raw encoded columns along the grid, and points, of numbers."""
    encoded_columns = [fitted.encoder.columns[feature] for feature in features]
    source = encoded_columns[0].source
    points = fitted.encoder.numbers(X, source)
    categories = None
    if holds_booleans(column_of(X, source)):
        values, categories = np.arange(2.0), ["False", "True"]
    else:
        present = points[np.isfinite(points)]
        low, high = (present.min(), present.max()) if present.size else (0.0, 0.0)
        room = MARGIN * (high - low) or encoded_columns[0].scale
        values = np.linspace(low - room, high + room, n_grid)
    # Beside the number there may be the indicator of its holes: the grid has none.
    raw = [values if column.kind == "number" else 0 * values for column in encoded_columns]
    return values, categories, np.stack(raw, axis=1), points


def category_line(
    fitted: Fitted, X: Any, features: np.ndarray, n_grid: int
) -> tuple[np.ndarray, list[str] | None, np.ndarray, np.ndarray]:
    """The same of categories: those that the model knows, the rare ones together."""
    encoded_columns = [fitted.encoder.columns[feature] for feature in features]
    shown = [
        place
        for place, encoded in enumerate(encoded_columns)
        if encoded.kind == "rare" or encoded.category is not None
    ]
    names = [str(encoded_columns[place].category) for place in shown]
    source = encoded_columns[0].source
    place_of = {
        spelling: float(names.index(name))
        for spelling, name in fitted.encoder.spellings(source).items()
        if name is not None
    }
    rare = np.nan
    if shown and encoded_columns[shown[-1]].kind == "rare":
        names[-1], rare = "a rare value", len(shown) - 1.0
    cells = fitted.encoder.categories(X, source)
    points = np.array(
        [np.nan if cell is None else place_of.get(cell, rare) for cell in cells], float
    )
    raw = np.eye(len(encoded_columns))[shown]
    return np.arange(float(len(shown))), names, raw, points


def reference_cells(fitted: Fitted, X: Any, others: Any) -> list[Any]:
    """One cell for each column: what `others` says, else the middle or most frequent.

    The middle is the lower median, a number that occurs: nobody has 2.5 children.
    """
    numeric = {column.source for column in fitted.encoder.columns if column.kind == "number"}
    given = given_cells(fitted, others)
    cells: list[Any] = []
    for source in range(len(fitted.encoder.names)):
        if source in given:
            cells.append(given[source])
        elif source in numeric:
            numbers = fitted.encoder.numbers(X, source)
            present = np.sort(numbers[~np.isnan(numbers)])
            cells.append(float(present[(len(present) - 1) // 2]) if present.size else np.nan)
        else:
            names = fitted.encoder.categories(X, source)
            known = [name for name in names if name is not None]
            categories, counts = np.unique(np.array(known, str), return_counts=True)
            cells.append(str(categories[counts.argmax()]) if known else None)
    return cells


def given_cells(fitted: Fitted, others: Any) -> dict[int, Any]:
    """Cells that the user gave as a row or as a mapping, by the place of their column."""
    names = fitted.encoder.names
    if others is None:
        return {}
    if is_frame(others):
        if others.shape[0] != 1:
            raise ValueError(
                f"others is a frame of {others.shape[0]} rows, and must be one row. "
                "Give for example X[3:4]."
            )
        columns = range(others.shape[1])
        others = {others.columns[i]: np.asarray(column_of(others, i))[0] for i in columns}
    elif hasattr(others, "to_dict"):  # a row of a pandas frame
        others = others.to_dict()
    if not isinstance(others, Mapping):
        row = np.asarray(others, object)
        if row.size != len(names) or row.ndim > 2:
            raise ValueError(
                f"others has the shape {row.shape}, and must be one row of {len(names)} "
                "cells, or a mapping from column names to cells."
            )
        return dict(enumerate(row.ravel()))
    unknown = [name for name in others if str(name) not in names]
    if unknown:
        listed = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
        raise ValueError(
            f"others names the column {unknown[0]!r}, which the table does not have. "
            f"Its columns are {listed}."
        )
    return {names.index(str(name)): plain_value(cell) for name, cell in others.items()}


def supports(
    fitted: Fitted,
    engine: Engine,
    rules: list[int],
    x: Direction,
    y: Direction,
    cells: list[Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Which grid points the rules' leaves and the rules as they are now hold.

    Returns
    -------
    before, after : (n_rules, n_y, n_x) bool
    """
    table = np.empty((1, len(cells)), object)
    table[0] = cells
    reference = fitted.encoder.transform(table)
    kept = np.array(rules)
    network, leaves = fitted.network.take(kept), fitted.rules.take(kept)
    n_x, n_y = len(x.values), len(y.values)
    before, after = np.empty((2, len(rules), n_y, n_x), bool)
    size = max(1, GRID_CELLS // (n_x * reference.shape[1]))
    for start in range(0, n_y, size):
        part = slice(start, min(start + size, n_y))
        n = part.stop - part.start
        rows = np.tile(reference, (n * n_x, 1))
        rows[:, x.features] = np.tile(x.encoded, (n, 1))
        rows[:, y.features] = np.repeat(y.encoded[part], n_x, axis=0)
        shape = (len(rules), n, n_x)
        before[:, part] = leaves.grew and leaves.covers(rows).T.reshape(shape)
        after[:, part] = (engine.activations(network, rows) > 0).T.reshape(shape)
    return before, after
