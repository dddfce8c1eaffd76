"""Two models beside each other: what changed, rule by rule and row by row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuralrules._compare._comparison_text import comparison_text, page_parts, write_page
from neuralrules._compare._matching import match_rules
from neuralrules._compare._rows import Measured, RowChanges, Side, measured, row_changes
from neuralrules._compare._rule_changes import (
    RuleChange,
    rule_change,
    stand_in_changes,
    start_texts,
)
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._frames import import_pandas
from neuralrules._io._templates import framed_page


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What changed between two models, A and B, as text, as a table and as a page.

    Attributes
    ----------
    rules : tuple of RuleChange
        Every rule of either model once: its numbers ``first`` in A and ``second`` in B, its
        ``kind`` ("same", "changed", "only in A" or "only in B"), how the two of a changed one
        were ``matched_by``, the ``changes`` in words and its whole ``text``.
    start : (str, str)
        Where every row starts in A and in B.
    stand_ins : tuple of (str, str, str)
        Columns whose missing numbers count otherwise, with what they count as in A and in B.
    rows : RowChanges or None
        On the rows given: how far outputs are apart, which rows change class, and of the rows
        that change most, which rules make the difference.
    measured : Measured or None
        How good both are, where y was given.
    """

    rules: tuple[RuleChange, ...]
    start: tuple[str, str]
    stand_ins: tuple[tuple[str, str, str], ...]
    rows: RowChanges | None
    measured: Measured | None
    _models: tuple[Fitted, Fitted]

    @property
    def is_same(self) -> bool:
        """Whether both models are the same, but for rounding and the order of their rules."""
        same = all(rule.kind == "same" for rule in self.rules)
        one, other = (fitted.network.intercept for fitted in self._models)
        return same and not self.stand_ins and bool(np.allclose(one, other, rtol=1e-5))

    def count(self, kind: str) -> int:
        """How many rules are of a kind."""
        return sum(rule.kind == kind for rule in self.rules)

    def to_frame(self) -> Any:
        """All rules as a pandas frame, one line each.

        ``effect`` is by how much the contributions of the two differ, on average over the
        rows given.
        """
        pandas = import_pandas("to_frame")
        names = ("first", "second", "kind", "matched_by", "changes", "text")
        frame = pandas.DataFrame(
            {name: [getattr(rule, name) for rule in self.rules] for name in names}
        ).astype({"first": "Int64", "second": "Int64"})
        if self.rows is not None:
            frame["effect"] = self.rows.effects
        return frame

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
