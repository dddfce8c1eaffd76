"""Table files of the command line."""

import bz2
import csv
import datetime
import gzip
import io
import lzma
import os
import re
import sys
import tracemalloc
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from neuralrules._cli._errors import InputError
from neuralrules._cli._tables import _cells, _columns, _csv, _streams, open_output, open_table
from neuralrules._cli._tables._cells import UnreadableError, numbers, typed, with_holes
from neuralrules._data._cells import MISSING, TRUTHS

CODE = re.compile(r"\s*[+-]?0[0-9]+\s*", re.ASCII)  # which pandas takes for a number
PEOPLE = "id,age,city\n007,31,Rome\n008,,\n009,42.5,NA\n"
COMPRESSED = [".gz", ".bz2", ".xz", ".zst"]
ICONV = "Convert the file to UTF-8, for example: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW"
in_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that messages name files without a path."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compress(content, suffix):
    if suffix == ".zst":
        return pa.compress(content, "zstd", asbytes=True)
    return {".gz": gzip, ".bz2": bz2, ".xz": lzma}[suffix].compress(content)


def saved(content, name="data.csv"):
    """A file with some text, bytes, or a table."""
    if isinstance(content, pa.Table):
        pq.write_table(content, name)
    else:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def read(path, columns=None, **options):
    with open_table(path, **options) as table:
        return table.read(columns)


def frames(table, kinds, n_rows=50_000):
    """The rows of an open table, a number of rows at a time."""
    first = 0
    for batch in table.batches(list(kinds), n_rows=n_rows):
        yield table.frame(batch, kinds, first)
        first += batch.num_rows


def chunks(path, kinds, n_rows=50_000, **options):
    with open_table(path, **options) as table:
        return list(frames(table, kinds, n_rows))


def rows(path, kinds, n_rows=50_000, **options):
    """All chunks of a table as one frame."""
    return pd.concat(chunks(path, kinds, n_rows, **options))


def message(path, columns=None, **options):
    """What reading a table says."""
    with pytest.raises(InputError) as caught:
        read(path, columns, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def chunks_message(path, kinds, **options):
    with pytest.raises(InputError) as caught:
        chunks(path, kinds, **options)
    return str(caught.value)


def feed(monkeypatch, content):
    """Give standard input some bytes."""
    stream = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stream)
    return stream


def objects(*cells):
    return pd.Series(cells, dtype=object)


# Reading whole tables


def test_read_finds_types_over_all_rows():
    frame = read(saved("a,b,c,d,e\n1,1,x,,True\n2,,NA,,False\n-3,2.5,1,,True\n"))
    expected = pd.DataFrame(
        {
            "a": [1, 2, -3],
            "b": [1, np.nan, 2.5],
            "c": objects("x", None, "1"),
            "d": [np.nan] * 3,
            "e": objects("True", "False", "True"),
        }
    )
    assert_frame_equal(frame, expected)
    assert frame["c"].dtype == frame["e"].dtype == object
    assert frame["c"][1] is None


def test_read_takes_some_columns_in_their_order():
    frame = read(saved(PEOPLE), ["city", "id"])
    assert_frame_equal(
        frame,
        # Unlike pandas: digits with leading zeros are codes.
        pd.DataFrame({"city": objects("Rome", None, None), "id": objects("007", "008", "009")}),
    )


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["9223372036854775807", "-9223372036854775808"], np.int64),
        (["9223372036854775808"], np.float64),
        (["9" * 5000], np.float64),
        ([" 7", "+8 ", "-0"], np.int64),
        (["1.0", "2"], np.float64),
        (["inf", "-Infinity", "1e999"], np.float64),
        (["0x10"], object),
        (["1_000"], object),
        (["٣"], object),
        (["NAN"], object),
        (["nan(1)"], object),
        (["1,5"], object),
        ([" "], object),
        (["."], object),
        (["1e"], object),
    ],
)
def test_types_of_cells(cells, dtype):
    path = saved("a,b\n" + "".join(f'"{cell}",x\n' for cell in cells))
    column = read(path)["a"]
    assert column.dtype == dtype
    if dtype is not object:
        np.testing.assert_array_equal(column, [dtype(cell.strip()) for cell in cells])
    else:
        assert column.tolist() == cells


def test_whole_numbers_keep_every_digit():
    frame = read(saved("a,b\n9007199254740993,+9007199254740993\n"))
    assert frame.iloc[0].tolist() == [9007199254740993, 9007199254740993]


def test_missing_texts_are_those_of_pandas():
    from pandas._libs.parsers import STR_NA_VALUES

    assert frozenset(STR_NA_VALUES) == MISSING


def test_own_missing_texts():
    path = saved("a,b\n?,?\n1,x\n-999,-999\nNA,NA\n")
    frame = read(path, missing=["?", "-999"])
    assert_frame_equal(
        frame,
        pd.DataFrame({"a": [np.nan, 1, np.nan, np.nan], "b": objects(None, "x", None, None)}),
    )


numeric_cells = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{1,12}\.?[0-9]{0,12}(e[+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["", "NA", "nan", "1.", ".5", "+3", " 4", "5 ", "007", "-inf"]),
)
text_cells = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)


