"""Make each part of a model from the texts and arrays that belong to the part."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from neuralrules._data._columns import (
    COLUMN_TYPES,
    Category,
    EncodedColumn,
    Number,
    Rare,
)
from neuralrules._data._encoder import SMALLEST_SCALE, Encoder
from neuralrules._data._markers import LONGEST_MARKER, MOST_MARKERS
from neuralrules._data._numbers import LARGEST
from neuralrules._data._scaling import Knots
from neuralrules._engine._adam import Moments
from neuralrules._files._container import MOST_ROWS, Contents, refuse, shown
from neuralrules._fitted._activity import Activity
from neuralrules._fitted._performance import BINS, Performance
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._rules._rules import ALL_FROZEN, FREE, WRITTEN, Rules
from neuralrules._task._task import Task
from neuralrules._training._training import State

TYPES = {kind.stored_as: kind for kind in COLUMN_TYPES}
# No cell of a table is larger than LARGEST, but rounding may exceed it a little.
FURTHEST = 4 * float(LARGEST)


def encoder_from(contents: Contents) -> Encoder:
    names, records = contents.texts("names"), contents.value("columns", list)
    n_columns = len(records)

    def numbers(name: str, low: float = -FURTHEST) -> list[float]:
        """A number of each encoded column."""
        shape = (n_columns,)
        array = contents.array(f"encoder.{name}", np.float64, shape, low=low, high=FURTHEST)
        return array.tolist()

    parts: dict[str, list[Any]] = {
        "mean": numbers("mean"),
        "scale": numbers("scale", SMALLEST_SCALE),
        "lowest": numbers("lowest"),
        "highest": numbers("highest"),
        "knots": knots_from(contents, n_columns),
    }
    columns = [
        column_from(record, len(names), {name: own[place] for name, own in parts.items()})
        for place, record in enumerate(records)
    ]
    check_columns(columns, len(names))
    markers = contents.texts("missing")
    if len(markers) > MOST_MARKERS or any(len(text) > LONGEST_MARKER for text in markers):
        refuse(
            f"it names more than {MOST_MARKERS:,} texts that mean missing, or one of more than "
            f"{LONGEST_MARKER:,} characters"
        )
    return Encoder(names, columns, contents.value("named", bool), tuple(markers))


def knots_from(contents: Contents, n_columns: int) -> list[Knots | None]:
    """The knots of each encoded column, or None if the column is standardised."""
    if "encoder.knot_offsets" not in contents.arrays:
        return [None] * n_columns
    offsets = contents.offsets("encoder.knot_offsets", empty=True)
    if len(offsets) - 1 != n_columns:
        refuse(f"it has knots of {len(offsets) - 1} columns, but {n_columns} columns")
    x, z = (
        contents.array(f"encoder.knots_{name}", np.float64, (int(offsets[-1]),))
        for name in "xz"
    )
    if (np.abs([x, z]) > LARGEST).any():
        refuse("its knots lie beyond all numbers that a model takes")
    result: list[Knots | None] = []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        own_x, own_z = x[first:last], z[first:last]
        if first == last:
            result.append(None)
            continue
        rises = (np.diff([own_x, own_z]) > 0).all() and own_z[0] <= 0 <= own_z[-1]
        if last - first == 1 or not rises:
            refuse("the knots of a column are less than two, or do not rise through 0")
        result.append(Knots(tuple(own_x.tolist()), tuple(own_z.tolist())))
    return result


def column_from(record: Any, n_names: int, parts: dict[str, Any]) -> EncodedColumn:
    """One encoded column: `record` is its `EncodedColumn.record`, `parts` its other fields."""
    if not isinstance(record, list) or len(record) != 3:
        refuse(f"the column {shown(record)} is not a source, a kind and a category")
    source, name, category = record
    kind = TYPES.get(name) if type(name) is str else None
    if type(source) is not int or not 0 <= source < n_names or kind is None:
        refuse(f"the column {shown(record)} is none of the table")
    if parts["lowest"] > parts["highest"]:
        refuse("the lowest number of a column is above the highest")
    if category is not None and (kind is not Category or type(category) is not str):
        refuse(f"the column {shown(record)} has a category that is no text")
    if not issubclass(kind, Number) and parts.pop("knots") is not None:
        refuse(f"the column {shown(record)} has knots, but holds no numbers")
    if kind is Category:
        parts["category"] = category
    return kind(source, **parts)


def check_columns(columns: list[EncodedColumn], n_names: int) -> None:
    """Refuse columns that no encoder learns: too many, too few, or in the wrong order."""
    numbers, holes, categorical = (
        {column.source for column in columns if column.rank == rank} for rank in range(3)
    )
    keys = {(one.rank, *one.record[::2], type(one) is Rare) for one in columns}
    if (
        columns != sorted(columns, key=lambda one: (one.rank, one.source, type(one) is Rare))
        or len(keys) < len(columns)
        or not holes <= numbers
        or categorical & numbers
        or categorical | numbers != set(range(n_names))
        or not n_names
    ):
        refuse("its columns are not those of a table")


def network_from(contents: Contents, n_columns: int, n_outputs: int) -> Network:
    """The network as it is trained, for standardised targets."""
    offsets = contents.offsets("network.offsets", empty=False)
    n_rules, n_literals = len(offsets) - 1, int(offsets[-1])
    lengths = np.diff(offsets).astype(object)  # Python integers: no overflow
    column_offsets = contents.offsets("network.column_offsets", empty=True)
    if len(column_offsets) != len(offsets):
        refuse(f"it has columns of {len(column_offsets) - 1} rules, but {n_rules} rules")
    n_owned = int(column_offsets[-1])
    columns = contents.indices("network.columns", np.int32, n_owned, 0, n_columns)
    begins = np.zeros(n_owned + 1, bool)
    begins[column_offsets] = True
    if not ((columns[:-1] < columns[1:]) | begins[1:-1]).all():
        refuse("the array 'network.columns' does not ascend within each rule")
    deep = "network.mixing" in contents.arrays and contents.arrays["network.mixing"].size > 0
    shapes = {
        "own_weights": (int((lengths * np.diff(column_offsets).astype(object)).sum()),),
        "biases": (n_literals,),
        "values": (n_rules, n_outputs),
        "mixing": (int((lengths**2).sum()) * deep,),
        "shifts": (n_literals * deep,),
    }
    network = Network(
        columns=columns,
        column_offsets=column_offsets,
        offsets=offsets,
        **{
            name: contents.array(f"network.{name}", np.float32, shape)
            for name, shape in shapes.items()
        },
        intercept=contents.array("network.intercept", np.float64, (n_outputs,)),
        origins=contents.indices("network.origins", np.int64, n_literals, -1, n_literals),
    )
    if (np.abs(network.intercept) > np.finfo(np.float32).max).any():  # trained in float32
        refuse("the array 'network.intercept' holds a number that is too large")
    return network


def rules_from(contents: Contents, network: Network, n_columns: int, task: Task) -> Rules:
    """The tree rules, one for each neural rule of the network."""
    offsets = contents.offsets("rules.offsets", empty=True)
    n_rules, n_literals = network.n_rules, int(offsets[-1])
    if len(offsets) - 1 != n_rules:
        refuse(f"it has {len(offsets) - 1} tree rules for {n_rules} neural ones")
    signs = contents.array("rules.signs", np.int8, (n_literals,))
    if (np.abs(signs) != 1).any():
        refuse("the array 'rules.signs' holds something else than -1 and 1")
    owner = np.repeat(np.arange(n_rules), np.diff(network.offsets))
    if (network.origins >= np.diff(offsets)[owner]).any():
        refuse("the array 'network.origins' points outside of the tree rules")
    frozen = None  # without frozen rules, a file leaves this array out
    if "rules.frozen" in contents.arrays:
        frozen = contents.indices("rules.frozen", np.int8, n_rules, FREE, ALL_FROZEN + 1)
    return Rules(
        features=contents.indices("rules.features", np.int32, n_literals, 0, n_columns),
        signs=signs,
        thresholds=contents.array("rules.thresholds", np.float32, (n_literals,)),
        offsets=offsets,
        values=contents.array("rules.values", np.float64, (n_rules, network.n_outputs)),
        n=contents.amounts("rules.n", (n_rules,)),
        totals=totals_from(contents, "rules.totals", task, n_rules),
        scores=contents.array("rules.scores", np.float64, (n_rules,), low=0),
        trees=contents.indices("rules.trees", np.int32, n_rules, WRITTEN, 2**31),
        n_training=contents.amount("n_training"),
        n_classes=task.n_classes,
        frozen=frozen,
    )


def state_from(contents: Contents, network: Network) -> State:
    """The state of training. Without moments, training of this network has not begun."""
    own = network.parameters
    means, squares = own.zeros(), own.zeros()
    if any(name.startswith(("means.", "squares.")) for name in contents.arrays):
        means, squares = (
            Parameters(
                **{
                    part: contents.array(f"{name}.{part}", np.float32, array.shape)
                    for part, array in own._asdict().items()
                }
            )
            for name in ("means", "squares")
        )
    if any((array < 0).any() for array in squares):
        refuse("its squared gradients hold a negative number")
    return State(network, Moments(means, squares, contents.count("n_steps")))


def totals_from(contents: Contents, name: str, task: Task, *n_rules: int) -> np.ndarray:
    """Numbers of rows of each class, or sums of targets, which may be negative."""
    shape = (*n_rules, task.n_totals)
    if task.are_classes:
        return contents.amounts(name, shape)
    return contents.array(name, np.float64, shape)


def activity_from(contents: Contents, n_rules: int, task: Task) -> Activity:
    n_rows = contents.amount("activity_rows")
    counts = {
        name: contents.amounts(f"activity.{name}", (n_rules,))
        for name in ("covered", "in_leaf", "in_both")
    }
    # Sums of the same weights in another order may differ in their last digits.
    if any((count > n_rows * (1 + 1e-6)).any() for count in counts.values()):
        refuse(f"a rule covers more than all {n_rows:g} rows")
    activations = {
        name: contents.array(f"activity.{name}", np.float64, (n_rules,), low=0)
        for name in ("activation", "highest")
    }
    return Activity(
        n_rows=n_rows,
        all_totals=totals_from(contents, "activity.all_totals", task),
        totals=totals_from(contents, "activity.totals", task, n_rules),
        **counts,
        **activations,
    )


def performance_from(contents: Contents, n_rules: int, task: Task) -> Performance:
    metrics, n_rows = contents.value("metrics", dict), contents.count("performance_rows")
    sizes = contents.indices("performance.n_rules", np.int64, None, 0, n_rules + 1)
    curves = contents.array(
        "performance.calibration", np.float64, (None, BINS, 3), finite=False
    )
    if len(curves) > (1 if task.are_classes else task.n_outputs):
        refuse(f"it has {len(curves)} curves of calibration, too many for its outputs")
    weights = curves[:, :, 2]
    if not ((weights >= 0) & (weights <= MOST_ROWS)).all():
        refuse("a bin of its calibration has a weight that is negative or not finite")
    if np.isnan(curves[weights > 0]).any():
        refuse("a bin of its calibration has rows but no mean")
    confusion, counted = None, [*weights]
    if task.are_classes:
        confusion = contents.amounts("performance.confusion", (task.n_classes,) * 2)
        counted.append(confusion)
    if n_rows and not all(one.any() for one in counted):
        refuse(f"its performance on {n_rows:,} rows counts none of them")
    return Performance(
        n_rows=n_rows,
        metrics={name: metric_from(text) for name, text in metrics.items()},
        confusion=confusion,
        calibration=curves,
        n_rules=sizes,
        errors=contents.array("performance.errors", np.float64, (len(sizes),), finite=False),
    )


def metric_from(text: Any) -> float:
    """A metric, which is stored as text because it may be NaN."""
    with suppress(ValueError):
        if type(text) is str:
            return float(text)
    refuse(f"{shown(text)} is no metric")
