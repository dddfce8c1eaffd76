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
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from neuralrules._io._writing import checked_path, whole_file

STANDARD = "-"  # the path of standard input and output
STANDARD_INPUT = "standard input"  # the name of standard input in messages
FORMATS = ("csv", "tsv", "parquet")
FORMAT_OPTION = "--data-format"  # the commands' option for the format of a table


class TableError(Exception):
    """A mistake in a table file. The text is one line for the user."""


def _zstd_reader(stream: BinaryIO) -> io.BufferedReader:
    import pyarrow as pa

    return io.BufferedReader(pa.CompressedInputStream(stream, "zstd"))


def _zstd_writer(stream: BinaryIO) -> Any:
    import pyarrow as pa

    return pa.CompressedOutputStream(_LeftOpen(stream), "zstd")


class _LeftOpen(io.RawIOBase):
    """A stream that stays open when pyarrow closes this wrapper around it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


def _gzip_writer(stream: BinaryIO) -> gzip.GzipFile:
    # Without a time and a name in the file, the same table gives the same bytes.
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0)


@dataclass(frozen=True)
class Compression:
    """A way to compress files: how such a file starts, and how to read and write it."""

    name: str
    magic: re.Pattern[bytes]
    reader: Callable[[BinaryIO], Any]
    writer: Callable[[BinaryIO], Any]


COMPRESSIONS = {
    "gz": Compression(
        "gzip",
        re.compile(rb"\x1f\x8b"),
        lambda stream: gzip.GzipFile(fileobj=stream),
        _gzip_writer,
    ),
    "bz2": Compression(
        "bzip2",
        re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
        bz2.BZ2File,
        partial(bz2.BZ2File, mode="wb"),
    ),
    "xz": Compression(
        "xz",
        re.compile(rb"\xfd7zXZ\0"),
        lzma.LZMAFile,
        partial(lzma.LZMAFile, mode="wb"),
    ),
    "zst": Compression("zstd", re.compile(rb"\x28\xb5\x2f\xfd"), _zstd_reader, _zstd_writer),
}


@dataclass
class Source:
    """A table's bytes, decompressed.

    Attributes
    ----------
    name : str
        Name of the table in messages: the path that the user gave, or "standard input".
    stream : buffered binary stream
    done : callable
        Returns the share of the file that has been read, from 0 to 1; None if it is unknown.
    in_place : bool
        Whether the stream is the file itself, so that it can be read from any position.
    """

    name: str
    stream: Any
    done: Callable[[], float | None] = lambda: None
    in_place: bool = False


def format_and_compression(
    path: str, file_format: str | None, option: str | None = None
) -> tuple[str, Compression | None]:
    """The format of a table and its compression, such as "csv" and gzip for data.csv.gz.

    Parameters
    ----------
    path : str
        A standard stream ("-") is not compressed, and CSV unless `file_format` is given.
    file_format : str or None
        The format. It overrides the format in the name of the file.
    option : str, optional
        The option with which a user gives the format, for the error message.
    """
    if file_format is not None and file_format not in FORMATS:
        raise TableError(
            f"{FORMAT_OPTION}={file_format!r} is not known. Give csv, tsv or parquet."
        )
    if path == STANDARD:
        return file_format or "csv", None
    *stem, suffix = Path(path).name.lower().split(".")
    if suffix == "zip":
        raise TableError(
            f"{path!r}: zip archives can neither be read nor written. Use a single file, plain "
            "or compressed, for example data.csv or data.csv.gz."
        )
    compression = COMPRESSIONS.get(suffix)
    if compression is not None:
        *stem, suffix = stem or [""]
    if file_format is None and not (stem and suffix in FORMATS):
        raise TableError(
            f"{path!r}: the name does not tell the table's format. Give a name that ends in "
            ".csv, .tsv or .parquet (if compressed, followed by "
            f"{', '.join(f'.{known}' for known in COMPRESSIONS)})"
            f"{f', or {option} csv, tsv or parquet' if option else ''}."
        )
    return file_format or suffix, compression


@contextmanager
def reading(name: str, damage: str = "decompressing it fails") -> Iterator[None]:
    """Turn errors that occur while bytes are read into one line for the user.

    Parameters
    ----------
    name : str
        Name of the table that is read.
    damage : str
        What the message says about damaged bytes.
    """
    try:
        yield
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise TableError(f"{name} cannot be read: {error.strerror}.") from error
        # For a file that is cut off, zstd in pyarrow raises an error of no special class.
        if isinstance(error, EOFError) or "Truncated" in str(error):
            what = "is cut off in the middle"
        else:
            what = f"is damaged: {damage}"
        raise TableError(f"{name} {what}. Copy or download it again.") from error


@contextmanager
def open_source(path: str, compression: Compression | None) -> Iterator[Source]:
    """The bytes of a file or of standard input ("-"), decompressed.

    Raises
    ------
    TableError
        If the file cannot be read, or if it is not compressed in the way that its name says.
    """
    if path == STANDARD:
        stream = _standard_input()
        try:
            yield Source(STANDARD_INPUT, stream)
        finally:
            stream.detach()  # otherwise sys.stdin would be closed together with `stream`
        return
    with ExitStack() as stack:
        file = stack.enter_context(_opened(path))
        size = os.fstat(file.fileno()).st_size
        regular = file.seekable() and size > 0
        source = Source(
            name=path,
            stream=file,
            done=lambda: min(1.0, file.tell() / size) if regular else None,
            in_place=regular and compression is None,
        )
        if compression is not None and _starts_with(file, compression, path):
            source.stream = stack.enter_context(compression.reader(file))
        yield source


def _starts_with(file: Any, compression: Compression, path: str) -> bool:
    """Whether the file has bytes to decompress. Refuses bytes of another compression."""
    with reading(path):
        start = file.peek(16)
    if start and not compression.magic.match(start):
        raise TableError(
            f"{path} is not compressed by {compression.name}, as its name says. Give it a name "
            "that fits what it is, or make it again."
        )
    return bool(start)


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise TableError("There is no standard input. Give the name of a file instead of -.")
    buffer: Any = sys.stdin.buffer
    # Reading waits until the buffer is full. A buffer smaller than the 128 KiB of Python 3.14
    # lets rows from a pipe come sooner.
    return io.BufferedReader(buffer, 8192)


def check_is_file(path: str) -> None:
    """Refuse a path that is a folder or does not exist."""
    if path == STANDARD:
        return
    if os.path.isdir(path):
        raise TableError(f"{path!r} is a folder. Give the name of a file in it.")
    if not os.path.exists(path):
        raise TableError(f"There is no file {path!r}. {_similar_file(path)}")


def _opened(path: str) -> Any:
    """An open file. If it cannot be opened, an error says why."""
    try:
        return open(path, "rb")
    except PermissionError as error:
        raise TableError(
            f"You may not read {path!r}. Change its permissions, or give another file."
        ) from error
    except OSError as error:
        raise TableError(f"{path!r} cannot be read: {error.strerror}.") from error


def _similar_file(path: str) -> str:
    """A hint for a file that does not exist: a similar name in its folder."""
    folder, name = os.path.split(path)
    try:
        neighbours = os.listdir(folder or ".")
    except OSError:
        return f"There is no folder {folder!r} either: check the path."
    similar = get_close_matches(name, neighbours, n=1)
    if similar:
        return f"Did you mean {os.path.join(folder, similar[0])!r}?"
    return "Check the name, and the folder you are in."


@contextmanager
def open_sink(path: str, file_format: str, compression: Compression | None) -> Iterator[Any]:
    """A binary stream into standard output, or into a file that is written whole or not at all.

    Raises
    ------
    OSError, ValueError, TypeError
        Errors of `checked_path`, before anything is written.
    """
    if path == STANDARD:
        if sys.stdout is None:
            raise TableError("There is no standard output. Give the name of a file.")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with ExitStack() as stack:
        stream = stack.enter_context(whole_file(checked_path(path, f"table.{file_format}")))
        if compression is not None:
            yield stack.enter_context(compression.writer(stream))
        else:
            yield stream
