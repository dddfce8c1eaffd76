"""The paper's 19 data sets and 21 more: found in a folder or downloaded, and checked.

A folder has the layout of the pmlb package's cache: NAME/NAME.tsv.gz, tab-separated, with a
column "target". Two files beside this one say what each table must hold: datasets.csv for the
paper's tables, and frontier_datasets.csv for the others.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.files import write_whole

VARIABLE = "NEURALRULES_DATA"
DOWNLOADS = Path(__file__).resolve().parent / "data"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
BESIDE_FRONTIER = BESIDE.with_name("frontier_data")


class DataError(Exception):
    """A table is missing, is damaged, or is another table than it should be."""


@dataclass(frozen=True)
class Table:
    """What the table of a data set must hold.

    Attributes
    ----------
    name : str
    rows, features : int
    counts : tuple of int
        Number of rows of each class, in the order of the sorted targets; empty for a
        regression.
    test_rows : int
        Number of rows at the end that are the published test set; 0 if there is none.
    openml : int
        Number of the data set on OpenML; 0 if it comes from PMLB.
    sha256 : str
        Checksum of the values, see `checksum`.
    """

    name: str
    rows: int
    features: int
    counts: tuple[int, ...]
    test_rows: int
    openml: int
    sha256: str


def _tables(file_name: str) -> dict[str, Table]:
    with Path(__file__).with_name(file_name).open(newline="") as file:
        return {
            row["name"]: Table(
                row["name"],
                int(row["rows"]),
                int(row["features"]),
                tuple(int(count) for count in row["counts"].split()),
                int(row["test_rows"]),
                int(row["openml"]),
                row["sha256"],
            )
            for row in csv.DictReader(file)
        }


TABLES = _tables("datasets.csv")
FRONTIER = _tables("frontier_datasets.csv")


def data_folder(given: str | Path | None = None) -> Path | None:
    """The folder given, or else the folder that the environment variable names.

    This folder must exist. Data sets that it lacks are downloaded into it. None means the usual
    folders.
    """
    asked = given or os.environ.get(VARIABLE)
    if not asked:
        return None
    if not Path(asked).is_dir():
        raise DataError(
            f"No data folder at {asked}. Name another with --data or ${VARIABLE}, or "
            "create it empty and let the data sets be downloaded into it."
        )
    return Path(asked).resolve()


def find(name: str, folder: Path | None) -> Path:
    """The path of a data set's table, or the path to which it will be downloaded."""
    file = Path(name) / f"{name}.tsv.gz"
    if folder is not None:
        return folder / file
    places = (BESIDE / file, BESIDE_FRONTIER / file)
    return next((path for path in places if path.exists()), DOWNLOADS / file)


def load(name: str, folder: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read a data set and check it. If no folder has it, it is downloaded first.

    Parameters
    ----------
    name : str
        One of the names in TABLES and FRONTIER.
    folder : Path, optional
        The folder to read from and to download to; see `data_folder`. By default, tables are
        read from shared/data and shared/frontier_data beside the project and from
        benchmarks/data, and downloaded to benchmarks/data.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float64
    y : ndarray of shape (n_rows,), int64 or float64
        Class codes, with 0 for the smallest target, or the numbers to predict.
    """
    known = TABLES | FRONTIER
    if name not in known:
        raise DataError(f"No data set {name!r}. There are {', '.join(known)}.")
    table = known[name]
    path = find(name, folder)
    if not path.exists():
        download(table, path)
    frame = read(path)
    X = frame.drop(columns="target").to_numpy(np.float64)
    if table.counts:
        y = np.unique(frame["target"], return_inverse=True)[1]
    else:
        y = frame["target"].to_numpy(np.float64)
    check(table, X, y, path)
    return X, y


def read(path: Path) -> pd.DataFrame:
    """Read a compressed table of numbers, with a column "target"."""
    try:
        frame = pd.read_csv(path, sep="\t")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise _wrong(path, f"it cannot be read ({error})") from error
    except pd.errors.EmptyDataError as error:
        raise _wrong(path, "it is empty") from error
    if "target" not in frame:
        raise _wrong(path, f"it has no column 'target' but {', '.join(map(str, frame)):.80}")
    words = [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]
    if words:
        raise _wrong(path, f"column {words[0]!r} holds more than numbers")
    return frame


def check(table: Table, X: np.ndarray, y: np.ndarray, path: Path) -> None:
    """Compare shape, class counts and values with what the data set must hold."""
    if X.shape != (table.rows, table.features):
        raise _wrong(
            path,
            f"it has {X.shape[0]} rows and {X.shape[1]} features, not {table.rows} and "
            f"{table.features}",
        )
    counts = tuple(int(count) for count in np.bincount(y)) if table.counts else ()
    if counts != table.counts:
        raise _wrong(path, f"its classes have {counts} rows, not {table.counts}")
    if checksum(X, y) != table.sha256:
        raise _wrong(path, "its checksum is wrong: some values differ")


def checksum(X: np.ndarray, y: np.ndarray) -> str:
    """SHA-256 of the values in single precision and the class codes or numbers, row by row.

    It is computed from the values and not from the file, because pmlb compresses the tables
    that it downloads again. It uses single precision, because pmlb may write the last digit of
    a double differently.
    """
    digest = hashlib.sha256(np.ascontiguousarray(X, "<f4").tobytes())
    digest.update(np.ascontiguousarray(y, "<f4" if y.dtype.kind == "f" else "<i1").tobytes())
    return digest.hexdigest()


def download(table: Table, path: Path) -> None:
    """Download a data set from PMLB or OpenML. The file is written whole or not at all."""
    try:
        frame = _from_openml(table.openml) if table.openml else _from_pmlb(table.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, gzip.compress(frame.to_csv(sep="\t", index=False).encode(), mtime=0))
    except Exception as error:  # the network, two libraries or the disk may raise any error
        source = f"OpenML ({table.openml})" if table.openml else "PMLB"
        raise DataError(
            f"{table.name} is not at {path} and could not be downloaded from {source}: "
            f"{type(error).__name__}: {error}. Name a folder that holds it with --data or "
            f"${VARIABLE}."
        ) from error


def _from_pmlb(name: str) -> pd.DataFrame:
    from pmlb import fetch_data

    return fetch_data(name, dropna=False)


def _from_openml(number: int) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(data_id=number, as_frame=True, parser="liac-arff", cache=False)
    return bunch.data.assign(target=np.unique(bunch.target, return_inverse=True)[1])


def _wrong(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is not the table it should be: {reason}. Remove it to have it downloaded "
        f"again, or name another folder with --data or ${VARIABLE}."
    )
