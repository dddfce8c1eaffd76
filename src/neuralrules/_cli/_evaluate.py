"""`neuralrules evaluate`: how good a model is on a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neuralrules._cli._console import Console, aligned, metric_pairs
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import load_model
from neuralrules._cli._options import FITTED, argument, command

if TYPE_CHECKING:
    import numpy as np


@command(
    "neuralrules evaluate iris.nrules iris_test.csv",
    "neuralrules evaluate iris.nrules iris_test.csv --json",
)
@labelled_table_options
def evaluate(
    *,
    model: str = argument(FITTED),
    data: str = argument(
        "A table with the target, if possible of rows that the model was not fitted on; - for "
        "standard input."
    ),
    table: LabelledTable,
    console: Console,
) -> None:
    """Measure a model on rows whose target is known."""
    from neuralrules._estimators._base import encoded_rows, engine_of
    from neuralrules._fitted._performance import perform
    from neuralrules._reading._notation import printable

    loaded = load_model(model)
    rows = table.read(loaded, data, console)
    with library_errors(), console.progress("Measuring"):
        encoded = encoded_rows(loaded, rows.X, rows.y, rows.weights)
        performance = perform(loaded.network_, encoded, engine_of(loaded))
    record: dict[str, Any] = {"n_rows": performance.n_rows, "metrics": performance.metrics}
    rows_text = ("rows", f"{performance.n_rows:,}")
    text = aligned([rows_text, *metric_pairs(performance.metrics)])
    if performance.confusion is not None:
        labels = [printable(str(label)) for label in loaded.fitted_.task.labels]
        record["confusion"] = {
            "labels": loaded.fitted_.task.labels,
            "rows": performance.confusion,
        }
        text += f"\n\n{confusion_text(labels, performance.confusion)}"
    console.result(text, record)


def confusion_text(labels: Sequence[str], cells: np.ndarray) -> str:
    """The confusion matrix as text: a line for each true class, a column for each predicted."""
    rows = [["true class", *labels]]
    for label, row in zip(labels, cells.tolist(), strict=True):
        rows.append([label, *(f"{cell:,.6g}" for cell in row)])
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{'':<{first}}  predicted"]
    for name, *row in rows:
        lines.append("  ".join([name.ljust(first), *map(str.rjust, row, widths)]))
    return "\n".join(f"  {line}" for line in lines)
