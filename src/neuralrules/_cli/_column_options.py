"""Options for what rules may do with columns: each may be given several times."""

from __future__ import annotations

import csv
import re
from typing import Any, NamedTuple

import click

from neuralrules._cli._errors import option_name


class Direction(click.ParamType):  # type: ignore[type-arg]  # not generic in all of click 8
    """A column and 1 or -1, with an equals sign between them, and perhaps a class."""

    name = "direction"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int, str | None]:
        found = re.fullmatch(r"(.+?)=([+-]?1)(?::(.+))?", value)
        if not found:
            self.fail(
                f"{value!r} is not a column with its direction, such as age=1, income=-1, or "
                "income=-1:bad for the class bad.",
                param,
                ctx,
            )
        column, direction, label = found.groups()
        return column, int(direction), label


class Group(click.ParamType):  # type: ignore[type-arg]  # not generic in all of click 8
    """Columns with commas between them; names with commas in quotes, as in a table."""

    name = "columns"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        columns = next(csv.reader([value]), [])
        if not columns or not all(columns):
            self.fail(f"{value!r} is not a list of columns, such as age,income.", param, ctx)
        return columns


class ColumnOption(NamedTuple):
    """How a parameter that names columns is written on the command line."""

    type: click.ParamType[Any]
    metavar: str
    text: str


COLUMN_OPTIONS = {
    "monotone": ColumnOption(
        Direction(),
        "COL=1|-1[:CLASS]",
        "A column of numbers or dates with a direction: with 1 the prediction never falls "
        "where the column rises, with -1 it never rises, for all rows, seen or not. Of classes "
        "it is the probability of the one named, as in late_payments=1:bad, or of the second "
        "of two. May be given several times.",
    ),
    "interactions": ColumnOption(
        Group(),
        "COL,COL,…",
        "Columns that a rule may look at together; may be given several times. Those that are "
        "never named stay alone.",
    ),
    "exclude": ColumnOption(
        click.STRING,
        "COL",
        "A column that no rule may use, though tables have it; may be given several times. "
        "Unlike with --drop, tables to predict need it too.",
    ),
}


def as_parameter(name: str, given: Any) -> Any:
    """What the estimators take for an option that was given several times."""
    if name != "monotone":
        return list(given)
    directions: dict[str, dict[str | None, int]] = {}
    for column, direction, label in given:
        own = directions.setdefault(column, {})
        if own.setdefault(label, direction) != direction:
            raise click.UsageError(
                f"--monotone gives {column!r} both directions. Give one, or none."
            )
        if None in own and len(own) > 1:
            raise click.UsageError(
                f"--monotone gives {column!r} directions with and without a class. Give one of "
                "them."
            )
    return {column: own.get(None, own) for column, own in directions.items()}


def named_columns(parameters: dict[str, Any]) -> dict[str, list[str]]:
    """The columns that each of these options names."""
    groups = parameters.get("interactions", [])
    found = {
        "monotone": list(parameters.get("monotone", {})),
        "interactions": [column for group in groups for column in group],
        "exclude": parameters.get("exclude", []),
    }
    return {option_name(name): columns for name, columns in found.items()}
