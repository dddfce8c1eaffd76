"""Axes of the report's charts: what they run over, and what is written along them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit, logit

from neuralrules._data._dates import date_text
from neuralrules._report._numbers import (
    POWERS_FROM,
    SHORT_FROM,
    UNITS,
    minus,
    plain_text,
    short,
)

# Widths of letters at the charts' size of text, in the widest of the fonts in use.
LETTER = 7.7
LETTERS = {"−": 10.2, "+": 10.2, "M": 10.5, "G": 9.5, "%": 11.0, ".": 4.0, ",": 4.0}
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
WHOLE_STEPS = (1.0, 2.0, 5.0, 10.0)
# Probabilities to write on an axis of log odds, the first choice first.
PROBABILITIES = tuple(
    tuple(sorted({*low, *(1 - p for p in low), 0.5}))
    for low in (
        [10.0**-power for power in range(1, 13)],
        [f * 10.0**-power for power in range(1, 13) for f in (1, 3)],
        [f * 10.0**-power for power in range(1, 13) for f in (1, 1.5, 2, 3, 5, 7)],
    )
)
SPAN = "\N{NARROW NO-BREAK SPACE}"


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a chart.

    Attributes
    ----------
    label : str
    ends : tuple of two floats
        What it runs over, warped.
    ticks : (n,) float64
        Places of its labels, not warped.
    texts : list of str
    warp : callable
        From the numbers shown to what is linear along the axis.
    """

    label: str
    ends: tuple[float, float]
    ticks: np.ndarray
    texts: list[str]
    warp: Callable[[np.ndarray], np.ndarray] = np.asarray

    def places(self, numbers: np.ndarray, first: float, last: float) -> np.ndarray:
        """Where numbers lie between the places of both ends, which they do not leave."""
        with np.errstate(divide="ignore"):  # zero on a logarithmic axis lies at its end
            warped = np.clip(self.warp(np.asarray(numbers, np.float64)), *self.ends)
        return scale(np.array(self.ends), first, last)(warped)


def number_axis(label: str, numbers: np.ndarray, *, zero: bool = False) -> Axis:
    """From a round number below all to one above; from zero if that is asked for."""
    low, high = float(np.min(numbers)), float(np.max(numbers))
    ticks = nice_ticks(min(0.0, low) if zero else low, high)
    return Axis(label, (float(ticks[0]), float(ticks[-1])), ticks, tick_texts(ticks))


def tight_axis(label: str, low: float, high: float, *, whole: bool = False) -> Axis:
    """Exactly from one number to another, with round ones between them."""
    ticks = nice_ticks(low, high, whole=whole)
    inside = ticks[(ticks >= low) & (ticks <= high)]
    if not inside.size:
        inside = np.array([low])
    ends = (low, high) if high > low else (low - 0.5, high + 0.5)
    return Axis(label, ends, inside, tick_texts(inside))


def date_axis(label: str, low: float, high: float) -> Axis:
    """Days from one to another, at most three of them written out."""
    ticks = np.unique(np.round(np.linspace(low, high, 3)))
    texts = [date_text(tick)[:10] for tick in ticks]
    return Axis(label, (low, high) if high > low else (low - 0.5, high + 0.5), ticks, texts)


def log_axis(label: str, low: float, high: float, *, shares: bool = False) -> Axis:
    """A logarithmic axis of numbers, or of shares in percent."""
    ticks = log_ticks(low, high)
    texts = share_texts(ticks) if shares else tick_texts(ticks)
    return Axis(label, (float(np.log10(low)), float(np.log10(high))), ticks, texts, np.log10)


def share_axis(label: str, high: float = 1.0) -> Axis:
    """Shares from zero, in percent."""
    ticks = nice_ticks(0.0, high)
    return Axis(label, (0.0, float(ticks[-1])), ticks, share_texts(ticks))


