"""Where rules fire in the plane of two columns, while all other columns keep fixed cells.

The plane is a grid of encoded rows. Only the encoded columns that come from the two columns
vary. All other encoded columns have the values of a reference row. The values of the grid are
encoded in the same way as the user's table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuralrules._charts._texts import plain_value
from neuralrules._data._columns import Categories, Category, Date, Flag, Number, Rare
from neuralrules._data._table import column_of, is_frame
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_position, is_whole

GRID_CELLS = 2**21  # most cells of the encoded grid that are in memory at a time
MARGIN = 0.04  # room around the data, as a share of its range


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Supports:
    """Where rules fire over two columns: as tree leaves and after training.

    `SupportDisplay` documents the fields.
    """

    rules: list[int]
    columns: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    before: np.ndarray
    after: np.ndarray
    points: np.ndarray
    x_categories: list[str] | None = None
    y_categories: list[str] | None = None
    targets: np.ndarray | None = None
    reference: dict[str, Any] = field(default_factory=dict)
    classes: list[Any] | None = None
    title_note: str = ""
    dates: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, eq=False)
class GridLine:
    """One of the two columns: the grid along it, and the positions of the table's rows."""

    values: np.ndarray  # (n,) float64 in the column's own units; 0, 1, 2, ... for categories
    categories: list[str] | None  # that the values stand for; None for a column of numbers
    features: np.ndarray  # (m,) int: the encoded columns that come from this column
    encoded: np.ndarray  # (n, m) float32: values of these encoded columns along the grid
    points: np.ndarray  # (n_rows,) float64: position of each row; NaN if its cell is missing


def supports_of(
    fitted: Fitted,
    engine: Engine,
    X: Any,
    y: Any,
    *,
    rules: Any,
    columns: Any,
    others: Any,
    target: int,
    grid_resolution: int,
) -> Supports:
    """The supports of rules over the range of two columns of a checked table X.

    The parameters are those of `SupportDisplay.from_estimator`.
    """
    names, classes = fitted.encoder.names, fitted.task.classes
    chosen = chosen_rules(fitted, rules)
    sources = chosen_columns(fitted, columns, chosen)
    x, y_line = (grid_line(fitted, X, source, grid_resolution) for source in sources)
    cells = reference_cells(fitted, X, others)
    before, after = supports(fitted, engine, chosen, x, y_line, cells)
    points = np.column_stack([x.points, y_line.points])
    present = np.isfinite(points).all(axis=1)
    targets = drawn_targets(fitted, X.shape[0], y, target)
    held = {names[i]: cell for i, cell in enumerate(cells) if i not in sources}
    at = "median or mode" if others is None else "the row given"
    first, second = (isinstance(fitted.encoder.columns_of(s)[0], Date) for s in sources)
    return Supports(
        rules=chosen,
        columns=(names[sources[0]], names[sources[1]]),
        x=x.values,
        y=y_line.values,
        before=before,
        after=after,
        points=points[present],
        x_categories=x.categories,
        y_categories=y_line.categories,
        targets=None if targets is None else targets[present],
        reference=held,
        classes=None if classes is None else list(classes),
        title_note=f"other columns at {at}" if held else "",
        dates=(first, second),
    )


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
    """Places of two columns, by default the two with the largest weights in the rules."""
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
    """The class code or one target of each row, (n_rows,) float64; None without y."""
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
    raise ValueError(
        f"columns={columns!r}: the table has no column {column!r}. Give two names out of "
        f"{listed(names)}, or two places from 0 to {len(names) - 1}."
    )


def listed(names: list[str]) -> str:
    """The first names of columns in quotes, for messages."""
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")


def grid_line(fitted: Fitted, X: Any, source: int, n_values: int) -> GridLine:
    """The grid along one column of a checked table X."""
    encoder = fitted.encoder
    columns, cells = encoder.columns_of(source), encoder.cells(X, source)
    categories: list[str] | None = None
    grid: Any = np.empty(0)
    if isinstance(cells, Categories):
        # The grid has one cell for each category that the model knows. If rare categories share
        # an indicator, one more cell stands for all of them.
        known = {
            cells.places[column.category]: column.category
            for column in columns
            if isinstance(column, Category) and column.category is not None
        }
        if any(isinstance(column, Rare) for column in columns):
            known[-1] = "a rare value"
        categories, values = list(known.values()), np.arange(float(len(known)))
        place_of = dict(zip(known, values.tolist(), strict=True))
        points = np.array([place_of.get(code, np.nan) for code in cells.codes.tolist()], float)
        points[[name is None for name in encoder.categories(X, source)]] = np.nan
        grid = Categories(np.array(list(known), np.int64), cells.places)
    else:
        points = cells
        present = points[np.isfinite(points)]
        if isinstance(columns[0], Flag):
            grid, categories = np.arange(2.0), ["False", "True"]
        elif present.size:
            room = MARGIN * (present.max() - present.min()) or columns[0].scale
            grid = np.linspace(present.min() - room, present.max() + room, n_values)
        values = grid
    if not np.isfinite(points).any():
        raise ValueError(
            f"columns: every cell of column {encoder.names[source]!r} of X is missing or "
            "unknown to the model, so it spans no axis. Give another column, or other rows."
        )
    features = np.flatnonzero([column.source == source for column in encoder.columns])
    encoded = np.stack([column.encode(grid) for column in columns], axis=1)
    return GridLine(values, categories, features, encoded, points)


def reference_cells(fitted: Fitted, X: Any, others: Any) -> list[Any]:
    """One cell for each column: the cell in `others`, the median, or the most frequent cell.

    The median is the lower median, because it is a number that occurs in the column: nobody
    has 2.5 children.
    """
    numeric = {column.source for column in fitted.encoder.columns if isinstance(column, Number)}
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
    """The cells of a row or mapping that the user gave, by the place of their column."""
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
        raise ValueError(
            f"others names the column {unknown[0]!r}, which the table does not have. "
            f"Its columns are {listed(names)}."
        )
    return {names.index(str(name)): plain_value(cell) for name, cell in others.items()}


def supports(
    fitted: Fitted, engine: Engine, rules: list[int], x: GridLine, y: GridLine, cells: list[Any]
) -> np.ndarray:
    """Which grid points are inside each rule's tree leaf, and inside the trained rule.

    Returns
    -------
    (2, n_rules, n_y, n_x) bool
    """
    table = np.empty((1, len(cells)), object)
    table[0] = cells
    reference = fitted.encoder.transform(table)
    kept = np.array(rules)
    network, leaves = fitted.network.take(kept), fitted.rules.take(kept)
    n_x, n_y = len(x.values), len(y.values)
    inside = np.empty((2, len(rules), n_y, n_x), bool)
    size = max(1, GRID_CELLS // (n_x * reference.shape[1]))
    for start in range(0, n_y, size):
        part = slice(start, min(start + size, n_y))
        n = part.stop - part.start
        rows = np.tile(reference, (n * n_x, 1))
        rows[:, x.features] = np.tile(x.encoded, (n, 1))
        rows[:, y.features] = np.repeat(y.encoded[part], n_x, axis=0)
        shape = (len(rules), n, n_x)
        inside[0, :, part] = leaves.grew and leaves.covers(rows).T.reshape(shape)
        inside[1, :, part] = (engine.activations(network, rows) > 0).T.reshape(shape)
    return inside