@in_folder
@given(
    st.lists(
        st.tuples(numeric_cells, text_cells, st.one_of(numeric_cells, text_cells)), min_size=1
    )
)
@example([("1", "x", "-"), ("2", "y", "7")])
def test_types_and_values_are_those_of_pandas(table):
    with open("t.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([("a", "b", "c"), *table])
    ours = read("t.csv")
    theirs = pd.read_csv("t.csv", skip_blank_lines=False)
    for name in "abc":
        mine, other = ours[name], theirs[name]
        codes = [CODE.fullmatch(row["abc".index(name)]) for row in table]
        # With holes, pandas' booleans are objects.
        truths = other.map(lambda cell: isinstance(cell, bool)).any()
        if truths or any(codes):
            assert mine.dtype == object
        elif other.dtype.kind in "if":
            assert mine.dtype == other.dtype
            # pandas' own parser is not always the nearest float, Python's is.
            np.testing.assert_allclose(mine, other.astype(float), rtol=1e-15)
        elif mine.dtype != float:  # beyond int64, pandas has uint64 and text
            assert mine.dtype == object
            cells = [None if pd.isna(cell) else cell for cell in other.astype(object)]
            assert mine.tolist() == cells


@given(st.lists(st.one_of(numeric_cells, text_cells, st.sampled_from(["True", "FALSE"]))))
def test_numbers_are_read_as_python_reads_them(cells):
    texts = with_holes(pa.chunked_array([cells], pa.large_string()), MISSING)
    expected, wrong = [], None
    for cell in cells:
        if cell in MISSING:
            expected.append(np.nan)
            continue
        try:
            expected.append(_cells.number(cell, TRUTHS))
        except UnreadableError:
            wrong = cell
            break
    if wrong is None:
        np.testing.assert_array_equal(numbers(texts, TRUTHS), expected)
    else:
        with pytest.raises(UnreadableError) as caught:
            numbers(texts, TRUTHS)
        assert caught.value.text == wrong
    words = {cell.strip().lower() for cell in cells}
    if wrong is None and not words & {"true", "false"} and not any(map(CODE.fullmatch, cells)):
        np.testing.assert_array_equal(typed(texts), expected)


# Reading in chunks


def test_chunks_have_the_kinds_that_are_asked_for():
    path = saved(PEOPLE)
    first, second = chunks(path, {"city": "text", "id": "as is", "age": "number"}, n_rows=2)
    assert list(first.columns) == ["city", "id", "age"]
    assert first["city"].tolist() == ["Rome", None]
    assert first["city"].dtype == object
    assert first["id"].tolist() == ["007", "008"]
    np.testing.assert_array_equal(first["age"], [31, np.nan])
    assert second["city"].tolist() == [None]
    assert second["age"].dtype == np.float64
    assert first.index.tolist() == [0, 1]
    assert second.index.tolist() == [2]


def test_as_is_keeps_the_text_of_missing_cells():
    path = saved("a,b\nNA,1\n,2\n 1 ,3\n")
    assert rows(path, {"a": "as is"})["a"].tolist() == ["NA", "", " 1 "]


def test_types_do_not_depend_on_where_chunks_end():
    path = saved("a,b,c\n" + "1,2,NA\n" * 5 + "x,NA,NA\n" + "NA,1.5,y\n")
    kinds = {"a": "text", "b": "number", "c": "as is"}
    for n_rows in range(1, 9):
        pieces = chunks(path, kinds, n_rows)
        assert [len(piece) for piece in pieces[:-1]] == [n_rows] * (len(pieces) - 1)
        assert all((piece.dtypes == pieces[0].dtypes).all() for piece in pieces)
        assert_frame_equal(pd.concat(pieces), rows(path, kinds))


def test_wide_tables_come_in_fewer_rows(monkeypatch):
    monkeypatch.setattr(_columns, "CHUNK_CELLS", 6)
    path = saved("a,b\n" + "1,2\n" * 7)
    assert [len(piece) for piece in chunks(path, {"a": "number", "b": "number"})] == [3, 3, 1]
    assert [len(piece) for piece in chunks(path, {"a": "number"}, n_rows=4)] == [4, 3]


def test_no_columns_still_have_rows():
    assert [piece.shape for piece in chunks(saved(PEOPLE), {}, n_rows=2)] == [(2, 0), (1, 0)]


def test_booleans_count_as_numbers_in_chunks():
    frame = rows(saved("a,b\nTrue,x\nfalse,x\n TRUE ,x\n2.5,x\nNA,x\n"), {"a": "number"})
    np.testing.assert_array_equal(frame["a"], [1, 0, 1, 2.5, np.nan])


def test_a_cell_that_is_no_number_is_named():
    lines = ["id,age\n", *(f"{i},{i}\n" for i in range(1, 1200))]
    lines[1017] = "1017,abc\n"
    lines[1100] = "1100,late\n"
    path = saved("".join(lines))
    for n_rows in (1, 100, 1017, 5000):
        with open_table(path) as table, pytest.raises(InputError) as caught:
            list(frames(table, {"age": "number"}, n_rows=n_rows))
        assert str(caught.value) == (
            "data.csv, row 1017, column 'age': 'abc' is not a number. Correct the cell, or "
            "give --missing 'abc' if it means missing."
        )
    assert len(rows(path, {"age": "number"}, missing=["abc", "late"])) == 1199


def test_a_long_cell_that_is_no_number_is_shortened():
    text = "x" * 39 + "\n" + "x" * 100
    assert chunks_message(saved(f'a,b\n1,"{text}"\n'), {"b": "number"}) == (
        f"data.csv, row 1, column 'b': '{'x' * 39}…' is not a number. Correct the cell."
    )


def test_a_table_is_read_once():
    with open_table(saved(PEOPLE)) as table:
        table.read(["id"])
        with pytest.raises(RuntimeError, match=r"^data\.csv has been read already; open it"):
            table.read(["age"])


def test_done_grows_to_one(monkeypatch):
    monkeypatch.setattr(_csv, "BLOCK_BYTES", 2**14)
    path = saved("a,b\n" + "123456,abcdef\n" * 20_000)
    for name in (path, saved(compress(Path(path).read_bytes(), ".gz"), "data.csv.gz")):
        with open_table(name) as table:
            shares = [table.done for _ in frames(table, {"a": "number"}, n_rows=1000)]
        assert 0 < shares[0] <= shares[10] <= 1
        assert shares[-1] == 1
    assert shares[0] < 1 or name.endswith(".gz")


def test_memory_of_chunks_is_constant(monkeypatch):
    monkeypatch.setattr(_csv, "BLOCK_BYTES", 2**14)
    line = "123456.789,abcdefghijk,0.5\n"
    peaks = []
    for n_lines in (2_500, 2_500, 25_000):  # the first time also loads what is needed
        peaks.append(peak_of_scoring(saved("a,b,c\n" + line * n_lines)))
    assert peaks[2] < 1.1 * peaks[1]


def peak_of_scoring(path):
    """Bytes at the peak of Python's and Arrow's memory while a table is read and written."""
    kinds = {"a": "number", "b": "text", "c": "as is"}
    arrow = 0
    tracemalloc.start()
    with open_table(path) as table, open_output("out.csv.gz") as writer:
        for frame in frames(table, kinds, n_rows=500):
            arrow = max(arrow, pa.total_allocated_bytes())
            writer.write(frame)
    peak = tracemalloc.get_traced_memory()[1] + arrow
    tracemalloc.stop()
    return peak


# What text can look like


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y\r",
        "a,b\n1,x\n2,y",
        "\ufeffa,b\n1,x\n2,y\n",
        '\ufeff"a",b\n1,x\n2,y\n',
        "\n\na,b\n\n1,x\n\r\n\n2,y\n\n\n",
        '"a","b"\n"1","x"\n"2","y"\n',
        "a,b\n1,x\n 2,y\n",
    ],
)
def test_texts_of_the_same_table(text):
    assert_frame_equal(read(saved(text)), pd.DataFrame({"a": [1, 2], "b": objects("x", "y")}))


