"""What differs between two models, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._compare._rows import Measured, RowChanges
from neuralrules._compare._wording import RuleChange
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._frames import import_pandas


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """What changed between two models, A and B.

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
