"""Command lines run in this process, and the tables they are about."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from models import mixed_table
from sklearn.datasets import load_diabetes, load_iris

from neuralrules._cli import main

COMMANDS = Path(sys.executable).parent / "neuralrules"


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


def run(*arguments: object, stdin: str = "", encoding: str = "utf-8") -> Result:
    """One command line; standard streams hold bytes beneath the text, as real ones do."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, newline="") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    out.flush()
    err.flush()
    texts = (stream.buffer.getvalue().decode(errors="surrogateescape") for stream in (out, err))
    return Result(code, *texts)


def done(*arguments: object, stdin: str = "") -> Result:
    """One command line that must go well."""
    result = run(*arguments, stdin=stdin)
    assert result.code == 0, result.err
    return result


def refused(*arguments: object, code: int = 1) -> str:
    """What a command line is refused with: one line, and a hint after wrong use."""
    result = run(*arguments)
    assert result.code == code, result.err
    assert result.out == ""
    lines = [line for line in result.err.splitlines() if ": note: " not in line]
    if code == 2:
        hint = lines.pop()
        assert hint.startswith("Try 'neuralrules ")
        assert hint.endswith("--help' for help.")
    (line,) = lines
    start = "neuralrules: error: "
    assert line.startswith(start)
    return line.removeprefix(start)


def iris() -> pd.DataFrame:
    """Numbers, three classes of text, and an identifier of text."""
    bunch = load_iris(as_frame=True)
    frame = bunch.data.assign(species=bunch.target_names[bunch.target])
    frame.insert(0, "plant", [f"p{place:03}" for place in range(len(frame))])
    return frame


def features(frame: pd.DataFrame, *others: str) -> pd.DataFrame:
    """The columns to predict from."""
    return frame.drop(columns=list(others))


def mixed() -> pd.DataFrame:
    """Numbers, categories and holes; three classes of text."""
    X, y = mixed_table()
    return X.assign(grade=y)


def houses() -> pd.DataFrame:
    """Numbers to predict numbers from, and an identifier that counts."""
    frame = load_diabetes(as_frame=True).frame.rename(columns={"target": "price"})
    frame.insert(0, "id", range(1, len(frame) + 1))
    return frame


def write_tables(folder: Path) -> None:
    """The tables of the examples in the help, and some more."""
    iris().to_csv(folder / "iris.csv", index=False)
    iris().iloc[::3].to_csv(folder / "iris_test.csv", index=False)
    iris().drop(columns="species").to_csv(folder / "new.csv", index=False)
    houses().to_parquet(folder / "houses.parquet")
    mixed().to_csv(folder / "mixed.tsv.gz", sep="\t", index=False)


def write_models(folder: Path) -> None:
    """A model of each kind, trained for a moment."""
    quick = ("--n-epochs", 20, "--max-depth", 3, "--n-trees", 4, "--quiet")
    for data, target, output, *options in (
        ("iris.csv", "species", "iris.nrules", "--drop", "plant"),
        ("iris.csv", "species", "hinge.nrules", "--drop", "plant", "--loss", "hinge"),
        ("houses.parquet", "price", "houses.nrules", "--drop", "id"),
        ("houses.parquet", "bmi", "two.nrules", "--target", "bp", "--drop", "id"),
        ("mixed.tsv.gz", "grade", "mixed.nrules"),
    ):
        done("fit", folder / data, "--target", target, "-o", folder / output, *options, *quick)