def test_quoted_cells_hold_anything():
    path = saved('a,b\n"1, ""2""\n3\r\n4",x\n5" pipe,\0y\n"",\xa0\n')
    frame = rows(path, {"a": "as is", "b": "text"})
    assert frame["a"].tolist() == ['1, "2"\n3\r\n4', '5" pipe', ""]
    assert frame["b"].tolist() == ["x", "\0y", "\xa0"]


def test_a_column_of_one_cell_each():
    assert read(saved('a\n1\n\n""\n3\n'))["a"].tolist()[::2] == [1, 3]


def test_a_cell_longer_than_any_buffer():
    text = "ä" * 1_000_000
    assert read(saved(f'a,b\n1,"{text}"\n2,y\n'))["b"].tolist() == [text, "y"]


def test_other_delimiters():
    frame = pd.DataFrame({"a": [1], "b": objects("x,y")})
    assert_frame_equal(read(saved("a;b\n1;x,y\n"), delimiter=";"), frame)
    assert_frame_equal(read(saved("a§b\n1§x,y\n"), delimiter="§"), frame)
    quoted = read(saved('"a§"§"\x01""b"\n"1§"§"""§\n"\n'), delimiter="§")
    assert_frame_equal(quoted, pd.DataFrame({"a§": objects("1§"), '\x01"b': objects('"§\n')}))
    assert_frame_equal(read(saved("a\tb\n1\tx,y\n", "data.tsv")), frame)
    assert_frame_equal(read(saved("a\tb\n1\tx,y\n", "data.txt"), file_format="tsv"), frame)
    assert_frame_equal(read(saved('a,b\n1,"x,y"\n', "DATA.CSV")), frame)


any_rows = st.lists(st.tuples(text_cells, text_cells), min_size=1, max_size=12)


@in_folder
@given(any_rows, st.sampled_from([".csv", ".tsv", ".csv.zst"]), st.integers(1, 5))
@example([("a\rb", "c\nd"), ('"', "x\r\n"), ("", ""), (",\t", " ")], ".csv", 2)
@example([("\0", "\ufeff")], ".csv", 1)
@example([("\ufeffa", "b")], ".csv", 1)
def test_text_comes_back_as_it_was_written(table, suffix, n_rows):
    frame = pd.DataFrame(table, columns=["ä,b", 'c"\n'], dtype=object)
    path = f"text{suffix}"
    with open_output(path) as writer:
        for start in range(0, len(frame), n_rows):
            writer.write(frame[start : start + n_rows])
    as_is = rows(path, dict.fromkeys(frame.columns, "as is"), n_rows)
    assert as_is.to_numpy().tolist() == frame.to_numpy().tolist()
    text = rows(path, dict.fromkeys(frame.columns, "text"), n_rows)
    expected = [[None if cell in MISSING else cell for cell in row] for row in table]
    assert text.to_numpy().tolist() == expected


@in_folder
@given(any_rows, st.integers(1, 30), st.integers(1, 3))
def test_blocks_of_any_size_read_the_same(table, block, n_rows):
    with open_output("t.csv") as writer:
        writer.write(pd.DataFrame(table, columns=["a", "b"], dtype=object))
    kinds = {"a": "text", "b": "as is"}
    whole, expected = rows("t.csv", kinds), read("t.csv")
    usual = _csv.BLOCK_BYTES
    try:
        _csv.BLOCK_BYTES = block
        assert_frame_equal(rows("t.csv", kinds, n_rows), whole)
        assert_frame_equal(read("t.csv"), expected)
    finally:
        _csv.BLOCK_BYTES = usual


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_text_reads_like_plain_text(suffix):
    path = saved(compress(PEOPLE.encode() * 1, suffix), f"data.csv{suffix}")
    assert_frame_equal(read(path), read(saved(PEOPLE)))
    twice = saved(compress(b"a,b\n1,", suffix) + compress(b"2\n", suffix), f"x.csv{suffix}")
    assert read(twice).to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_parquet_reads_like_plain_parquet(suffix):
    path = saved(pa.table({"a": [1, 2]}), "data.parquet")
    packed = saved(compress(Path(path).read_bytes(), suffix), f"data.parquet{suffix}")
    assert_frame_equal(read(packed), read(path))


