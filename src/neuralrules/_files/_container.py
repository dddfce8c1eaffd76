"""Named arrays and a text as one block of bytes: a safetensors file with a digest.

`pack` makes the bytes, and `unpack` reads them. `Contents` then hands out the arrays and the
values of the text one by one. The kernels trust the shapes and indices of a model, so
everything in a file from a stranger is checked before a kernel uses it.

A file begins with eight bytes that hold the length of the header. The header follows as JSON,
then the numbers of all arrays, one array after the other. This module reads the files itself,
because the safetensors package also accepts files that were altered or are too large.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, NoReturn, TypeVar

import numpy as np

VERSION = 1
MAX_HEADER_BYTES = 2**23  # parsed JSON takes about twenty times as much memory
MAX_DIMENSIONS = 3
ALIGNMENT = 8
DTYPES = {
    "BOOL": np.dtype("bool"),
    "I8": np.dtype("int8"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("uint8"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
CODES = {dtype: code for code, dtype in DTYPES.items()}
NO_DIGEST = "0" * 64
DAMAGED = "Copy or save the file again."
# The largest number of rows. Rows count by their weights, which are float32, so no sum of
# weights is larger.
MOST_ROWS = 1e100
T = TypeVar("T")


class ModelFileError(ValueError):
    """The error for a file that holds no model, or is not as it was saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neuralrules import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.nrules"
    ...     _ = path.write_text("no model at all")
    ...     try:
    ...         load(path)
    ...     except ModelFileError as error:
    ...         print(type(error).__name__)
    ModelFileError
    """


def refuse(what: str) -> NoReturn:
    """Raise the error for a file that may be damaged."""
    raise ModelFileError(f"{what}. {DAMAGED}")


def pack(arrays: dict[str, np.ndarray], text: str, writer: str) -> bytes:
    """The bytes of a file. `writer` is the version of this library.

    The arrays have a dtype in `DTYPES` and at most `MAX_DIMENSIONS` dimensions.
    """
    # The widest numbers first, so that each array begins at a multiple of its item's size.
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    header: dict[str, Any] = {
        "__metadata__": {
            "format": "neuralrules",
            "version": str(VERSION),
            "writer": writer,
            "sha256": NO_DIGEST,
            "model": text,
        }
    }
    start = 0
    for name, array in ordered:
        stop = start + array.nbytes
        code = CODES[array.dtype.newbyteorder("<")]
        header[name] = {"dtype": code, "shape": array.shape, "data_offsets": [start, stop]}
        start = stop
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    encoded += b" " * (-len(encoded) % ALIGNMENT)
    if len(encoded) > MAX_HEADER_BYTES:
        raise ValueError(
            f"The names and categories of this model take {len(encoded):,} bytes, more than "
            f"the {MAX_HEADER_BYTES:,} that a model file may have for them. Fit with shorter "
            "ones."
        )
    little = [array.astype(array.dtype.newbyteorder("<"), copy=False) for _, array in ordered]
    data = b"".join(array.tobytes() for array in little)
    whole = len(encoded).to_bytes(8, "little") + encoded + data
    return whole.replace(NO_DIGEST.encode(), digest_of(whole, NO_DIGEST).encode(), 1)


def digest_of(whole: bytes, named: str) -> str:
    """SHA-256 of a file, with zeros in place of the digest that the file holds itself.

    `named` is this digest. If the file does not contain it, the result is empty.
    """
    place = whole.find(named.encode())
    if place < 0:  # JSON can spell the digest in another way
        return ""
    digest = hashlib.sha256(memoryview(whole)[:place])
    digest.update(NO_DIGEST.encode())
    digest.update(memoryview(whole)[place + len(named) :])
    return digest.hexdigest()


def unpack(whole: bytes) -> tuple[dict[str, np.ndarray], str]:
    """Arrays and text of a file. A file that `pack` would not have written is refused."""
    if len(whole) < 8:
        refuse(f"it holds {len(whole)} bytes, too few for a model")
    length = int.from_bytes(whole[:8], "little")
    if length > MAX_HEADER_BYTES or whole[8:9] != b"{":
        raise ModelFileError(
            "it is not a neuralrules model file. Give a file written by model.save(path)."
        )
    if len(whole) < 8 + length:
        refuse("it is cut short, within its header")
    header = parse_json(whole[8 : 8 + length], "its header")
    metadata = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or metadata.get("format") != "neuralrules":
        raise ModelFileError(
            "it is a safetensors file of something else than a neuralrules model. Give a file "
            "written by model.save(path)."
        )
    check_version(metadata)
    arrays = unpack_arrays(header, memoryview(whole)[8 + length :])
    digest = metadata.get("sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        refuse("it has no digest of its content")
    if digest_of(whole, digest) != digest:
        refuse("it was altered: its content does not match its digest")
    text = metadata.get("model")
    if not isinstance(text, str):
        refuse("its header says nothing about the model")
    return arrays, text


def check_version(metadata: dict[str, Any]) -> None:
    """Refuse a version of the file format that this release cannot read."""
    version, writer = metadata.get("version"), metadata.get("writer")
    if version == str(VERSION):
        return
    if isinstance(version, str) and version.isascii() and version.isdigit():
        raise ModelFileError(
            f"it has version {version[:9]} of the file format, written by neuralrules "
            f"{str(writer)[:20]!r}; this release reads version {VERSION}. "
            "Upgrade neuralrules."
        )
    refuse("it does not say which version of the file format it has")


def parse_json(encoded: bytes | str, where: str) -> Any:
    """Parse JSON. Refuse repeated keys, NaN and infinity, which may be spelled 1e999."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            raise ValueError("a key stands twice in one object")
        return result

    def finite(text: str) -> float:
        if not math.isfinite(float(text)):
            raise ValueError(f"{text[:20]} is not a finite number")
        return float(text)

    try:
        return json.loads(
            encoded, object_pairs_hook=unique, parse_constant=finite, parse_float=finite
        )
    except (ValueError, RecursionError) as error:
        nested = isinstance(error, RecursionError)
        reason = "a list or an object is nested too deeply" if nested else error
        refuse(f"{where} is not valid JSON ({reason})")


def unpack_arrays(header: dict[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    """The arrays of a header, which must lie in `data` one after the other without gaps."""
    arrays, start = {}, 0
    for name, entry in header.items():
        broken = f"its header does not describe the array {name[:40]!r}"
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            refuse(broken)
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        dtype = DTYPES.get(code) if isinstance(code, str) else None
        counts = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        if dtype is None or not counts:
            refuse(broken)
        # Python's integers do not overflow, so the product of an absurd shape is a large
        # number. No memory is allocated before it has been compared with the file's size.
        stop = start + math.prod(shape) * dtype.itemsize
        if offsets != [start, stop] or len(shape) > MAX_DIMENSIONS:
            refuse(broken)
        if stop > len(data):
            refuse(f"it is cut short, within the array {name[:40]!r}")
        try:
            arrays[name] = np.frombuffer(data[start:stop], dtype).reshape(shape).copy()
        except ValueError:  # an empty array with an absurd side
            refuse(broken)
        start = stop
    if start != len(data):
        refuse(f"it holds {len(data) - start:,} bytes more than its header says")
    return arrays


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
