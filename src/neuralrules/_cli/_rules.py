"""`neuralrules rules` and `neuralrules explain`: read a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from neuralrules._cli._console import Console, print_whole
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import rows_by_number
from neuralrules._cli._models import label_of, load_model
from neuralrules._cli._options import (
    COUNT,
    FITTED,
    argument,
    command,
    flag,
    refuse,
    row_numbers,
    value,
)
from neuralrules._cli._table_format import TableFormat, table_format_options


@command(
    "neuralrules rules iris.nrules",
    "neuralrules rules iris.nrules --max-rules 3 --precision 2",
    "neuralrules rules iris.nrules --style sentences",
    "neuralrules rules iris.nrules --exact > iris.txt",
    "neuralrules rules iris.nrules --history",
)
def rules(
    *,
    model: str = argument(FITTED),
    max_rules: int | None = value(COUNT, "Number of rules to print.  [default: all]"),
    precision: int = value(
        click.IntRange(1, 17), "Significant digits of numbers.  [default: 3]", default=3
    ),
    max_terms: int | None = value(
        COUNT, "Most columns to show in one inequality, those of largest weight.  [default: 3]"
    ),
    style: str = value(
        click.Choice(["conditions", "sentences"]),
        "Print inequalities, or sentences that say whom a rule concerns and what it adds. "
        "Sentences for the rarest class come first.  [default: conditions]",
        default="conditions",
    ),
    exact: bool = flag(
        "Print the whole model as text without any loss. neuralrules.read_rules turns the text "
        "into a model again."
    ),
    history: bool = flag(
        "Print what was done to the model, by whom and when, instead of its rules."
    ),
    console: Console,
) -> None:
    """Print the rules of a model, the most important ones first.

    The rules use the columns and units of the table that the model was fitted on.
    """
    from neuralrules._fitted._lineage import lineage_text

    wording_options = ["max_rules", "precision", "max_terms", "style"]
    if history:
        refuse([*wording_options, "exact"], "is not for --history, which prints no rules.")
    elif exact:
        refuse(
            [*wording_options, "as_json"], "is not for --exact, which prints the whole model."
        )
    elif console.as_json:
        refuse(["style"], "is for people, not for --json. Leave one out.")
    loaded = load_model(model)
    wording = {"precision": precision, "max_terms": max_terms}
    if history:
        events = loaded.fitted_.lineage
        console.result(lineage_text(events), [vars(one) for one in events], prose=True)
    elif exact:
        print_whole(loaded.exact_text())
    elif console.as_json:
        table = loaded.rules_table(**wording).head(max_rules or None).reset_index()
        console.result("", table.to_dict("records"))
    else:
        with library_errors():
            text = loaded.rules_text(max_rules=max_rules, style=style, **wording)
        console.result(text, None, prose=True)


@command(
    "neuralrules explain iris.nrules iris.csv --row 1",
    "neuralrules explain iris.nrules iris.csv --row 1 --reasons",
    "neuralrules explain iris.nrules iris.csv --row 1 --row 51 --json",
)
@table_format_options
def explain(
    *,
    model: str = argument(FITTED),
    data: str = argument("The table with the rows to explain; - for standard input."),
    numbers: Sequence[int] = row_numbers("explain"),
    reasons: bool = flag(
        "Say in sentences what speaks for the adverse outcome: rules for it that fire, and "
        "rules against it that do not fire, with what the row lacks for them."
    ),
    max_reasons: int = value(
        COUNT, "Number of reasons for each row, the strongest first.  [default: 4]", default=4
    ),
    adverse: str | None = value(
        "LABEL",
        "The class to give reasons for; for a number, high or low.  [default: the rarest "
        "class; high]",
    ),
    table_format: TableFormat,
    console: Console,
) -> None:
    """Explain predictions: which rules fire and what they add.

    The contributions of the rules and the intercept sum to the decision function exactly.
    """
    if not reasons:
        refuse(["max_reasons", "adverse"], "is for --reasons. Give both, or neither.")
    loaded = load_model(model)
    with table_format.open(data, loaded) as table:
        chosen = dict(rows_by_number(loaded, table, numbers, console))
    texts, records = [], []
    for number in numbers:
        row = chosen[number]
        with library_errors(["adverse"]):
            explanation = loaded.explain(row)
            text = str(explanation).removeprefix("Row 0: ")
            record = {
                "row": number,
                "prediction": loaded.predict(row)[0],
                "outputs": explanation.outputs,
                "decision": explanation.decision[0],
                "contributions": records_of(explanation.to_frame()),
                "slopes": records_of(explanation.slopes_frame()),
            }
            if reasons:
                found = loaded.reasons(row, max_reasons, adverse=label_of(loaded, adverse))
                share = None if found.probabilities is None else found.probabilities[0]
                text = found.row_text(0)
                record |= {
                    "adverse": found.adverse,
                    "probability": share,
                    "reasons": records_of(found.to_frame()),
                }
        texts.append(f"Row {number}: {text}")
        records.append(record)
    console.result("\n\n".join(texts), records, prose=True)


def records_of(frame: Any) -> list[dict[str, Any]]:
    """The lines of a frame about one row as records for JSON."""
    records: list[dict[str, Any]] = frame.drop(columns="row").to_dict("records")
    return records
