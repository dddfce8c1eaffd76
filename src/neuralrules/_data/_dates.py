"""Dates as numbers: days since 1970-01-01, in UTC if a time zone is known."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from neuralrules._data._cells import is_missing

EPOCH = "1970-01-01"
LAST_MOMENT = 2932897  # in days: the end of the year 9999
DAY = 86_400_000_000  # in microseconds
# A date of ISO 8601, with or without a time and a zone; years 0001 to 9999.
ISO_DATE = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<minute>(?:[01]\d|2[0-3]):[0-5]\d)(?P<second>:[0-5]\d(?:\.\d{1,9})?)?"
    r" ?(?P<zone>Z|UTC|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def holds_dates(column: Any) -> bool:
    """Whether a column has a date type, or all its objects are dates or missing."""
    array = np.asarray(column)
    if array.dtype.kind == "M":
        return True
    if array.dtype.kind != "O":
        return False
    present = (cell for cell in array if not is_missing(cell))
    first = next(present, None)
    dates = (date, np.datetime64)
    return isinstance(first, dates) and all(isinstance(cell, dates) for cell in present)


def as_days(column: Any) -> np.ndarray:
    """A column of dates as days since 1970-01-01, (n_rows,) float64, NaN for missing."""
    array = np.asarray(column)
    if array.dtype.kind == "O":
        cells = [None if is_missing(cell) else plain(cell) for cell in array]
        array = np.array(cells, "datetime64[us]")
    ticks = array.astype("datetime64[us]")
    days = ticks.astype(np.int64) / DAY
    days[np.isnat(ticks)] = np.nan
    return days


def plain(cell: Any) -> Any:
    """A date without a time zone, in UTC if it had one."""
    zone = getattr(cell, "tzinfo", None)
    if zone is not None:  # astimezone fails near the years 1 and 9999
        ahead = cell.utcoffset() or timedelta(0)
        return np.datetime64(cell.replace(tzinfo=None), "us") - np.timedelta64(ahead, "us")
    return cell


def days_of_text(text: str) -> float | None:
    """The days of a date in ISO 8601; None for any other text."""
    match = ISO_DATE.fullmatch(text.strip())
    if match is None:
        return None
    second = float((match["second"] or ":00")[1:])
    ahead = offset(match["zone"])
    try:
        moment = datetime.fromisoformat(f"{match['day']} {match['minute'] or '00:00'}:00")
    except ValueError:
        return None
    if abs(ahead) >= timedelta(days=1):
        return None
    # This result may be after the year 9999, which a datetime cannot represent.
    span = moment - datetime.fromisoformat(EPOCH) + timedelta(seconds=second) - ahead
    return span / timedelta(days=1)


def offset(zone: str | None) -> timedelta:
    """How far a time zone is ahead of UTC."""
    if zone in (None, "Z", "UTC"):
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -ahead if zone[0] == "-" else ahead


def date_text(days: float) -> str:
    """A number of days as a date, with its time if that is not midnight."""
    try:
        moment = datetime.fromisoformat(EPOCH) + timedelta(seconds=round(days * 86_400))
    except OverflowError:
        return f"{days:.0f} days since {EPOCH}"
    text = moment.isoformat(" ", "seconds")
    return text.removesuffix(":00").removesuffix(" 00:00")
