"""Tables that were made to do harm: small files that hold far too much, and odd bytes."""

import bz2
import gzip
import io
import lzma
import sys
from dataclasses import replace
from itertools import chain, cycle
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import refused

from neuralrules._cli._errors import InputError
from neuralrules._cli._tables import _csv, _streams, open_table

LIMIT = 100_000  # bytes of a row in these tests
AHEAD = 2 * io.DEFAULT_BUFFER_SIZE  # what streams take beyond what is asked for
TOO_LONG = (
    f"it does not end within {LIMIT:,} bytes, the most that a row may have. Write each row on "
    "a line of its own, and leave long cells out. If a quote opens here and is never closed, "
    'close it. A quote inside a quoted cell must be doubled ("").'
)
# What a row can be made of that never ends.
ENDLESS = {
    "zeros": b"\0",
    "one cell": b"x",
    "many cells": b"ab,",
    "quoted newlines": b'"a\n",',
    "escaped quotes": b'"""",',
    "letters of four bytes": "😀".encode(),
    "blank lines": b"\r\n",
}
STARTS = {"header": b"", "row 3": b'a,b\n1,2\n3,"4\n5"\n'}


@pytest.fixture(autouse=True)
def limits(monkeypatch, tmp_path):
    monkeypatch.setattr(_csv, "LONGEST_ROW", LIMIT)
    monkeypatch.chdir(tmp_path)


class Endless(io.RawIOBase):
    """A start, then the same piece again and again; counts the bytes that were taken."""

    def __init__(self, start: bytes, piece: bytes) -> None:
        self._bytes = chain(start, cycle(piece))
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        buffer[:] = bytes(next(self._bytes) for _ in range(len(buffer)))
        self.taken += len(buffer)
        assert self.taken < 10 * LIMIT, "it is read without end"
        return len(buffer)


class Counted:
    """A stream that counts the bytes that were taken from it."""

    def __init__(self, stream) -> None:
        self._stream = stream
        self.taken = 0

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self._stream.close()

    def peek(self, size: int) -> bytes:
        return self._stream.peek(size)

    def read(self, size: int = -1) -> bytes:
        return self._counted(self._stream.read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._counted(self._stream.read1(size))

    readable = staticmethod(lambda: True)
    writable = seekable = staticmethod(lambda: False)
    flush = staticmethod(lambda: None)
    closed = False

    def _counted(self, piece: bytes) -> bytes:
        self.taken += len(piece)
        return piece


def compressed(content: bytes, suffix: str) -> bytes:
    if suffix == "zst":
        return pa.compress(content, "zstd", asbytes=True)
    return {"gz": gzip, "bz2": bz2, "xz": lzma}[suffix].compress(content)


def read(path: str, **options):
    with open_table(path, **options) as table:
        return table.read()


@pytest.fixture
def counted(monkeypatch):
    """All compressed streams that are opened, and what is taken from them."""
    streams = []
    for suffix, known in _streams.COMPRESSIONS.items():

        def opened(stream, mode, own=known.open):
            streams.append(Counted(own(stream, mode)))
            return streams[-1]

        monkeypatch.setitem(_streams.COMPRESSIONS, suffix, replace(known, open=opened))
    return streams


@pytest.mark.parametrize("where", STARTS)
@pytest.mark.parametrize("what", ENDLESS)
def test_a_row_without_end_is_refused_while_it_is_read(what, where, monkeypatch):
    stream = Endless(STARTS[where], ENDLESS[what])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream)))
    with pytest.raises(InputError) as caught:
        read("-")
    assert str(caught.value) == f"standard input, {where}: {TOO_LONG}"
    assert stream.taken <= LIMIT + 2 * AHEAD


@pytest.mark.parametrize("suffix", _streams.COMPRESSIONS)
@pytest.mark.parametrize("where", STARTS)
def test_a_small_file_of_one_huge_row_is_refused_while_it_is_read(suffix, where, counted):
    path = f"bomb.csv.{suffix}"
    content = compressed(STARTS[where] + bytes(50 * LIMIT), suffix)
    assert len(content) < LIMIT / 10
    Path(path).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}, {where}: {TOO_LONG}"
    (stream,) = counted
    assert stream.taken <= LIMIT + 2 * AHEAD


@pytest.mark.parametrize("suffix", _streams.COMPRESSIONS)
def test_what_is_no_parquet_file_is_not_decompressed(suffix, counted):
    path = f"bomb.parquet.{suffix}"
    Path(path).write_bytes(compressed(bytes(50 * LIMIT), suffix))
    with pytest.raises(InputError, match=f"{path} is not a Parquet file"):
        read(path)
    (stream,) = counted
    assert stream.taken == 4


def test_endless_input_that_is_no_parquet_file(monkeypatch):
    stream = Endless(b"", b"\0")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream)))
    with pytest.raises(InputError, match="standard input is not a Parquet file"):
        read("-", file_format="parquet")
    assert stream.taken <= AHEAD


