"""How a table file is written: the options about it, and what a model remembers."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._errors import InputError
from neuralrules._cli._help import Callback, option
from neuralrules._cli._models import notes_of
from neuralrules._cli._tables._streams import FORMAT_OPTION, FORMATS
from neuralrules._data._cells import NUMBER

if TYPE_CHECKING:
    from neuralrules._cli._tables._cells import Marks
    from neuralrules._cli._tables._columns import Table


@dataclass(frozen=True)
class Reading:
    """How a table file is written."""

    file_format: str | None
    delimiter: str | None
    missing: tuple[str, ...]
    decimal: str | None = None
    thousands: str | None = None

    def open(self, path: str, model: Any = None) -> AbstractContextManager[Table]:
        """Open a table as it is written; what is not told is as it was in a model's fit."""
        from neuralrules._cli._tables import open_table

        known = () if model is None else model.encoder_.missing
        told = self._with_marks_of(model)
        if told.thousands == (told.decimal or "."):
            raise click.UsageError(
                f"--thousands {told.thousands!r} is the decimal mark as well. Give another "
                f"one with --decimal, for example --decimal {other_mark(told.thousands)!r}."
            )
        return open_table(
            path,
            file_format=self.file_format,
            delimiter=self.delimiter,
            missing=[*known, *self.missing],
            decimal=told.decimal or ".",
            thousands=told.thousands,
        )

    def _with_marks_of(self, model: Any) -> Reading:
        """The same with the marks of a model's fit, where none are told."""
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        for name, told in marks.items():
            noted = next(iter(notes_of(model, name)), None)
            if noted is not None and not is_mark(noted):
                raise InputError(
                    f"The model notes {noted!r} as its {name} mark, which is none."
                )
            marks[name] = noted if told is None else told
        if self.decimal is not None and self.thousands is None:
            marks["thousands"] = None  # it may be what is now the decimal mark
        return replace(self, decimal=marks["decimal"], thousands=marks["thousands"])

    @property
    def marks(self) -> Marks:
        """How numbers are written, as far as it is told."""
        from neuralrules._cli._tables._cells import Marks

        return Marks(self.decimal or ".", self.thousands)

    @property
    def told(self) -> dict[str, Any]:
        """What was said about cells of text, by its options."""
        return {
            "--missing": self.missing,
            "--decimal": self.decimal,
            "--thousands": self.thousands,
        }

    def notes(self) -> dict[str, list[str]]:
        """What a model remembers of how the table was written that it was fitted on."""
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        return {name: [mark] for name, mark in marks.items() if mark is not None}

    def markers(self) -> list[str] | None:
        """What else means missing, as an estimator takes it: numbers in Python's own marks."""
        found: list[str] = []
        for text in self.missing:
            plain = self.marks.plain(text) or text
            # With "." between thousands, 1.000 is not the number 1 but 1000.
            misread = plain != text and NUMBER.fullmatch(text)
            found += [plain] if misread else [text, plain]
        return list(dict.fromkeys(found)) or None


def reading_options(function: Callback) -> Callback:
    """Add the options about a table file; the command gets its `reading`."""

    @functools.wraps(function)
    def command(
        *args: Any,
        file_format: str | None,
        delimiter: str | None,
        missing: tuple[str, ...],
        decimal: str | None,
        thousands: str | None,
        **options: Any,
    ) -> Any:
        reading = Reading(file_format, delimiter, missing, decimal, thousands)
        return function(*args, reading=reading, **options)

    section = "Reading the table"
    decorated: Callback = command
    for one in (
        option(
            "--thousands",
            metavar="CHAR",
            callback=number_mark,
            section=section,
            help="What stands between the thousands of numbers, for example ',' in 1,861.50.",
        ),
        option(
            "--decimal",
            metavar="CHAR",
            callback=number_mark,
            section=section,
            help="What stands before the decimals of numbers, for example ',' in 1861,50. A "
            "model remembers both marks of its fit.  [default: .]",
        ),
        option(
            "--missing",
            metavar="TEXT",
            multiple=True,
            section=section,
            help="A text that means a missing value, beside the usual ones; may be given "
            "several times. A model remembers those of its fit.",
        ),
        option(
            "--delimiter",
            metavar="CHAR",
            callback=one_character,
            section=section,
            help=r"What stands between two cells, for example ';' or '\t'.",
        ),
        option(
            FORMAT_OPTION,
            "file_format",
            type=click.Choice(FORMATS),
            section=section,
            help="What the table is, if its name does not say so.  [default for -: csv]",
        ),
    ):
        decorated = one(decorated)
    return decorated


def one_character(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """A delimiter; a tab may be written as a backslash and a t."""
    if value is None or len(value) == 1:
        return value
    if value == r"\t":
        return "\t"
    raise click.BadParameter(
        f"{value!r} is not one character. Give one, for example ';' or '\\t'."
    )


def number_mark(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """A mark between the digits of numbers."""
    if value is None or (len(value) == 1 and not value.isalnum() and value not in '+-"\r\n'):
        return value
    raise click.BadParameter(
        f"{value!r} is not one character between digits. Give one, for example ',' or '.'."
    )


def is_mark(text: str) -> bool:
    """Whether a text may stand between the digits of numbers."""
    return len(text) == 1 and not text.isalnum() and text not in '+-"\r\n'


def other_mark(mark: str) -> str:
    return "," if mark == "." else "."