# Standard input


def test_standard_input(monkeypatch):
    stream = feed(monkeypatch, PEOPLE.encode())
    with open_table("-") as table:
        assert table.name == "standard input"
        assert table.names == ["id", "age", "city"]
        assert table.done is None
        frame = table.read()
    assert_frame_equal(frame, read(saved(PEOPLE)))
    del table
    assert not stream.buffer.closed


def test_standard_input_of_other_formats(monkeypatch):
    feed(monkeypatch, b"a\tb\n1\tx\n")
    assert list(read("-", file_format="tsv")) == ["a", "b"]
    feed(monkeypatch, Path(saved(pa.table({"a": [1, 2]}), "data.parquet")).read_bytes())
    assert read("-", file_format="parquet")["a"].tolist() == [1, 2]


def test_messages_name_standard_input(monkeypatch):
    feed(monkeypatch, b"a,b\n1\n")
    assert message("-") == (
        "standard input, row 1: it has 1 cell, but the header has 2. Mend the row: a cell that "
        "contains ',' must be in quotes."
    )
    feed(monkeypatch, b"")
    assert message("-").startswith("standard input is empty.")
    feed(monkeypatch, gzip.compress(PEOPLE.encode()))
    assert message("-") == (
        "standard input is compressed by gzip. Decompress it first, for example: "
        "gzip -dc FILE | ..."
    )
    monkeypatch.setattr(sys, "stdin", None)
    assert message("-") == "There is no standard input. Give the name of a file instead of -."


# Mistakes: the file


def test_a_file_that_is_not_there():
    saved(PEOPLE, "houses.csv")
    assert message("house.cvs") == "There is no file 'house.cvs'. Did you mean 'houses.csv'?"
    there = os.path.join("..", Path.cwd().name, "houses.csv")
    assert message(there[:-1]) == f"There is no file {there[:-1]!r}. Did you mean {there!r}?"
    assert message("x") == "There is no file 'x'. Check the name, and the folder you are in."
    assert message("no/houses.csv") == (
        "There is no file 'no/houses.csv'. There is no folder 'no' either: check the path."
    )
    assert message("").startswith("There is no file ''.")


def test_a_folder():
    Path("data.csv").mkdir()
    assert message("data.csv") == "'data.csv' is a folder. Give the name of a file in it."


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            PermissionError(13, "Permission denied"),
            "You may not read 'data.csv'. Change its permissions, or give another file.",
        ),
        (OSError(24, "Too many open files"), "'data.csv' cannot be read: Too many open files."),
    ],
)
def test_a_file_that_cannot_be_opened(monkeypatch, error, text):
    saved(PEOPLE)

    def refuse(*_):
        raise error

    monkeypatch.setattr(_streams, "open", refuse, raising=False)
    assert message("data.csv") == text


def test_a_disk_that_fails_while_reading(monkeypatch):
    class Failing(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Failing())))
    assert message("-") == "standard input cannot be read: Input/output error."


def test_a_name_that_tells_no_format():
    ending = (
        "the name does not tell the table's format. Give a name that ends in .csv, .tsv or "
        ".parquet (if compressed, followed by .gz, .bz2, .xz, .zst), or --data-format csv, "
        "tsv or parquet."
    )
    for name in ("data.txt", "data", "data.gz", "csv", ".gz", "data.csv.lz4"):
        assert message(saved(PEOPLE, name)) == f"{name!r}: {ending}"
    assert message(saved(PEOPLE, "data.csv.zip")) == (
        "'data.csv.zip': zip archives can neither be read nor written. Use a single file, "
        "plain or compressed, for example data.csv or data.csv.gz."
    )
    assert message(saved(PEOPLE), file_format="xls") == (
        "--data-format='xls' is not known. Give csv, tsv or parquet."
    )


@pytest.mark.parametrize("delimiter", ["", ";;", r"\t", '"', "\n", "\r"])
def test_a_delimiter_that_is_none(delimiter):
    assert message(saved(PEOPLE), delimiter=delimiter) == (
        f"--delimiter={delimiter!r} must be one character that is neither a quote nor the end "
        "of a line, for example ';'. For a tab, give --data-format tsv."
    )


def test_a_delimiter_for_parquet():
    assert message(saved(pa.table({"a": [1]}), "data.parquet"), delimiter=";") == (
        "--delimiter=';' is for CSV and TSV, not for Parquet. Leave it out."
    )


@pytest.mark.parametrize(
    ("suffix", "name"), list(zip(COMPRESSED, ["gzip", "bzip2", "xz", "zstd"], strict=True))
)
def test_compression_that_is_not_what_the_name_says(suffix, name):
    assert message(saved(PEOPLE, f"data.csv{suffix}")) == (
        f"data.csv{suffix} is not compressed by {name}, as its name says. Give it a name that "
        "fits what it is, or make it again."
    )
    assert message(saved(compress(PEOPLE.encode(), suffix))) == (
        f"data.csv is compressed by {name}. Give it a name that ends in {suffix}."
    )
    assert message(saved(compress(b"", suffix))).startswith(
        f"data.csv is compressed by {name}."
    )
    assert message(saved(b"", f"data.csv{suffix}")).startswith(f"data.csv{suffix} is empty.")


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_files_that_are_cut_off_or_damaged(suffix):
    noise = np.random.default_rng(0).integers(0, 10**9, 20_000)
    whole = compress(b"a\n" + "\n".join(map(str, noise)).encode(), suffix)
    path = saved(whole[: len(whole) // 2], f"data.csv{suffix}")
    assert message(path) == f"{path} is cut off in the middle. Copy or download it again."
    middle = len(whole) // 2
    saved(whole[:middle] + bytes(200) + whole[middle + 200 :], path)
    assert message(path) == (
        f"{path} is damaged: decompressing it fails. Copy or download it again."
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"PAR1\x15\x04", "a Parquet file. Give --data-format parquet."),
        (
            b"PK\x03\x04...",
            "a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV.",
        ),
        (
            PEOPLE.encode("utf-16"),
            "UTF-16 text. Convert the file to UTF-8, for example: iconv -f UTF-16 -t UTF-8 OLD "
            "> NEW",
        ),
    ],
)
def test_other_files_that_were_given_as_csv(content, text):
    assert message(saved(content)) == f"data.csv is {text}"


