"""`neuralrules counterfactual`: what would have to change for another prediction."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console, without_c_output
from neuralrules._cli._errors import InputError, library_errors, listed
from neuralrules._cli._model_rows import kind_of, rows_by_number
from neuralrules._cli._models import label_of, load_model
from neuralrules._cli._options import (
    COUNT,
    FITTED,
    Parsed,
    argument,
    columns,
    command,
    row_numbers,
    value,
)
from neuralrules._cli._table_format import TableFormat, table_format_options

if TYPE_CHECKING:
    import pandas as pd

    from neuralrules._counterfactual import Counterfactual
    from neuralrules._data._columns import EncodedColumn
    from neuralrules._estimators._base import NeuralRuleModel

# The options for parameters of the library that are about counterfactuals.
OPTIONS = {
    "target": "--to",
    "probability": "--probability",
    "bounds": "--bounds",
    "units": "--unit",
    "fixed": "--fixed",
}
NUMBERS_ONLY = ("increase", "decrease", "whole", "bounds")
LIMITS = "What may change (each option may be given several times)"


def read_range(text: str) -> tuple[Any, Any]:
    """Read two numbers or dates with two dots between them. Either one may be left out."""
    low, dots, high = text.partition("..")
    if not dots:
        raise ValueError(text)
    return end_of_range(low), end_of_range(high)


def end_of_range(text: str) -> Any:
    """Read a number. Empty text is None, and any other text stays, because it may be a date."""
    try:
        return float(text) if text else None
    except ValueError:
        return text


def read_goal(text: str) -> tuple[Any, Any]:
    """Read a range that has at least one end."""
    if text == "..":
        raise ValueError(text)
    return read_range(text)


def read_probability(text: str) -> Any:
    """Read a lower bound for a probability, or a range of probabilities."""
    return read_goal(text) if ".." in text else float(text)


def read_categories(text: str) -> list[str]:
    """Read categories with commas between them. A category with a comma is in quotes."""
    return next(csv.reader([text]), [])


A_RANGE = "a range, such as 10..20, 10.. or ..20"


def for_column(kind: click.ParamType[Any], example: str) -> Parsed:
    """The type of an option for a column and a value, with an equals sign between them."""

    def read(text: str) -> tuple[str, Any]:
        column, _, given = text.rpartition("=")
        if not column or not given:
            raise ValueError(text)
        return column, kind.convert(given, None, None)

    return Parsed(read, f"a column with its value, such as {example}")


@command(
    "neuralrules counterfactual iris.nrules iris.csv --row 1 --max-changes 1",
    "neuralrules counterfactual houses.nrules houses.parquet --row 1 --to ..180 \\",
    "  --fixed sex --time-limit 10",
)
@table_format_options
def counterfactual(
    *,
    model: str = argument(FITTED),
    data: str = argument("The table with the rows to change; - for standard input."),
    numbers: Sequence[int] = row_numbers("change"),
    target: Sequence[str] = value(
        "LABEL|LOW..HIGH",
        "The class wanted; for a number, the range wanted. If the model predicts several "
        "numbers, give --to once for each.  [default: any other class]",
        "--to",
        multiple=True,
    ),
    probability: Any = value(
        Parsed(read_probability, "a probability, such as 0.5 or 0.2..0.4"),
        "For two classes: the probability that the class wanted must reach, or the range that "
        "it must lie in.",
        metavar="P|LOW..HIGH",
    ),
    max_changes: int | None = value(COUNT, "Most columns that may change.  [default: all]"),
    answers: int = value(
        COUNT,
        "Number of answers to look for. Each further answer keeps at least one column "
        "unchanged that every earlier answer changed.  [default: 1]",
        default=1,
    ),
    time_limit: float = value(
        click.FloatRange(0, min_open=True),
        "Time to search for each answer. After that, the best change found so far is printed.  "
        "[default: 60]",
        default=60.0,
        metavar="SECONDS",
    ),
    fixed: Sequence[str] = columns("A column that may not change.", section=LIMITS),
    increase: Sequence[str] = columns("A column that may only grow.", section=LIMITS),
    decrease: Sequence[str] = columns("A column that may only shrink.", section=LIMITS),
    whole: Sequence[str] = columns(
        "A column of numbers whose new value must be whole. Columns that hold only whole "
        "numbers in DATA always stay whole.",
        section=LIMITS,
    ),
    bounds: Sequence[tuple[str, Any]] = value(
        for_column(Parsed(read_range, A_RANGE), "age=18..65"),
        "The range in which a column of numbers or dates must stay; COL=.. sets no bounds.  "
        "[default: the range of the column in training]",
        multiple=True,
        section=LIMITS,
        metavar="COL=LOW..HIGH",
    ),
    allow: Sequence[tuple[str, list[str]]] = value(
        for_column(Parsed(read_categories, "categories"), "region=north,south"),
        "The only categories that a column may switch to.",
        multiple=True,
        section=LIMITS,
        metavar="COL=NAME,…",
    ),
    unit: Sequence[tuple[str, float]] = value(
        for_column(click.FLOAT, "age=10"),
        "The change of a column that costs 1.  [default: its standard deviation; a switch to "
        "another category costs 1]",
        multiple=True,
        section=LIMITS,
        metavar="COL=X",
    ),
    table_format: TableFormat,
    console: Console,
) -> None:
    """Find the smallest change of a row for another prediction.

    The answer is proven to be the smallest change. If the time limit ends the search first,
    the answer comes with a lower bound of the cost. The cost of a change is the sum of the
    changes of all columns, each measured in standard deviations.
    """
    loaded = load_model(model)
    named = {"fixed": fixed, "increase": increase, "decrease": decrease, "whole": whole}
    values = {"bounds": bounds, "allow": allow, "unit": unit}
    check_columns(loaded, named | {name: dict(given) for name, given in values.items()})
    directions = dict.fromkeys(increase, "increase") | dict.fromkeys(decrease, "decrease")
    goal = target_of(loaded, target)
    names = loaded.encoder_.names
    # The types of the cells do not show which columns hold only whole numbers: tables are read
    # as floats, and a model knows only the range, mean and standard deviation in training.
    all_whole = {
        name: source
        for source, name in enumerate(names)
        if may_be_whole(loaded.encoder_.columns_of(source)[0])
    }

    def look_at(frame: pd.DataFrame) -> None:
        """Remove the columns that hold other numbers in some rows of the table."""
        for name, source in list(all_whole.items()):
            if (frame.iloc[:, source].dropna() % 1 != 0).any():
                del all_whole[name]

    with table_format.open(data, loaded) as table:
        chosen = dict(rows_by_number(loaded, table, numbers, console, look_at))
    texts, records = [], []
    for number in numbers:
        searching = console.progress(f"Searching for row {number}")
        with library_errors(OPTIONS), searching, without_c_output():
            found = loaded.counterfactual(
                chosen[number],
                goal,
                probability=probability,
                max_changes=max_changes,
                n_answers=answers,
                time_limit=time_limit,
                fixed=list(fixed),
                directions=directions,
                whole=[*whole, *all_whole],
                bounds=dict([*bounds, *allow]),
                units=dict(unit),
            )
        texts.append(f"Row {number}: {found}")
        records.append({"row": number, **answer_record(found)})
    console.result("\n\n".join(texts), records, prose=True)


def check_columns(model: NeuralRuleModel, named: Mapping[str, Collection[str]]) -> None:
    """Refuse columns that the model does not have, or that do not fit the option."""
    names = model.encoder_.names
    for option, column in ((name, column) for name in named for column in named[name]):
        if column not in names:
            near = get_close_matches(column, names, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Its columns are {listed(names)}."
            raise InputError(f"--{option}: the model has no column {column!r}. {hint}")
        holds_numbers = kind_of(model.encoder_.columns_of(names.index(column))[0]) != "category"
        if option in NUMBERS_ONLY and not holds_numbers:
            raise InputError(
                f"--{option}: {column!r} holds categories. Name columns of numbers; --allow "
                "says which categories are allowed."
            )
        if option == "allow" and holds_numbers:
            raise InputError(
                f"--allow: {column!r} holds numbers. Name columns of categories; --bounds "
                "says between which numbers a column must stay."
            )
    both = sorted({*named["increase"]} & {*named["decrease"]})
    if both:
        raise click.UsageError(
            f"--increase and --decrease both name {both[0]!r}. Give one, or --fixed."
        )


def may_be_whole(column: EncodedColumn) -> bool:
    """Whether a column may have held only whole numbers in training."""
    from neuralrules._data._columns import Date, Number

    if not isinstance(column, Number) or isinstance(column, Date):  # the library rounds dates
        return False
    low, high = column.lowest, column.highest
    rounding = 1e-6 * column.scale  # the range may be that of rows in float32
    if any(abs(end - round(end)) > rounding for end in (low, high)):
        return False
    # A range of length 1, such as from 0 to 1, may be that of shares. But only a column that
    # holds nothing but its two ends has this variance.
    variance = (column.mean - low) * (high - column.mean)
    return high - low > 1.5 or abs(column.scale**2 - variance) <= 1e-4 * variance


def target_of(model: NeuralRuleModel, given: Sequence[str]) -> Any:
    """The class that the user wants, or the range that the user wants for each number."""
    task = model.fitted_.task
    if task.are_classes:
        if len(given) > 1:
            raise click.UsageError("--to names several classes. Give one, or none for any.")
        label = label_of(model, given[0]) if given else None
        if label is not None and label not in task.labels:
            raise InputError(
                f"--to {label!r} is none of the model's classes {listed(task.labels)}."
            )
        return label
    if len(given) != task.n_outputs:
        raise click.UsageError(
            f"The model predicts {task.n_outputs} number(s): give --to LOW..HIGH once for each."
        )
    ranges = [Parsed(read_goal, A_RANGE).convert(text, None, None) for text in given]
    return ranges[0] if len(ranges) == 1 else ranges


def answer_record(found: Counterfactual) -> dict[str, Any]:
    """A counterfactual as a record for JSON."""
    names = ["found", "optimal", "cost", "bound", "prediction_before", "prediction_after"]
    names += ["probability_before", "probability_after"]
    return {
        **{name: getattr(found, name) for name in names},
        "changes": [vars(change) for change in found.changes],
        "others": [answer_record(other) for other in found.others],
    }
