"""Checks of a file's text and arrays, before a model is made of them.

The kernels trust the shapes and indices of a model. So everything in a file from a stranger
must be checked before a kernel uses it.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from neuralrules._files._container import refuse

T = TypeVar("T")
# The largest number of rows. Rows count by their weights, which are float32, so no sum of
# weights is larger.
MOST_ROWS = 1e100


class Contents:
    """The text and the arrays of a file. The methods take the parts out one by one.

    Attributes
    ----------
    document : dict of str to object
        The parts of the text that are not taken yet.
    arrays : dict of str to ndarray
        The arrays that are not taken yet.
    """

    def __init__(self, document: Any, arrays: dict[str, np.ndarray]) -> None:
        if not isinstance(document, dict):
            refuse("its text does not describe a model")
        self.document, self.arrays = document, arrays

    def value(self, key: str, kind: type[T]) -> T:
        """A value of the text. It must be of exactly this type: True is not an integer."""
        if key not in self.document:
            refuse(f"it does not say {key!r}")
        value = self.document.pop(key)
        if type(value) is not kind:
            refuse(f"{key!r} is {shown(value)}, not of type {kind.__name__}")
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """A value of the text of exactly this type, or None."""
        if self.document.get(key, ...) is None:
            return self.document.pop(key)
        return self.value(key, kind)

    def count(self, key: str) -> int:
        """A whole number that is not negative and fits into int64."""
        value = self.value(key, int)
        if not 0 <= value < 2**63:
            refuse(f"{key!r} is {shown(value)}, not a count")
        return value

    def amount(self, key: str) -> float:
        """A number of rows, or the sum of their weights."""
        value = self.value(key, float)
        if not 0 <= value <= MOST_ROWS:
            refuse(f"{key!r} is {shown(value)}, not from 0 to {MOST_ROWS:g}")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of strings."""
        value = self.value(key, list)
        if not all(type(item) is str for item in value):
            refuse(f"{key!r} is not a list of texts")
        return value

    def array(
        self,
        name: str,
        dtype: type,
        shape: tuple[int | None, ...],
        *,
        finite: bool = True,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> np.ndarray:
        """An array of this dtype and shape, with values from `low` to `high`.

        None in `shape` stands for any length.
        """
        if name not in self.arrays:
            refuse(f"the array {name!r} is missing")
        array = self.arrays.pop(name)
        if array.dtype != np.dtype(dtype):
            refuse(f"the array {name!r} has dtype {array.dtype}, not {np.dtype(dtype)}")
        fits = [
            side in (None, length) for side, length in zip(shape, array.shape, strict=False)
        ]
        if len(array.shape) != len(shape) or not all(fits):
            sides = ", ".join("any" if side is None else str(side) for side in shape)
            wanted = f"({sides},)" if len(shape) == 1 else f"({sides})"
            refuse(f"the array {name!r} has shape {array.shape}, not {wanted}")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            refuse(f"the array {name!r} holds NaN or infinity")
        limited = low > -np.inf or high < np.inf
        if limited and (outside := (array < low) | (array > high)).any():
            value = array[outside][0].item()
            refuse(f"the array {name!r} holds {value!r}, not from {low:g} to {high:g}")
        return array

    def amounts(self, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """An array of numbers of rows, or of sums of their weights."""
        return self.array(name, np.float64, shape, low=0, high=MOST_ROWS)

    def indices(self, name: str, dtype: type, n: int | None, low: int, high: int) -> np.ndarray:
        """An array of whole numbers that are at least `low` and less than `high`."""
        array = self.array(name, dtype, (n,))
        if array.size and (array.min() < low or array.max() >= high):
            refuse(f"the array {name!r} points outside of the model")
        return array

    def offsets(self, name: str, *, empty: bool) -> np.ndarray:
        """The places where the parts of each rule or column begin, and the end of the last one.

        With `empty`, a rule or column may have no parts.
        """
        array = self.array(name, np.int64, (None,))
        # Neighbours are compared, because their difference could overflow.
        ascends = array[:-1] <= array[1:] if empty else array[:-1] < array[1:]
        if len(array) < 2 or array[0] != 0 or not ascends.all():
            refuse(f"the array {name!r} does not ascend from 0")
        return array

    def nothing_left(self) -> None:
        for what, left in (("value", self.document), ("array", self.arrays)):
            if left:
                refuse(f"it holds an unknown {what}, {shown(next(iter(left)))}")


def shown(value: Any) -> str:
    """The beginning of a value that may be long, for messages."""
    return repr(value[:40] if isinstance(value, str) else value)[:60]