@pytest.mark.parametrize("name", ["PAR1", "BZh9"])
def test_columns_that_are_named_like_other_files(name):
    assert list(read(saved(f"{name},PAR2\n1,2\n"))) == [name, "PAR2"]
    assert list(read(saved(f"{name}\n1\n"))) == [name]


# Mistakes: the text


@pytest.mark.parametrize("content", ["", "\n\r\n\n", "\ufeff"])
def test_an_empty_file(content):
    assert message(saved(content)) == (
        "data.csv is empty. A table needs a header with the names of its columns."
    )


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\n\n\n"])
def test_a_header_without_rows(content):
    assert (
        message(saved(content)) == "data.csv has columns but no rows. Give a table with rows."
    )
    assert chunks(saved(content), {"a": "number"}) == []


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("a,b,a", "columns 1 and 3 are both named 'a'. Rename one of them."),
        (
            "Unnamed: 1,,c",
            "columns 1 and 2 are both named 'Unnamed: 1'. Rename one of them.",
        ),
        (
            'a,"b',
            "a quote that opens here is never closed. Close it. A quote inside a quoted cell "
            'must be doubled ("").',
        ),
        (
            '"a";"b"',
            "a quoted cell goes on after its closing quote. A quote inside a quoted cell must "
            "be doubled (\"\"). If the cells are not separated by ',', give --delimiter.",
        ),
    ],
)
def test_headers_that_will_not_do(header, text):
    assert message(saved(f"{header}\n1,2,3\n")) == f"data.csv, header: {text}"


@pytest.mark.parametrize("row", [1, 399, 400, 401, 1000, 1200])
@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (
            "1,2,3",
            "it has 3 cells, but the header has 2. Mend the row: a cell that contains ',' must "
            "be in quotes.",
        ),
        (
            "1",
            "it has 1 cell, but the header has 2. Mend the row: a cell that contains ',' must "
            "be in quotes.",
        ),
        (
            '1,"x',
            "a quote that opens here is never closed. Close it. A quote inside a quoted cell "
            'must be doubled ("").',
        ),
        (
            '1,"x"y',
            "a quoted cell goes on after its closing quote. A quote inside a quoted cell must "
            "be doubled (\"\"). If the cells are not separated by ',', give --delimiter.",
        ),
    ],
)
def test_rows_that_cannot_be_split(row, broken, text, monkeypatch):
    monkeypatch.setattr(_csv, "BLOCK_BYTES", len("1,2\n" * 400))
    # Lines are more than rows: one row has a newline in it, and one line is blank.
    before = ['0,"x\ny"\n\n', *["1,2\n"] * row][:row]
    before[0] = before[0] if row > 1 else "\n"
    path = saved("a,b\n" + "".join(before[: row - 1]) + f"{broken}\n" + "1,2\n" * 1500)
    assert message(path) == f"data.csv, row {row}: {text}"
    kinds = {"b": "text"}
    assert chunks_message(path, kinds) == chunks_message(path, kinds, n_rows=7)
    assert chunks_message(path, kinds) == f"data.csv, row {row}: {text}"


def test_the_first_of_two_mistakes_is_told():
    path = saved('a,b\n1,2\n1\n1,2\n1,"\n')
    assert message(path).startswith("data.csv, row 2: it has 1 cell")


def test_an_open_quote_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(_csv, "LONGEST_ROW", 10_000)
    path = saved('a,b\n1,2\n3,"4\n' + "1,2\n" * 10_000)
    assert message(path) == (
        "data.csv, row 2: it does not end within 10,000 bytes, the most that a row may have. "
        "Write each row on a line of its own, and leave long cells out. If a quote opens here "
        "and is never closed, close it. A quote inside a quoted cell must be doubled "
        '("").'
    )


def test_text_that_is_not_utf8():
    assert message(saved(b"a,caf\xe9\n1,2\n")) == (
        f"data.csv, header: it is not UTF-8 text. {ICONV}"
    )
    path = saved(b"a,b\n" + b"1,x\n" * 200_000 + b"2,caf\xe9\n" + b"1,x\n" * 1000)
    expected = f"data.csv, row 200001, column 'b': the cell is not UTF-8 text. {ICONV}"
    assert message(path) == expected
    assert chunks_message(path, {"b": "text"}) == expected
    assert len(rows(path, {"a": "number"})) == 201_001


def test_utf8_may_be_cut_by_any_buffer():
    text = "ä€😀" * 10_000
    assert read(saved(f"a,b\n1,{text}\n"))["b"][0] == text


# Mistakes: the columns


def test_a_column_that_is_not_there():
    path = saved(PEOPLE)
    text = "data.csv has no column 'aeg'. Did you mean 'age'?"
    assert message(path, ["id", "aeg"]) == text
    with open_table(path) as table, pytest.raises(InputError) as caught:
        table.batches(["aeg"])
    assert str(caught.value) == text
    assert message(path, ["zzz"]) == (
        "data.csv has no column 'zzz'. Its columns are 'id', 'age', 'city'."
    )
    wide = saved(",".join(f"column{i}" for i in range(12)) + "\n")
    assert message(wide, ["zzz"]).endswith("'column8', 'column9' and 2 more.")