def odds_axis(label: str, low: float, high: float) -> Axis:
    """Log odds, labelled with the probabilities that they are."""
    for choice in PROBABILITIES:
        ticks = logit(np.array(choice))
        inside = np.array(choice)[(ticks >= low) & (ticks <= high)]
        if len(inside) >= 3:
            stride = -(-len(inside) // 6)
            chosen = inside[::stride]
            return Axis(label, (low, high), logit(chosen), share_texts(chosen))
    # So narrow that no round one lies inside, or only two of them.
    shares = nice_ticks(*expit([low, high]).tolist())
    shares = shares[(shares > expit(low)) & (shares < expit(high))]
    if not shares.size:
        shares = expit(np.array([(low + high) / 2]))
    texts = [f"{text}{SPAN}%" for text in tick_texts(100 * shares)]
    return Axis(label, (low, high), logit(shares), texts)


def share_texts(shares: np.ndarray) -> list[str]:
    """Shares in percent, with the digits that they have."""
    texts = []
    for share in shares.tolist():
        digits = max(3, 2 + int(np.ceil(-np.log10(max(1 - share, 1e-12)))))
        texts.append(f"{float(f'{100 * share:.{digits}g}'):.12g}{SPAN}%")
    return texts


@dataclass(frozen=True)
class Tick:
    """A place on an axis, what is written there, and all its digits if that is shortened."""

    place: float
    text: str
    full: str = ""


def nice_ticks(low: float, high: float, n: int = 5, *, whole: bool = False) -> np.ndarray:
    """About `n` round numbers from `low` or just below to `high` or just above."""
    # Numbers that floats tell apart, and whose difference can be divided.
    if not high - low > max(1e-12 * max(abs(low), abs(high)), 1e-300):
        margin = abs(low) / 2 or 1.0
        low, high = low - margin, high + margin
    raw = max((high - low) / n, 1.0) if whole else (high - low) / n
    power = 10.0 ** np.floor(np.log10(raw))
    steps = WHOLE_STEPS if whole else STEPS
    step = next(factor for factor in steps if factor * power >= raw * (1 - 1e-9)) * power
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return np.arange(first, last + 1) * step


def log_ticks(low: float, high: float) -> np.ndarray:
    """Round numbers from `low` to `high`: powers of ten and simple multiples of them."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for factors in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
        ticks = np.unique(np.outer(powers, factors))
        ticks = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
        if len(ticks) >= 3:
            return ticks
    ticks = nice_ticks(low, high)
    inside = ticks[(ticks >= low) & (ticks <= high)]
    return inside if inside.size else np.array([low])


def tick_texts(ticks: np.ndarray) -> list[str]:
    """Labels that are all written in the same unit and to the same decimal place."""
    sizes = np.abs(ticks)
    largest, smallest = float(sizes.max()), float(sizes[sizes > 0].min(initial=np.inf))
    if largest > 100 * smallest:  # of a logarithmic axis, where no unit suits all
        return [short(float(tick), 3) for tick in ticks]
    unit, name = tick_unit(largest)
    scaled = ticks / unit
    gap = float(np.diff(scaled).min()) if len(ticks) > 1 else abs(float(scaled[0])) or 1.0
    decimals = next(
        (n for n in range(15) if np.allclose(scaled, np.round(scaled, n), 0, 1e-3 * gap)), 15
    )
    texts = [f"{tick + 0.0:,.{decimals}f}{name}" for tick in scaled]
    return [
        minus("0" if name and tick == 0 else text)
        for tick, text in zip(ticks, texts, strict=True)
    ]


def tick_unit(largest: float) -> tuple[float, str]:
    """What the labels of an axis count in, by the largest of them: 1, thousands, 1e-12."""
    if SHORT_FROM <= largest < POWERS_FROM:
        return next(pair for pair in UNITS if largest >= pair[0])
    if largest == 0 or 1e-3 <= largest < SHORT_FROM:
        return 1.0, ""
    power = int(np.floor(np.log10(largest) + 1e-9))
    return 10.0**power, f"e{power:+03d}"


def text_width(text: str) -> float:
    """Room that a label takes."""
    return sum(LETTERS.get(letter, LETTER) for letter in text)


def scale(ends: np.ndarray, first: float, last: float) -> Callable[[np.ndarray], np.ndarray]:
    """The linear map that takes both `ends` to `first` and `last`."""
    low, high = float(ends[0]), float(ends[1])

    def apply(values: np.ndarray) -> np.ndarray:
        return first + (np.asarray(values, np.float64) - low) / (high - low) * (last - first)

    return apply


def placed(places: np.ndarray, ticks: np.ndarray, texts: list[str]) -> list[Tick]:
    """Labels at their places on an axis."""
    result = []
    for place, tick, text in zip(places.tolist(), ticks.tolist(), texts, strict=True):
        full = plain_text(tick) if text[-1] in "kMG" or "e" in text else ""
        result.append(Tick(place, text, minus(full)))
    return result


def spaced(ticks: list[Tick]) -> list[Tick]:
    """All ticks, or every second, third, …, of them, so that their texts do not touch.

    A tick at zero stays.
    """
    zero = next((i for i, tick in enumerate(ticks) if not tick.text.strip("0.")), 0)
    for stride in range(1, len(ticks)):
        shown = ticks[zero % stride :: stride]
        rooms = (
            b.place - a.place - (text_width(a.text) + text_width(b.text)) / 2
            for a, b in pairwise(shown)
        )
        if all(room > 6 for room in rooms):
            return shown
    return ticks[zero : zero + 1]
