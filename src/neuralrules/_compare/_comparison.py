"""Two models beside each other: what changed, rule by rule and row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from neuralrules._compare._compared import Compared
from neuralrules._compare._matching import match_rules
from neuralrules._compare._rows import (
    Side,
    measured,
    row_changes,
)
from neuralrules._compare._told import comparison_text, page_parts, write_page
from neuralrules._compare._wording import (
    rule_change,
    stand_in_changes,
    start_texts,
)
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._templates import framed_page


class Comparison(Compared):
    """What changed between two models, as text, as a table and as a page.

    Its attributes are those of `Compared`.
    """

    def to_html(self, path: Any) -> Path:
        """Write the comparison as one HTML page; an old file stays until it is complete."""
        return write_page(self, path)

    def __str__(self) -> str:
        return comparison_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """The page, for a notebook."""
        return framed_page(*page_parts(self), "Comparison of two models")


def comparison(
    first: Fitted,
    second: Fitted,
    engines: tuple[Engine, Engine],
    encoded: tuple[np.ndarray, np.ndarray] | None,
    rows: tuple[Rows, Rows] | None,
) -> Comparison:
    """Compare two models, which must answer the same question: see `check_comparable`.

    Parameters
    ----------
    first, second : Fitted
    engines : pair of Engine
        What each is computed with.
    encoded : pair of (n_rows, n_columns) float32, or None
        A table as each of them encodes it.
    rows : pair of Rows, or None
        The same with targets.
    """
    matches = match_rules(first, second)
    changes = measures = None
    if encoded is not None:
        sides = [
            Side(fitted, table, engine)
            for fitted, table, engine in zip((first, second), encoded, engines, strict=True)
        ]
        weights = None if rows is None else rows[0].weights.astype(np.float64)
        changes = row_changes(sides[0], sides[1], matches, weights)
        if rows is not None:
            measures = measured(sides[0], sides[1], rows, changes.flipped)
    return Comparison(
        rules=tuple(rule_change(first, second, match) for match in matches),
        start=start_texts(first, second),
        stand_ins=tuple(stand_in_changes(first, second)),
        rows=changes,
        measured=measures,
        _models=(first, second),
    )


def check_comparable(first: Fitted, second: Fitted) -> None:
    """Refuse two models that do not answer the same question about the same columns."""
    names, others = first.encoder.names, second.encoder.names
    if names != others:
        only = [name for name in names if name not in others]
        new = [name for name in others if name not in names]
        differ = "have the same columns in another order"
        if only or new:
            name, which = (only[0], "first") if only else (new[0], "second")
            differ = f"have other columns: {name!r} is only in the {which}"
        raise ValueError(
            f"The two models {differ}. Compare models that were fitted on the same columns."
        )
    task, other = first.task, second.task
    if task.are_classes != other.are_classes:
        kinds = ["classes" if one.are_classes else "numbers" for one in (task, other)]
        raise ValueError(
            f"The first model predicts {kinds[0]}, the second one {kinds[1]}. Compare models "
            "of the same target."
        )
    if task.labels != other.labels:
        raise ValueError(
            f"The first model has the classes {task.labels}, the second one {other.labels}. "
            "Compare models of the same classes."
        )
    if task.n_outputs != other.n_outputs:
        raise ValueError(
            f"The first model predicts {task.n_outputs} numbers, the second one "
            f"{other.n_outputs}. Compare models of the same targets."
        )
    same_units = (
        task.gives_probabilities == other.gives_probabilities
        and task.loss.link.function == other.loss.link.function
    )
    if not same_units:
        raise ValueError(
            f"The models were fitted with loss={task.loss.name!r} and "
            f"loss={other.loss.name!r}, whose rules add up to different things. Compare models "
            "of the same loss."
        )