@pytest.mark.parametrize(
    ("delimiter", "option"),
    [(";", "--delimiter ';'"), ("\t", "--data-format tsv"), ("|", "--delimiter '|'")],
)
def test_a_header_that_was_not_split(delimiter, option):
    path = saved(f"a{delimiter}b\n1{delimiter}2\n1,5{delimiter}2\n")
    name = f"a{delimiter}b"
    hint = f"Its header is a single column {name!r}: give {option} if that separates the cells."
    assert message(path, ["a"]) == f"data.csv has no column 'a'. {hint}"
    assert message(path) == (f"data.csv, row 2: it has 2 cells, but the header has 1. {hint}")


def test_a_single_column_with_a_row_of_two_cells():
    assert message(saved("a\n1,2\n")).endswith(
        "it has 2 cells, but the header has 1. Mend the row: a cell that contains ',' must be "
        "in quotes."
    )


# Parquet


def typed_table():
    return pa.table(
        {
            "int": pa.array([1, 2, 3], pa.int32()),
            "holes": pa.array([1, None, 3]),
            "float": pa.array([2, None, 1.5], pa.float32()),
            "decimal": pa.array([Decimal("1.25"), None, Decimal("2.5")]),
            "bool": [True, False, True],
            "text": ["1", None, "NA"],
            "view": pa.array(["x", "y", None], pa.string_view()),
            "category": pa.array(["x", "y", None]).dictionary_encode(),
            "null": pa.nulls(3),
            "day": [datetime.date(2024, 1, 2), None, None],
            "list": [[1], [2], [3]],
            "bytes": [b"x", b"y", b"z"],
        }
    )


def test_parquet_keeps_its_types():
    wanted = typed_table().column_names[:-2]
    frame = read(saved(typed_table(), "data.parquet"), wanted)
    expected = pd.DataFrame(
        {
            "int": np.array([1, 2, 3], np.int32),
            "holes": [1, np.nan, 3],
            "float": np.array([2, np.nan, 1.5], np.float32),
            "decimal": [1.25, np.nan, 2.5],
            "bool": [True, False, True],
            "text": objects("1", None, "NA"),
            "view": objects("x", "y", None),
            "category": pd.Categorical(["x", "y", None]),
            "null": [np.nan] * 3,
            "day": objects(datetime.date(2024, 1, 2), None, None),
        }
    )
    pd.testing.assert_frame_equal(frame, expected, check_categorical=False)
    assert frame["category"].dtype == "category"
    assert [frame[name].dtype for name in ("text", "view")] == [object, object]


def test_categories_of_parquet_may_differ_between_its_parts():
    first, second = (pa.array(cells).dictionary_encode() for cells in ("xy", "zy"))
    with pq.ParquetWriter("data.parquet", pa.schema([("a", first.type)])) as writer:
        for part in (first, second):
            writer.write_table(pa.table({"a": part}))
    column = read("data.parquet")["a"]
    assert column.dtype == "category"
    assert column.tolist() == ["x", "y", "z", "y"]
    assert rows("data.parquet", {"a": "text"}, n_rows=3)["a"].tolist() == ["x", "y", "z", "y"]


def test_own_missing_texts_of_parquet():
    table = pa.table(
        {
            "number": [-999, 1, 2],
            "float": [-999.0, 1.5, 2.5],
            "text": ["?", "-999", "x"],
            "category": pa.array(["?", "x", "x"]).dictionary_encode(),
            "bool": [True, False, True],
        }
    )
    path = saved(table, "data.parquet")
    frame = read(path, missing=["?", "-999"])
    assert frame.isna().to_numpy().T.tolist() == [
        [True, False, False],
        [True, False, False],
        [True, True, False],
        [True, False, False],
        [False, False, False],
    ]
    kinds = dict.fromkeys(("number", "float"), "number") | {"text": "text", "category": "text"}
    assert_frame_equal(
        rows(path, kinds, missing=["?", "-999"]).isna(), frame[list(kinds)].isna()
    )
    assert rows(path, {"text": "as is"}, missing=["?"])["text"].tolist() == ["?", "-999", "x"]


def test_parquet_in_chunks():
    path = saved(typed_table(), "data.parquet")
    numeric = ["int", "holes", "float", "decimal", "bool", "null"]
    pieces = chunks(path, dict.fromkeys(numeric, "number"), n_rows=2)
    assert [len(piece) for piece in pieces] == [2, 1]
    assert pieces[1].index.tolist() == [2]
    frame = pd.concat(pieces)
    assert (frame.dtypes == np.float64).all()
    np.testing.assert_array_equal(frame["holes"], [1, np.nan, 3])
    np.testing.assert_array_equal(frame["decimal"], [1.25, np.nan, 2.5])
    np.testing.assert_array_equal(frame["bool"], [1, 0, 1])
    kinds = dict.fromkeys(("int", "holes", "float", "bool", "text", "view", "category"), "text")
    text = rows(path, {**kinds, "day": "text"}, n_rows=2)
    assert text["int"].tolist() == ["1", "2", "3"]
    assert text["holes"].tolist() == ["1", None, "3"]
    assert text["float"].tolist() == ["2", None, "1.5"]
    assert text["bool"].tolist() == ["True", "False", "True"]
    assert text["text"].tolist() == ["1", None, "NA"]
    assert text["view"].tolist() == text["category"].tolist() == ["x", "y", None]
    assert text["day"].tolist() == ["2024-01-02", None, None]


