"""The format of a table file: the options for it, and the parts that a model remembers."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class TableFormat:
    """The format of a table file.

    Attributes
    ----------
    file_format : {"csv", "tsv", "parquet"} or None
        None means the format that the file's name says.
    delimiter : str or None
        The character between cells.
    missing : tuple of str
        Texts that mean missing, besides the usual ones.
    decimal, thousands : str or None
        The marks before the decimals and between the thousands of numbers.
    """

    file_format: str | None
    delimiter: str | None
    missing: tuple[str, ...]
    decimal: str | None = None
    thousands: str | None = None

    def open(self, path: str, model: Any = None) -> AbstractContextManager[Table]:
        """Open a table. Marks of numbers that were not given come from the model's fit."""
        from neuralrules._cli._tables import open_table

        known = () if model is None else model.encoder_.missing
        known_marks = self._with_marks_of(model)
        decimal, thousands = known_marks.decimal or ".", known_marks.thousands
        if thousands == decimal:
            raise click.UsageError(
                f"--thousands {thousands!r} is the decimal mark as well. Give another "
                f"one with --decimal, for example --decimal {',' if decimal == '.' else '.'!r}."
            )
        return open_table(
            path,
            file_format=self.file_format,
            delimiter=self.delimiter,
            missing=[*known, *self.missing],
            decimal=decimal,
            thousands=thousands,
        )

    def _with_marks_of(self, model: Any) -> TableFormat:
        """A copy of this format in which marks that were not given come from a model's fit."""
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
        return replace(self, decimal=marks["decimal"], thousands=marks["thousands"])

    @property
    def marks(self) -> Marks:
        """The marks in numbers that the options give, or else the default marks."""
        from neuralrules._cli._tables._cells import Marks

        return Marks(self.decimal or ".", self.thousands)

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
            plain = self.marks.plain(text) or text
            # With "." between thousands, the text 1.000 means 1000. Python would read it as 1.
            misread = plain != text and NUMBER.fullmatch(text)
            found += [plain] if misread else [text, plain]
        return list(dict.fromkeys(found)) or None


def table_format_options(function: Callback) -> Callback:
    """Add the options about a table file. The command gets a `table_format` instead of them."""

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
        table_format = TableFormat(file_format, delimiter, missing, decimal, thousands)
        return function(*args, table_format=table_format, **options)

    section = "Reading the table"
    number_mark = Parsed(
        read_number_mark, "one character between digits. Give one, for example ',' or '.'"
    )
    decorated: Callback = command
    for add_option in (
        option(
            "--thousands",
            metavar="CHAR",
            type=number_mark,
            section=section,
            help="The mark between the thousands of numbers, for example ',' in 1,861.50.",
        ),
        option(
            "--decimal",
            metavar="CHAR",
            type=number_mark,
            section=section,
            help="The decimal mark of numbers, for example ',' in 1861,50. A model remembers "
            "both marks of its fit.  [default: .]",
        ),
        option(
            "--missing",
            metavar="TEXT",
            multiple=True,
            section=section,
            help="A text that means a missing value, besides the usual ones; may be given "
            "several times. A model remembers those of its fit.",
        ),
        option(
            "--delimiter",
            metavar="CHAR",
            type=Parsed(read_delimiter, r"one character. Give one, for example ';' or '\t'"),
            section=section,
            help=r"The character between two cells, for example ';' or '\t'.",
        ),
        option(
            FORMAT_OPTION,
            "file_format",
            type=click.Choice(FORMATS),
            section=section,
            help="The format of the table, if its name does not say it.  [default for -: csv]",
        ),
    ):
        decorated = add_option(decorated)
    return decorated


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
