"""`neuralrules rules` and `neuralrules explain`: read a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console, print_whole
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import rows_by_number
from neuralrules._cli._models import label_of, load_model
from neuralrules._cli._options import (
    Callback,
    Command,
    console_options,
    option,
    refuse_with,
    refuse_without,
    row_option,
)
from neuralrules._cli._table_format import TableFormat, table_format_options

if TYPE_CHECKING:
    from neuralrules._reading._explain import Explanation
    from neuralrules._reading._reasons import Reasons


def wording_options(function: Callback) -> Callback:
    """Add `--precision` and `--max-terms`."""
    decorated = option(
        "--max-terms",
        metavar="N",
        type=click.IntRange(1),
        help="Most columns to show in one inequality, those of largest weight.  [default: 3]",
    )(function)
    return option(
        "--precision",
        metavar="N",
        type=click.IntRange(1, 17),
        help="Significant digits of numbers.  [default: 3]",
    )(decorated)


@click.command(
    "rules",
    cls=Command,
    arguments={"MODEL": "A model file that `fit` wrote."},
    examples=[
        "neuralrules rules iris.nrules",
        "neuralrules rules iris.nrules --max-rules 3 --precision 2",
        "neuralrules rules iris.nrules --style sentences",
        "neuralrules rules iris.nrules --exact > iris.txt",
        "neuralrules rules iris.nrules --history",
    ],
)
@click.argument("model", type=click.Path())
@option(
    "--max-rules",
    metavar="N",
    type=click.IntRange(1),
    help="Number of rules to print.  [default: all]",
)
@wording_options
@option(
    "--style",
    type=click.Choice(["conditions", "sentences"]),
    help="Print inequalities, or sentences that say whom a rule concerns and what it "
    "adds. Sentences for the rarest class come first.  [default: conditions]",
)
@option(
    "--exact",
    is_flag=True,
    help="Print the whole model as text without any loss. neuralrules.read_rules "
    "turns the text into a model again.",
)
@option(
    "--history",
    is_flag=True,
    help="Print what was done to the model, by whom and when, instead of its rules.",
)
@console_options
def rules(
    *,
    model: str,
    max_rules: int | None,
    precision: int | None,
    max_terms: int | None,
    style: str | None,
    exact: bool,
    history: bool,
    console: Console,
) -> None:
    """Print the rules of a model, the most important ones first.

    The rules use the columns and units of the table that the model was fitted on.
    """
    from neuralrules._fitted._lineage import lineage_text

    wording = {"precision": precision or 3, "max_terms": max_terms}
    given: dict[str, Any] = {
        "--max-rules": max_rules,
        "--precision": precision,
        "--max-terms": max_terms,
        "--style": style,
    }
    if history:
        refuse_with("--history", {**given, "--exact": exact or None}, "prints no rules")
        events = load_model(model).fitted_.lineage
        console.result(lineage_text(events), [vars(one) for one in events], prose=True)
        return
    if exact:
        others = {**given, "--json": console.as_json or None}
        refuse_with("--exact", others, "prints the whole model")
        print_whole(load_model(model).exact_text())
        return
    loaded = load_model(model)
    if console.as_json:
        if style is not None:
            raise click.UsageError("--style is for people, not for --json. Leave one out.")
        table = loaded.rules_table(**wording).head(max_rules or None).reset_index()
        console.result("", table.to_dict("records"))
    else:
        with library_errors():
            text = loaded.rules_text(
                max_rules=max_rules, style=style or "conditions", **wording
            )
        console.result(text, None, prose=True)


@click.command(
    "explain",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote.",
        "DATA": "The table with the rows to explain; - for standard input.",
    },
    examples=[
        "neuralrules explain iris.nrules iris.csv --row 1",
        "neuralrules explain iris.nrules iris.csv --row 1 --reasons",
        "neuralrules explain iris.nrules iris.csv --row 1 --row 51 --json",
    ],
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@row_option("explain")
@option(
    "--reasons",
    is_flag=True,
    help="Say in sentences what speaks for the adverse outcome: rules for it that "
    "fire, and rules against it that do not fire, with what the row lacks for "
    "them.",
)
@option(
    "--max-reasons",
    metavar="N",
    type=click.IntRange(1),
    help="Number of reasons for each row, the strongest first.  [default: 4]",
)
@option(
    "--adverse",
    metavar="LABEL",
    help="The class to give reasons for; for a number, high or low.  [default: the "
    "rarest class; high]",
)
@table_format_options
@console_options
def explain(
    *,
    model: str,
    data: str,
    numbers: Sequence[int],
    reasons: bool,
    max_reasons: int | None,
    adverse: str | None,
    table_format: TableFormat,
    console: Console,
) -> None:
    """Explain predictions: which rules fire and what they add.

    The contributions of the rules and the intercept sum to the decision function exactly.
    """
    if not reasons:
        refuse_without("--reasons", {"--max-reasons": max_reasons, "--adverse": adverse})
    loaded = load_model(model)
    with table_format.open(data, loaded) as table:
        chosen = dict(rows_by_number(loaded, table, numbers, console))
    texts, records = [], []
    for number in numbers:
        with library_errors():
            explanation = loaded.explain(chosen[number])
        prediction = loaded.predict(chosen[number])[0]
        records.append(explanation_record(number, prediction, explanation))
        if reasons:
            label = label_of(loaded, adverse)
            with library_errors(["adverse"]):
                found = loaded.reasons(chosen[number], max_reasons or 4, adverse=label)
            records[-1] |= reasons_record(found)
            texts.append(f"Row {number}: {found.row_text(0)}")
            continue
        texts.append(f"Row {number}: {str(explanation).removeprefix('Row 0: ')}")
    console.result("\n\n".join(texts), records, prose=True)


def explanation_record(
    number: int, prediction: Any, explanation: Explanation
) -> dict[str, Any]:
    """The explanation of one row as a record for JSON."""
    return {
        "row": number,
        "prediction": prediction,
        "outputs": explanation.outputs,
        "decision": explanation.decision[0],
        "contributions": explanation.to_frame().drop(columns="row").to_dict("records"),
        "slopes": explanation.slopes_frame().drop(columns="row").to_dict("records"),
    }


def reasons_record(found: Reasons) -> dict[str, Any]:
    """The reasons for one row as a record for JSON."""
    reasons = found.to_frame().drop(columns="row").to_dict("records")
    share = None if found.probabilities is None else found.probabilities[0]
    return {"adverse": found.adverse, "probability": share, "reasons": reasons}