def test_parquet_as_is_is_native_in_every_chunk():
    large = 2**60 + 1
    table = pa.table({"id": [None, large, 5], "code": pa.array(["a", None, "b"])})
    path = saved(table, "data.parquet")
    pieces = chunks(path, {"id": "as is", "code": "as is"}, n_rows=1)
    assert all((piece.dtypes == pieces[0].dtypes).all() for piece in pieces)
    assert pd.concat(pieces)["id"].tolist()[1:] == [large, 5]


def test_parquet_text_as_numbers():
    path = saved(pa.table({"a": ["1", None, "true", "x"]}), "data.parquet")
    assert chunks_message(path, {"a": "number"}, n_rows=2) == (
        "data.parquet, row 4, column 'a': 'x' is not a number. Correct the cell, or give "
        "--missing 'x' if it means missing."
    )
    np.testing.assert_array_equal(
        rows(path, {"a": "number"}, missing=["x"])["a"], [1, np.nan, 1, np.nan]
    )
    # An empty text is no missing value of Parquet.
    empty = saved(pa.table({"a": [""]}), "data.parquet")
    assert "row 1, column 'a': '' is not a number." in chunks_message(empty, {"a": "number"})


def test_parquet_progress():
    path = saved(pa.table({"a": range(10)}), "data.parquet")
    with open_table(path) as table:
        assert [table.done for _ in frames(table, {"a": "number"}, n_rows=5)] == [0.5, 1]


def test_parquet_types_that_no_rule_can_use():
    path = saved(typed_table(), "data.parquet")
    for name, kind in (("list", "list<element: int64>"), ("bytes", "binary")):
        text = (
            f"data.parquet, column {name!r}: it holds {kind}, which no rule can use. Leave the "
            "column out, or turn it into numbers or text."
        )
        assert message(path, [name]) == text
        assert chunks_message(path, {name: "as is"}) == text
    assert chunks_message(path, {"day": "number"}) == (
        "data.parquet, column 'day': it holds dates or times (date32[day]), and the model "
        "needs numbers. Turn it into numbers first, for example days since a date."
    )


def test_parquet_without_rows():
    path = saved(pa.table({"a": pa.array([], pa.int64())}), "data.parquet")
    assert message(path) == "data.parquet has columns but no rows. Give a table with rows."
    assert chunks(path, {"a": "number"}) == []


def test_parquet_names():
    dotted = saved(pa.table({"a": [1], "a.b": [2]}), "data.parquet")
    assert list(read(dotted, ["a"])) == ["a"]
    assert list(read(dotted, ["a.b"])) == ["a.b"]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert message(saved(twice, "data.parquet")) == (
        "data.parquet, header: columns 1 and 2 are both named 'a'. Rename one of them."
    )


def test_parquet_files_that_are_none():
    path = saved(PEOPLE, "data.parquet")
    assert message(path) == (
        "data.parquet is not a Parquet file. If it is text, give --data-format csv or tsv."
    )
    assert message(saved("", "data.parquet")) == "data.parquet is empty. Give a Parquet file."
    good = Path(saved(pa.table({"a": range(1000)}), "data.parquet")).read_bytes()
    assert message(saved(good[:-20], "data.parquet")) == (
        "data.parquet is cut off: the end of the Parquet file is not there. Copy or download "
        "it again."
    )
    damaged = "data.parquet is damaged: it is no good Parquet file. Copy or download it again."
    assert message(saved(good[:-200] + bytes(192) + good[-8:], "data.parquet")) == damaged
    assert message(saved(good[:4] + bytes(500) + good[504:], "data.parquet")) == damaged


def test_parquet_with_bytes_that_are_no_text():
    """pyarrow reads them without a word, and fails later on."""
    good = Path(saved(pa.table({"a": [1, 2], "zzzz": ["long text", "x"]}), "data.parquet"))
    broken = good.read_bytes().replace(b"long text", b"long \xff\xfe\x80t")
    assert message(saved(broken, "data.parquet")) == (
        "data.parquet, column 'zzzz': it is damaged, or holds text that is not UTF-8. Write "
        "the file again."
    )
    assert read("data.parquet", ["a"])["a"].tolist() == [1, 2]
    nameless = broken.replace(b"zzzz", b"\xff\xfe\x80z")
    assert message(saved(nameless, "data.parquet")) == (
        "data.parquet is damaged: it is no good Parquet file. Copy or download it again."
    )


# Writing


def written(path, *frames, **options):
    with open_output(path, **options) as writer:
        for frame in frames:
            writer.write(frame)
    return Path(path).read_bytes()


def test_written_text():
    frame = pd.DataFrame(
        {
            "id": objects("007", "a,b", None),
            "number": [0.1 + 0.2, np.nan, 1e-300],
            "whole": [1, 2, 3],
            "truth": [True, False, True],
            "class": pd.Categorical(["x", None, 'say "y"']),
        }
    )
    assert written("out.csv", frame[:2], frame[2:]).decode() == (
        "id,number,whole,truth,class\n"
        "007,0.30000000000000004,1,True,x\n"
        '"a,b",,2,False,\n'
        ',1e-300,3,True,"say ""y"""\n'
    )
    assert written("out.tsv", frame[["id", "whole"]]).decode() == (
        "id\twhole\n007\t1\na,b\t2\n\t3\n"
    )


@given(st.lists(st.floats(allow_nan=False), min_size=1))
@in_folder
def test_written_floats_lose_nothing(values):
    written("out.csv", pd.DataFrame({"a": values, "b": "x"}))
    np.testing.assert_array_equal(read("out.csv")["a"].astype(float), values)
    np.testing.assert_array_equal(rows("out.csv", {"a": "number"})["a"], values)


