"""Restrictions of rules by a user: directions, groups and exclusions of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._data._columns import Number
from neuralrules._data._encoder import Encoder
from neuralrules._io._warn import warn
from neuralrules._task._task import Task

NEITHER = 2  # the direction for an output that may neither rise nor fall


@dataclass(frozen=True, eq=False)
class Restrictions:
    """Restrictions of rules by encoded columns.

    Attributes
    ----------
    directions : (n_columns,) or (n_columns, n_outputs) int8
        1 if no output may fall when the column rises, -1 if no output may rise, else 0. The
        shape is (n_columns, n_outputs) if the directions differ between outputs. NEITHER then
        marks an output that may neither rise nor fall.
    excluded : (n_columns,) bool
        Columns that no rule may look at.
    groups : tuple of (n,) int64, or None
        A rule may only look at the columns of one group. Each group is in ascending order.
        Every column that is not excluded is in at least one group. None if a rule may look at
        any columns together.
    relative : bool
        Whether only the differences between outputs count, as for classes whose outputs are
        compared. An output may then fall if all others fall more.
    names : tuple of str
        For each encoded column the name of its source, for errors.
    """

    directions: np.ndarray
    excluded: np.ndarray
    groups: tuple[np.ndarray, ...] | None
    relative: bool = False
    names: tuple[str, ...] = ()

    def visible(self, X: np.ndarray) -> np.ndarray:
        """Encoded rows (n_rows, n_columns) in which excluded columns are 0."""
        return X if not self.excluded.any() else np.where(self.excluded, np.float32(0), X)


def restrictions_of(
    encoder: Encoder, task: Task, *, monotone: Any, interactions: Any, exclude: Any
) -> Restrictions | None:
    """The restrictions that the parameters of an estimator describe; None if all are None.

    A parameter that names a column of the table restricts all of its encoded columns: the
    number and the indicator of missing cells, or all categories. Only the number has a
    direction.
    """
    if monotone is None and interactions is None and exclude is None:
        return None
    given = directions_of(encoder, task, {} if monotone is None else monotone)
    excluded = places("exclude", encoder, () if exclude is None else exclude)
    if len(excluded) == len(encoder.names):
        raise ValueError(
            f"exclude={list(exclude)!r} names all columns, so that there is nothing to learn "
            "from. Leave out those that rules may use."
        )
    sources = np.array([column.source for column in encoder.columns])
    numbers = np.array([isinstance(column, Number) for column in encoder.columns])
    nothing = np.zeros(task.n_outputs, np.int8)
    wanted = np.array([given.get(source, nothing) for source in sources.tolist()], np.int8)
    wanted *= numbers[:, None]
    alike = (wanted == wanted[:, :1]).all()
    out = np.isin(sources, sorted(excluded))
    groups = None
    if interactions is not None:
        named = groups_of(encoder, interactions)
        found = (np.flatnonzero(np.isin(sources, sorted(own)) & ~out) for own in named)
        groups = tuple(own for own in found if own.size)
    relative = task.are_classes and task.n_outputs > 1 and task.loss.compares_outputs
    names = tuple(encoder.names[source] for source in sources.tolist())
    return Restrictions(wanted[:, 0] if alike else wanted, out, groups, relative, names)


def directions_of(encoder: Encoder, task: Task, monotone: Any) -> dict[int, np.ndarray]:
    """The directions of the columns of the table that `monotone` names.

    The keys are the places of the columns, and the values are (n_outputs,) int8.
    """
    if not isinstance(monotone, Mapping):
        raise TypeError(
            f"monotone must be a dict from columns to 1 or -1, got {monotone!r}. For example "
            f"monotone={{{encoder.names[0]!r}: 1}}."
        )
    directions = {}
    for key, given in monotone.items():
        source = encoder.position_of("monotone", key)
        if not isinstance(encoder.columns_of(source)[0], Number):
            raise ValueError(
                f"monotone={{{key!r}: {given}}} names a column of categories, which have "
                "no order to rise along. Give it as numbers, or leave it out."
            )
        if isinstance(given, Mapping):
            directions[source] = of_outputs(task, key, given)
            continue
        if task.n_classes > 2:
            raise ValueError(
                f"monotone={monotone!r} needs one output that rises or falls, but y has "
                f"{task.n_classes} classes: where one becomes more probable, others become "
                f"less so. Say which one, for example monotone="
                f"{{{key!r}: {{{task.labels[-1]!r}: {given!r}}}}}; or leave monotone out."
            )
        directions[source] = np.full(task.n_outputs, checked_direction(f"{key!r}", given))
    return directions


def checked_direction(where: str, direction: Any) -> int:
    if isinstance(direction, bool) or direction not in (1, -1):
        raise ValueError(
            f"monotone[{where}] must be 1, for outputs that never fall with the column, "
            f"or -1, for those that never rise, got {direction!r}. Leave the column out "
            "if they may do both."
        )
    return int(direction)


def warn_of_unnamed_class(task: Task, monotone: Any) -> None:
    """Warn that a direction is about the second class if the labels are texts.

    The order of texts does not show which class is the second one.
    """
    if task.n_classes != 2 or not isinstance(monotone, Mapping):
        return
    second = task.labels[1]
    for key, direction in monotone.items():
        if isinstance(second, str) and not isinstance(direction, Mapping):
            warn(
                f"monotone={{{key!r}: {direction!r}}} is about {second!r}, the second class. "
                f"To be sure, name the class: {{{key!r}: {{{second!r}: {direction!r}}}}}."
            )
            return


def of_outputs(task: Task, key: Any, given: Mapping[Any, Any]) -> np.ndarray:
    """The directions of outputs, (n_outputs,) int8, from directions of classes or targets.

    If the outputs of classes are compared, a class becomes more probable if its output rises
    and all other outputs fall. This is not too strict, because adding a number to all outputs
    changes nothing.
    """
    labels = task.labels if task.are_classes else list(range(task.n_outputs))
    wanted: list[set[int]] = [set() for _ in range(task.n_outputs)]
    by_text = {str(label): label for label in labels}  # the command line gives texts
    for asked, direction in given.items():
        label = asked if asked in labels else by_text.get(asked, asked)
        if label not in labels:
            kind = "class" if task.are_classes else "number of a target"
            raise ValueError(
                f"monotone[{key!r}] names {label!r}, which is no {kind}. Those are {labels}."
            )
        sign, place = checked_direction(f"{key!r}][{label!r}", direction), labels.index(label)
        if task.n_classes == 2:
            wanted[0].add(sign if place else -sign)
            continue
        wanted[place].add(sign)
        if task.are_classes and task.loss.compares_outputs:
            for other in range(task.n_outputs):
                wanted[other].update({-sign} if other != place else ())
    return np.array([sum(own) if len(own) < 2 else NEITHER for own in wanted], np.int8)


def groups_of(encoder: Encoder, interactions: Any) -> list[set[int]]:
    """Groups of columns of the table, as sets of their places.

    A column that is in no group of `interactions` forms a group alone.
    """
    example = f"For example interactions=[[{encoder.names[0]!r}, {encoder.names[-1]!r}]]."
    if isinstance(interactions, str | Mapping) or not isinstance(interactions, Iterable):
        raise TypeError(
            f"interactions must be a list of lists of columns, got {interactions!r}. {example}"
        )
    groups = []
    for group in interactions:
        if isinstance(group, str | Mapping) or not isinstance(group, Iterable):
            raise TypeError(
                f"interactions must hold lists of columns, but holds {group!r}. {example}"
            )
        groups.append(places("interactions", encoder, group))
    grouped = set().union(*groups)
    alone = [{source} for source in range(len(encoder.names)) if source not in grouped]
    return [*groups, *alone]


def places(option: str, encoder: Encoder, columns: Any) -> set[int]:
    """The places of columns in the table."""
    if isinstance(columns, str | Mapping) or not isinstance(columns, Iterable):
        raise TypeError(
            f"{option} must be a list of columns, got {columns!r}. "
            f"For example {option}=[{encoder.names[0]!r}]."
        )
    return {encoder.position_of(option, key) for key in columns}
