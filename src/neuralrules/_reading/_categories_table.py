"""The values of text columns with their usual outcomes, as a table and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._data._columns import Usual, Values
from neuralrules._data._usual import FEWEST_VALUES, MOST_OUTCOMES
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import import_pandas
from neuralrules._reading._column_words import UsualWords, usual_words
from neuralrules._reading._notation import in_formula
from neuralrules._reading._wording import held_text

OTHERS = "any other value"


def categories_table(fitted: Fitted) -> Any:
    """The values of all text columns with usual outcomes; see `Answers.categories_table`."""
    pandas = import_pandas("categories_table")
    names = fitted.encoder.outcomes.names
    labels = ["usual"] if len(names) < 2 else [f"usual_{name}" for name in names]
    parts = []
    for source, own in columns_with_usual(fitted):
        values, order = own[0].values, by_rows(own[0].values)
        usual = np.array([column.usual for column in own])[:, order]
        parts.append(
            {
                "column": np.full(len(order), fitted.encoder.names[source], object),
                "value": np.array(values.names, object)[order],
                "rows": np.array(values.rows, np.int64)[order],
                **dict(zip(labels, usual, strict=True)),
            }
        )
    nothing = np.array([], object)
    empty = {"column": nothing, "value": nothing, "rows": np.array([], np.int64)}
    empty |= {label: np.array([], np.float64) for label in labels}
    parts = parts or [empty]
    cells = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    # Otherwise pandas would turn None into NaN.
    cells["value"] = pandas.Series(cells["value"], dtype=object)
    return pandas.DataFrame(cells)


def categories_text(fitted: Fitted) -> str:
    """The same table as text, one block for each column."""
    blocks = []
    for source, own in columns_with_usual(fitted):
        name, values = in_formula(fitted.encoder.names[source]), own[0].values
        words = [usual_words(fitted.encoder, column, name) for column in own]
        lines = [("value", "rows", *(f"usual {one.outcome}" for one in words))]
        for place in by_rows(values).tolist():
            cells = [
                shown(one, column.usual[place]) for one, column in zip(words, own, strict=True)
            ]
            lines.append((held_text(values.names[place]), f"{values.rows[place]:,}", *cells))
        cells = [shown(one, column.otherwise) for one, column in zip(words, own, strict=True)]
        lines.append((OTHERS, "0", *cells))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [f"{name}: {len(values.names):,} values"]
        for first, *others in lines:
            ends = map(str.rjust, others, widths[1:])
            texts.append("  ".join([f"  {first:<{widths[0]}}", *ends]))
        blocks.append("\n".join(texts))
    return "\n\n".join(blocks) or (
        f"No column has usual outcomes. A text column has them if it has {FEWEST_VALUES} "
        f"values or more and there are at most {MOST_OUTCOMES + 1} classes or {MOST_OUTCOMES} "
        "targets, unless the model was fitted with usual_outcomes=False."
    )


def columns_with_usual(fitted: Fitted) -> list[tuple[int, list[Usual]]]:
    """The columns of the table that have usual outcomes, with their encoded columns."""
    found: dict[int, list[Usual]] = {}
    for column in fitted.encoder.columns:
        if isinstance(column, Usual):
            found.setdefault(column.source, []).append(column)
    return sorted(found.items())


def by_rows(values: Values) -> np.ndarray:
    """The places of the values, those with the most rows first, (n_values,) int64."""
    return np.argsort(-np.array(values.rows), kind="stable")


def shown(words: UsualWords, value: float) -> str:
    return words.rounded(value, 3)