def test_a_single_column_with_holes_is_not_a_blank_line():
    assert written("out.csv", pd.DataFrame({"a": objects(None, "x", "")})) == b'a\n""\nx\n""\n'


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_output_is_the_same_every_time(suffix, monkeypatch):
    frame = pd.DataFrame({"a": [1, 2], "b": objects("x", None)})
    plain = written("out.csv", frame)
    first = written(f"one.csv{suffix}", frame)
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert written(f"two.csv{suffix}", frame) == first
    assert len(first) > 10
    assert_frame_equal(read(f"one.csv{suffix}"), read("out.csv"))
    if suffix == ".gz":
        assert gzip.decompress(first) == plain
    packed = written(f"one.parquet{suffix}", frame)
    assert written(f"two.parquet{suffix}", frame) == packed
    assert_frame_equal(read(f"one.parquet{suffix}"), read("out.csv"))


def test_results_without_rows_have_a_header():
    empty = pd.DataFrame({"a": [1.0], "b": objects("x")})[:0]
    assert written("out.csv", empty) == b"a,b\n"
    written("out.parquet", empty)
    assert pq.read_table("out.parquet").column_names == ["a", "b"]


def test_parquet_output_of_several_frames():
    first = pd.DataFrame(
        {"id": objects(None, None), "p": [0.5, np.nan], "c": objects("x", "y")}
    )
    second = pd.DataFrame({"id": objects("a", None), "p": [1.5, 2], "c": objects(None, None)})
    written("out.parquet", first, second)
    table = pq.read_table("out.parquet")
    assert table.to_pydict() == {
        "id": [None, None, "a", None],
        "p": [0.5, None, 1.5, 2],
        "c": ["x", "y", None, None],
    }


@pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
def test_identifiers_with_holes_pass_from_parquet_to_any_file(target):
    ids = [None, None, 2**60 + 1, None]
    path = saved(pa.table({"id": pa.array(ids, pa.int64())}), "data.parquet")
    with open_table(path) as table, open_output(target) as writer:
        for frame in frames(table, {"id": "as is"}, n_rows=1):
            writer.write(frame.assign(p=0.5))
    if target == "out.csv":
        cells = [f"{'' if cell is None else cell},0.5\n" for cell in ids]
        assert Path(target).read_text() == "id,p\n" + "".join(cells)
    else:
        table = pq.read_table(target)
        assert table.schema.field("id").type == pa.int64()
        assert table["id"].to_pylist() == ids


def fail_after(frame, target):
    with open_output(target) as writer:
        writer.write(frame)
        raise ZeroDivisionError


@pytest.mark.parametrize("target", ["out.csv", "out.csv.gz", "out.parquet", "out.parquet.zst"])
def test_an_error_in_the_middle_leaves_everything_as_it_was(target):
    frame = pd.DataFrame({"a": np.arange(100_000)})
    for before in (None, b"old"):
        if before is not None:
            Path(target).write_bytes(before)
        with pytest.raises(ZeroDivisionError):
            fail_after(frame, target)
        names = [name.name for name in Path.cwd().iterdir()]
        assert names == ([] if before is None else [target])
    assert Path(target).read_bytes() == b"old"


def test_outputs_that_cannot_be_written():
    with pytest.raises(InputError) as caught, open_output("out.xls"):
        pass
    assert str(caught.value) == (
        "'out.xls': the name does not tell the table's format. Give a name that ends in .csv, "
        ".tsv or .parquet (if compressed, followed by .gz, .bz2, .xz, .zst)."
    )
    with pytest.raises(FileNotFoundError, match=r"^path='no/out\.csv' cannot be written: "):
        written("no/out.csv")
    Path("folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"'folder\.csv/table\.csv'\.$"):
        written("folder.csv")
    assert [name.name for name in Path.cwd().iterdir()] == ["folder.csv"]


def test_a_format_whatever_the_name():
    assert written("out.txt", pd.DataFrame({"a": [1], "b": [2]}), file_format="tsv") == (
        b"a\tb\n1\t2\n"
    )


def test_standard_output(monkeypatch):
    for form in (None, "parquet"):
        taken = io.BytesIO()
        buffer = io.BufferedWriter(taken)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", SimpleNamespace(buffer=buffer))
            with open_output("-", file_format=form) as writer:
                writer.write(pd.DataFrame({"a": [1.5], "b": ["x"]}))
            del writer
        assert not buffer.closed
        if form is None:
            assert taken.getvalue() == b"a,b\n1.5,x\n"
        else:
            assert pq.read_table(pa.BufferReader(taken.getvalue())).num_rows == 1


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_reader_that_leaves_is_passed_on(monkeypatch, form):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as gone:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=gone))
        with pytest.raises(BrokenPipeError), open_output("-", file_format=form) as output:
            output.write(pd.DataFrame({"a": np.arange(100_000)}))
        monkeypatch.setattr(sys, "stdout", sys.__stdout__)


def test_no_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(InputError) as caught, open_output("-"):
        pass
    assert str(caught.value) == "There is no standard output. Give the name of a file."


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    for opened in (open_table("x.csv"), open_output("x.csv")):
        with pytest.raises(ImportError) as caught, opened:
            pass
        assert str(caught.value) == (
            f"Tables are read and written with pandas and pyarrow, and {package} is not "
            'installed. Install it with: pip install "neuralrules[cli]"'
        )


def test_nameless_columns_are_named_as_by_pandas(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]})
    frame.to_csv(tmp_path / "index.csv")
    with open_table(str(tmp_path / "index.csv")) as table:
        assert table.names == ["Unnamed: 0", "a"]
        assert table.read().equals(pd.read_csv(tmp_path / "index.csv"))
    frame.rename(columns={"a": ""}).to_parquet(tmp_path / "index.parquet")
    path = str(tmp_path / "index.parquet")
    with pytest.raises(InputError) as caught, open_table(path):
        pass
    assert str(caught.value) == (
        f"{path}, header: column 1 has no name. Give it one, or leave the column out (with "
        "pandas: index=False)."
    )
