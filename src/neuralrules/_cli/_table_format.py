"""The format of a table file: the options for it, and the parts that a model remembers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._errors import InputError
from neuralrules._cli._models import notes_of
from neuralrules._cli._options import Callback, Parsed, option
from neuralrules._cli._tables._streams import FORMAT_OPTION, FORMATS
from neuralrules._data._cells import NUMBER

if TYPE_CHECKING:
    from neuralrules._cli._tables._cells import Marks
    from neuralrules._cli._tables._columns import Table


@dataclasses.dataclass(frozen=True)
class TableFormat:
    """The format of a table file. What is None was not given: the name or a model says it."""

    file_format: str | None  # csv, tsv or parquet
    delimiter: str | None  # the character between cells
    missing: tuple[str, ...]  # texts that mean missing, besides the usual ones
    decimal: str | None  # the mark before the decimals of numbers
    thousands: str | None  # the mark between their thousands

    def open(self, path: str, model: Any = None) -> AbstractContextManager[Table]:
        """Open a table, for a model that remembers how the table of its fit was written."""
        from neuralrules._cli._tables import open_table

        marks = self.marks(model)
        if marks.thousands == marks.decimal:
            other = "," if marks.decimal == "." else "."
            raise click.UsageError(
                f"--thousands {marks.thousands!r} is the decimal mark as well. Give another "
                f"one with --decimal, for example --decimal {other!r}."
            )
        known = () if model is None else model.encoder_.missing
        return open_table(
            path,
            file_format=self.file_format,
            delimiter=self.delimiter,
            missing=[*known, *self.missing],
            marks=marks,
        )

    def marks(self, model: Any = None) -> Marks:
        """The marks in numbers that were given, or else those of a model's fit."""
        from neuralrules._cli._tables._cells import Marks

        marks = {"decimal": self.decimal, "thousands": self.thousands}
        for name, given in marks.items():
            noted = next(iter(notes_of(model, name)), None)
            if noted is not None and not is_mark(noted):
                raise InputError(
                    f"The model notes {noted!r} as its {name} mark, which cannot be one."
                )
            marks[name] = noted if given is None else given
        if self.decimal is not None and self.thousands is None:
            marks["thousands"] = None  # the fit's thousands mark may be the new decimal mark
        return Marks(marks["decimal"] or ".", marks["thousands"])

    @property
    def options_for_text(self) -> dict[str, Any]:
        """The options about cells of text, each with the value that was given."""
        return {
            "--missing": self.missing,
            "--decimal": self.decimal,
            "--thousands": self.thousands,
        }

    def notes(self) -> dict[str, list[str]]:
        """The notes for a model about the marks in the table of its fit."""
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        return {name: [mark] for name, mark in marks.items() if mark is not None}

    def markers(self) -> list[str] | None:
        """The value of an estimator's parameter `missing`.

        Each text that means missing is in it, and each number among them also in Python's
        spelling.
        """
        found: list[str] = []
        for text in self.missing:
            plain = self.marks().plain(text) or text
            # With "." between thousands, the text 1.000 means 1000. Python would read it as 1.
            misread = plain != text and NUMBER.fullmatch(text)
            found += [plain] if misread else [text, plain]
        return list(dict.fromkeys(found)) or None


def gathered(
    function: Callback, name: str, kind: type[Any], options: Sequence[Callable[..., Callback]]
) -> Callback:
    """Add options to a command, which gets one argument `name` instead of their values.

    The argument is of the dataclass `kind`, whose fields are the options.
    """

    @functools.wraps(function)
    def command(*args: Any, **values: Any) -> Any:
        given = {field.name: values.pop(field.name) for field in dataclasses.fields(kind)}
        return function(*args, **values, **{name: kind(**given)})

    return functools.reduce(lambda made, add: add(made), reversed(options), command)


def table_format_options(function: Callback) -> Callback:
    """Add the options about a table file. The command gets a `table_format` instead of them."""
    reading = functools.partial(option, section="Reading the table")
    number_mark = Parsed(
        read_number_mark, "one character between digits. Give one, for example ',' or '.'"
    )
    options = [
        reading(
            FORMAT_OPTION,
            "file_format",
            type=click.Choice(FORMATS),
            help="The format of the table, if its name does not say it.  [default for -: csv]",
        ),
        reading(
            "--delimiter",
            metavar="CHAR",
            type=Parsed(read_delimiter, r"one character. Give one, for example ';' or '\t'"),
            help=r"The character between two cells, for example ';' or '\t'.",
        ),
        reading(
            "--missing",
            metavar="TEXT",
            multiple=True,
            help="A text that means a missing value, besides the usual ones; may be given "
            "several times. A model remembers those of its fit.",
        ),
        reading(
            "--decimal",
            metavar="CHAR",
            type=number_mark,
            help="The decimal mark of numbers, for example ',' in 1861,50. A model remembers "
            "both marks of its fit.  [default: .]",
        ),
        reading(
            "--thousands",
            metavar="CHAR",
            type=number_mark,
            help="The mark between the thousands of numbers, for example ',' in 1,861.50.",
        ),
    ]
    return gathered(function, "table_format", TableFormat, options)


def read_delimiter(text: str) -> str:
    """Read a delimiter. A tab may be written as a backslash and a t."""
    if text == r"\t":
        return "\t"
    if len(text) != 1:
        raise ValueError(text)
    return text


def read_number_mark(text: str) -> str:
    if not is_mark(text):
        raise ValueError(text)
    return text


def is_mark(text: str) -> bool:
    """Whether a text may stand between the digits of numbers."""
    return len(text) == 1 and not text.isalnum() and text not in '+-"\r\n'
