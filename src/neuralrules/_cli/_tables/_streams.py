"""Opening files and standard streams as bytes, with checks and with (de)compression."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

from neuralrules._cli._errors import InputError
from neuralrules._io._writing import checked_path, whole_file

STANDARD = "-"  # the path of standard input and output
STANDARD_INPUT = "standard input"  # the name of standard input in messages
DELIMITERS = {"csv": ",", "tsv": "\t"}
FORMATS = (*DELIMITERS, "parquet")
FORMAT_OPTION = "--data-format"  # the commands' option for the format of a table


def open_gzip(stream: BinaryIO, mode: str) -> Any:
    # Without a time and a name in the file, the same table gives the same bytes.
    return gzip.GzipFile(filename="", mode=mode, compresslevel=6, fileobj=stream, mtime=0)


def open_zstd(stream: BinaryIO, mode: str) -> Any:
    import pyarrow as pa

    if mode == "rb":
        return io.BufferedReader(pa.CompressedInputStream(stream, "zstd"))
    return pa.CompressedOutputStream(LeftOpen(stream), "zstd")


class LeftOpen(io.RawIOBase):
    """A stream that stays open when pyarrow closes this wrapper around it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


@dataclass(frozen=True)
class Compression:
    """A way to compress files: its program, and how to know, to read and to write such files.

    `magic` is a pattern of the first bytes. `open` takes a stream, and the mode "rb" or "wb".
    """

    name: str
    magic: bytes
    open: Callable[..., Any]


COMPRESSIONS = {
    "gz": Compression("gzip", rb"\x1f\x8b", open_gzip),
    "bz2": Compression("bzip2", rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", bz2.BZ2File),
    "xz": Compression("xz", rb"\xfd7zXZ\0", lzma.LZMAFile),
    "zst": Compression("zstd", rb"\x28\xb5\x2f\xfd", open_zstd),
}


@dataclass
class Source:
    """A table's bytes, decompressed, as a buffered stream.

    Its name in messages is the path that the user gave, or "standard input". `done` returns the
    share of the file that has been read, from 0 to 1, or None if it is unknown.
    """

    name: str
    stream: Any
    done: Callable[[], float | None] = lambda: None
    in_place: bool = False  # whether the stream is a file, which can be read from any position


def format_and_compression(
    path: str, file_format: str | None, option: str | None = None
) -> tuple[str, Compression | None]:
    """The format of a table and its compression, such as "csv" and gzip for data.csv.gz.

    A standard stream ("-") is not compressed, and is CSV unless `file_format` is given.
    `option` is the option with which a user gives the format, for the error message.
    """
    if file_format is not None and file_format not in FORMATS:
        raise InputError(
            f"{FORMAT_OPTION}={file_format!r} is not known. Give csv, tsv or parquet."
        )
    if path == STANDARD:
        return file_format or "csv", None
    *stem, suffix = Path(path).name.lower().split(".")
    if suffix == "zip":
        raise InputError(
            f"{path!r}: zip archives can neither be read nor written. Use a single file, plain "
            "or compressed, for example data.csv or data.csv.gz."
        )
    compression = COMPRESSIONS.get(suffix)
    if compression is not None:
        *stem, suffix = stem or [""]
    if file_format is None and not (stem and suffix in FORMATS):
        raise InputError(
            f"{path!r}: the name does not tell the table's format. Give a name that ends in "
            ".csv, .tsv or .parquet (if compressed, followed by "
            f"{', '.join(f'.{known}' for known in COMPRESSIONS)})"
            f"{f', or {option} csv, tsv or parquet' if option else ''}."
        )
    return file_format or suffix, compression


@contextmanager
def reading(
    name: str,
    damage: str = "decompressing it fails",
    errors: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error, lzma.LZMAError),
) -> Iterator[None]:
    """Turn errors while the bytes of a table are read into one line for the user."""
    try:
        yield
    except errors as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"{name} cannot be read: {error.strerror}.") from error
        # For a file that is cut off, zstd in pyarrow raises an error of no special class.
        cut_off = isinstance(error, EOFError) or "Truncated" in str(error)
        what = "cut off in the middle" if cut_off else f"damaged: {damage}"
        raise InputError(f"{name} is {what}. Copy or download it again.") from error


def check_is_file(path: str) -> None:
    """Refuse a path that is a folder or does not exist."""
    if path == STANDARD:
        return
    if os.path.isdir(path):
        raise InputError(f"{path!r} is a folder. Give the name of a file in it.")
    if os.path.exists(path):
        return
    folder, name = os.path.split(path)
    hint = "Check the name, and the folder you are in."
    try:
        for similar in get_close_matches(name, os.listdir(folder or "."), n=1):
            hint = f"Did you mean {os.path.join(folder, similar)!r}?"
    except OSError:
        hint = f"There is no folder {folder!r} either: check the path."
    raise InputError(f"There is no file {path!r}. {hint}")


@contextmanager
def open_source(path: str, compression: Compression | None) -> Iterator[Source]:
    """The bytes of a file or of standard input ("-"), decompressed."""
    if path == STANDARD:
        if sys.stdin is None:
            raise InputError(
                "There is no standard input. Give the name of a file instead of -."
            )
        # Reading waits until the buffer is full. A buffer smaller than the 128 KiB of Python
        # 3.14 lets rows from a pipe come sooner.
        buffer: Any = sys.stdin.buffer
        stream = io.BufferedReader(buffer, 8192)
        try:
            yield Source(STANDARD_INPUT, stream)
        finally:
            stream.detach()  # otherwise sys.stdin would be closed together with `stream`
        return
    with ExitStack() as stack:
        file = stack.enter_context(opened(path))
        size = os.fstat(file.fileno()).st_size
        regular = file.seekable() and size > 0
        source = Source(
            name=path,
            stream=file,
            done=lambda: min(1.0, file.tell() / size) if regular else None,
            in_place=regular and compression is None,
        )
        if compression is not None:
            with reading(path):
                start = file.peek(16)
            if start and not re.match(compression.magic, start):
                raise InputError(
                    f"{path} is not compressed by {compression.name}, as its name says. Give "
                    "it a name that fits what it is, or make it again."
                )
            if start:  # an empty file has nothing to decompress
                source.stream = stack.enter_context(compression.open(file, "rb"))
        yield source


def opened(path: str) -> Any:
    """An open file. If it cannot be opened, an error says why."""
    try:
        return open(path, "rb")
    except PermissionError as error:
        raise InputError(
            f"You may not read {path!r}. Change its permissions, or give another file."
        ) from error
    except OSError as error:
        raise InputError(f"{path!r} cannot be read: {error.strerror}.") from error


@contextmanager
def open_sink(path: str, file_format: str, compression: Compression | None) -> Iterator[Any]:
    """A binary stream into standard output, or into a file that is written whole or not at all.

    The path of a file is checked (by `checked_path`) before anything is written.
    """
    if path == STANDARD:
        if sys.stdout is None:
            raise InputError("There is no standard output. Give the name of a file.")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with ExitStack() as stack:
        stream = stack.enter_context(whole_file(checked_path(path, f"table.{file_format}")))
        if compression is not None:
            stream = stack.enter_context(compression.open(stream, "wb"))
        yield stream
