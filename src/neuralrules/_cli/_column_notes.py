"""Notes about columns of a table whose type is probably not the type that `fit` takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from typing import TYPE_CHECKING

from neuralrules._data._categories import MAX_CATEGORIES
from neuralrules._data._dates import ISO_DATE, holds_dates

if TYPE_CHECKING:
    import pandas as pd

    from neuralrules._cli._console import Console
    from neuralrules._cli._tables._cells import Marks

SAMPLE_TEXTS = 1000  # most different texts of a column that are checked
OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d\d)( .*)?|\d{4}[./]\d\d[./]\d\d.*")


def note_columns(
    X: pd.DataFrame, console: Console, marks: Marks, known: Collection[str]
) -> set[str]:
    """Print a note about each column that probably has another type than its cells suggest.

    There is no note about the `known` columns, whose types the user gave. The function returns
    the columns that have a note about many different texts.
    """
    many = set()
    for name in X.columns if len(X) >= 3 else []:
        if name in known:
            continue
        text = column_note(X[name], marks)
        if text is None:
            text = many_texts_note(X[name])
            many |= {name} if text is not None else set()
        if text is not None:
            console.note(text)
    return many


def column_note(column: pd.Series, marks: Marks) -> str | None:
    """The first note that fits what the cells of a column look like."""
    if column.dtype.kind in "iu" and bool((column.diff().iloc[1:] == 1).all()):
        return identifier_note(column, "counts the rows")
    if column.dtype != object or holds_dates(column):
        return None
    cells = column.dropna().astype(str)
    return (
        codes_note(cells)
        or other_numbers_note(cells, marks)
        or almost_numbers_note(cells)
        or dates_note(cells)
    )


def many_texts_note(column: pd.Series) -> str | None:
    """The note about a column with so many different texts that each is in few rows."""
    if column.dtype.kind in "iufbM" or holds_dates(column):
        return None
    n_texts = column.dropna().astype(str).nunique()
    if n_texts == len(column):
        return identifier_note(column, "has a different text in every row")
    if n_texts + column.hasnans <= MAX_CATEGORIES:  # missing is a category too
        return None
    return (
        f"the column {column.name!r} has {n_texts:,} different texts: the {MAX_CATEGORIES - 1} "
        f"most frequent become categories, all others one together. Group them first, or leave "
        f"it out with --drop {shlex.quote(column.name)}."
    )


def identifier_note(column: pd.Series, why: str) -> str:
    return (
        f"the column {column.name!r} {why}, like an identifier: leave it out with "
        f"--drop {shlex.quote(column.name)} if it is one."
    )


def other_numbers_note(cells: pd.Series, used: Marks) -> str | None:
    """The note about numbers that are written with other marks than `used`."""
    from neuralrules._cli._tables._cells import OTHER_MARKS, PLAIN, is_number

    texts = cells.drop_duplicates().head(SAMPLE_TEXTS)

    def are_numbers(marks: Marks) -> pd.Series:
        return texts.map(lambda text: is_number(text, marks)).astype(bool)

    # Marks with the user's decimal mark come first, and so win if several marks fit equally.
    others = sorted((*OTHER_MARKS, PLAIN), key=lambda marks: marks.decimal != used.decimal)
    by_marks = {marks: are_numbers(marks) for marks in others if marks != used}
    marks, read = max(by_marks.items(), key=lambda item: item[1].sum())
    new = texts[read & ~are_numbers(used)]
    if 2 * read.sum() <= len(read) or new.empty:
        return None
    rest = "" if read.all() else f" {texts[~read].iloc[0]!r} stays text: it is no number."
    return (
        f"the column {cells.name!r} holds numbers such as {new.iloc[0]!r}, which are taken for "
        f"categories: give {marks.options} to read them.{rest}"
    )


def codes_note(cells: pd.Series) -> str | None:
    """The note about numbers with leading zeros, which `fit` takes for codes."""
    codes = cells[cells.str.fullmatch(r"\s*[+-]?0[0-9]+\s*")]
    if 2 * cells.str.fullmatch(r"\s*[+-]?[0-9]+\s*").sum() <= len(cells) or not len(codes):
        return None
    return (
        f"the column {cells.name!r} holds digits with leading zeros such as "
        f"{codes.iloc[0]!r}, which are taken for codes, not for numbers: write "
        f"numbers without them, or leave it out with --drop {shlex.quote(str(cells.name))}."
    )


def almost_numbers_note(cells: pd.Series) -> str | None:
    """The note about categories that are mostly numbers."""
    import pandas as pd

    is_number = pd.to_numeric(cells, errors="coerce").notna()
    if 2 * is_number.sum() <= len(cells) or is_number.all():
        return None
    others = cells[~is_number]
    return (
        f"{is_number.sum():,} of {len(cells):,} cells of {cells.name!r} are numbers, but "
        f"row {others.index[0] + 1} holds {others.iloc[0]!r}, so that all are taken for "
        f"categories: correct them, or give --missing {others.iloc[0]!r} if it means missing."
    )


def dates_note(cells: pd.Series) -> str | None:
    """The note about dates in text: without the option, each date would be a category."""
    name = shlex.quote(str(cells.name))
    remedies = {
        ISO_DATE: f"give --dates {name} to count them in days",
        OTHER_DATE: f"write them like 2020-12-31 and give --dates {name}, or leave the column "
        f"out with --drop {name}",
    }
    for form, remedy in remedies.items():
        dates = cells[cells.str.fullmatch(form)]
        if 2 * len(dates) > len(cells):
            return (
                f"the column {cells.name!r} holds dates such as {dates.iloc[0]!r}, each of "
                f"which is taken for a category: {remedy}."
            )
    return None