@pytest.mark.parametrize("before", ["", "1,2\n" * 2047])
@pytest.mark.parametrize("end", ["\n", ""])
def test_the_longest_row_that_is_allowed(before, end):
    """Wherever buffers end; and any number of rows may be as long."""
    text = "ä" * ((LIMIT - len("1,\n")) // 2) + "x"
    row = f"1,{text}\n"
    assert len(row.encode()) == LIMIT
    Path("data.csv").write_bytes(f"a,b\n{before}{row}{row}1,{text}{end}".encode())
    assert read("data.csv")["b"].tolist()[-3:] == [text] * 3


def test_long_rows_come_in_smaller_blocks_and_chunks(monkeypatch):
    """Otherwise rows just below the limit would fill the memory, many at a time."""
    lines = [f"{place},{'x' * 20_000}" for place in range(40)]
    Path("data.csv").write_text("\n".join(["a,b", *lines]))
    whole = read("data.csv")
    monkeypatch.setattr(_csv, "BLOCK_BYTES", 50_000)
    monkeypatch.setattr(_csv, "CHUNK_BYTES", 200_000)
    blocks = []
    row_blocks = _csv.row_blocks

    def noted(*arguments):
        for block in row_blocks(*arguments):
            blocks.append(block)
            yield block

    monkeypatch.setattr(_csv, "row_blocks", noted)
    with open_table("data.csv") as table:
        kinds, chunks = {"a": "number", "b": "text"}, []
        for batch in table.batches(list(kinds)):
            chunks.append(table.frame(batch, kinds, sum(map(len, chunks))))
    assert max(block.count(b"\n") for block in blocks) <= 4
    assert 4 <= len(chunks) <= 10
    assert [row for chunk in chunks for row in chunk["a"]] == whole["a"].tolist()
    assert [place for chunk in chunks for place in chunk.index] == list(range(40))
    assert read("data.csv").equals(whole)


def test_too_many_columns(monkeypatch):
    monkeypatch.setattr(_csv, "MOST_COLUMNS", 3)
    Path("data.csv").write_text("a,b,c\n1,2,3\n")
    assert list(read("data.csv")) == ["a", "b", "c"]
    Path("data.csv").write_text("a,b,c,d\n1,2,3,4\n")
    with pytest.raises(InputError) as caught:
        read("data.csv")
    assert str(caught.value) == (
        "data.csv, header: it has 4 columns, and a table may have 3. Leave columns out."
    )


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "bomb.csv.gz", "--target", "species", "-o", "new.nrules"),
        ("predict", "iris.nrules", "bomb.csv.gz", "-o", "out.csv"),
        ("evaluate", "iris.nrules", "bomb.csv.gz"),
    ],
)
@pytest.mark.parametrize("n_rows", [0, 2])
def test_commands_refuse_a_huge_row(command, n_rows, here):
    lines = (here / "iris.csv").read_text().splitlines(keepends=True)
    content = "".join(lines[: n_rows + 1] if n_rows else []).encode() + b"x" * 50 * LIMIT
    (here / "bomb.csv.gz").write_bytes(gzip.compress(content))
    where = f"row {n_rows + 1}" if n_rows else "header"
    assert refused(*command) == f"bomb.csv.gz, {where}: {TOO_LONG}"
    assert not list(here.glob("new.nrules*"))
    assert not list(here.glob("out.csv*"))


PLANTS = "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm),species\n"
ODD_BYTES = {
    "nothing": b"",
    "a NUL": (PLANTS + "5,3,1,\0,setosa\n").encode(),
    "UTF-16": (PLANTS + "5,3,1,0.2,setosa\n").encode("utf-16"),
    "UTF-16 without a mark": (PLANTS + "5,3,1,0.2,setosa\n").encode("utf-16-le"),
    "UTF-32": (PLANTS + "5,3,1,0.2,setosa\n").encode("utf-32"),
    "an open quote": (PLANTS + '5,3,1,"0.2,setosa\n').encode(),
    "a quote too many": (PLANTS + '5,3,1,"0"2,setosa\n').encode(),
    "half a letter": (PLANTS + "5,3,1,0.2").encode() + b"\xc3,setosa\n",
    "a surrogate": (PLANTS + "5,3,").encode() + b"\xed\xa0\x80,0.2,setosa\n",
    "two marks of UTF-8": b"\xef\xbb\xbf" * 2 + PLANTS.encode() + b"5,3,1,0.2,setosa\n",
    "an infinite number": (PLANTS + "5,3,1,1e999,setosa\n").encode(),
    "many digits": (PLANTS + f"5,3,1,{'9' * 400},setosa\n").encode(),
}


@pytest.mark.parametrize("what", ODD_BYTES)
@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_odd_bytes_are_refused_in_one_line(what, command, here):
    (here / "odd.csv").write_bytes(ODD_BYTES[what])
    arguments = {
        "fit": ("fit", "odd.csv", "--target", "species", "-o", "new.nrules"),
        "predict": ("predict", "iris.nrules", "odd.csv", "-o", "out.csv"),
        "evaluate": ("evaluate", "iris.nrules", "odd.csv"),
    }[command]
    line = refused(*arguments)
    assert "internal error" not in line
