"""From the text of cells to numbers, and from Arrow's columns to pandas' ones."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from neuralrules._data._number_texts import NUMBER

TEXT = pa.large_string()  # a column may hold more than 2 GiB of text


class NotANumberError(ValueError):
    """The first cell of a column that is no number."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def number(text: str, names: Mapping[str, float]) -> float:
    """The number that a cell's text says; `names` are of numbers, in small letters."""
    bare = text.strip(string.whitespace)
    if NUMBER.fullmatch(bare):
        return float(bare)
    if bare.lower() in names:
        return names[bare.lower()]
    raise NotANumberError(text)


def with_holes(column: Any, markers: Iterable[str]) -> Any:
    """An Arrow column with nulls in place of the cells that mean missing.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Text or numbers; other types are returned as they are.
    markers : texts
        A number is missing where one of them says the same number.
    """
    if is_text(column.type):
        known, cells = pa.array(sorted(markers), column.type), column
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        said = [float(text) for text in markers if NUMBER.fullmatch(text)]
        known, cells = pa.array(said, pa.float64()), pc.cast(column, pa.float64(), safe=False)
    else:
        return column
    if not len(known):
        return column
    return pc.if_else(pc.is_in(cells, known), pa.scalar(None, column.type), column)


def numbers(texts: Any, names: Mapping[str, float]) -> np.ndarray:
    """Texts as float64 with NaN for null, (n_rows,).

    Parameters
    ----------
    texts : pyarrow.ChunkedArray of text
    names : mapping
        Names of numbers, in small letters, such as `TRUTHS`.

    Raises
    ------
    NotANumberError
        With the first text that says no number.
    """
    try:
        values = pc.cast(pc.ascii_trim_whitespace(texts), pa.float64())
    except pa.ArrowInvalid:
        values = None
    # Arrow takes any spelling of NaN for a number, pandas and we do not.
    if values is not None and not pc.any(pc.is_nan(values)).as_py():
        return values.to_numpy()
    encoded = texts.combine_chunks().dictionary_encode()
    # In the order of their first rows: the first text that fails is the first cell that does.
    said = [number(text, names) for text in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(len(said)).to_numpy()
    return np.array([*said, np.nan])[places]


def typed(texts: Any) -> Any:
    """A column of text as pandas would type it: int64, float64 or objects with None.

    Unlike pandas, whole numbers beyond int64 are float64, and True and False are text.
    """
    try:
        values = numbers(texts, {})
    except NotANumberError:
        return objects(texts)
    bare = pc.ascii_trim_whitespace(texts)
    if texts.null_count or not pc.all(pc.match_substring_regex(bare, r"^[+-]?[0-9]+$")).as_py():
        return values
    try:
        return pc.cast(pc.ascii_ltrim(bare, "+"), pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return values


def objects(texts: Any) -> pd.Series:
    """Text with None for null; pandas 3 would make it another type if it were not told."""
    return pd.Series(texts.to_numpy(), dtype=object)


def plain(column: Any) -> Any:
    """An Arrow column without a dictionary, and with `TEXT` for all types of text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(TEXT) if is_text(column.type) else column


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of the text types."""
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
    )
