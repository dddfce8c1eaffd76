"""The reproduction page: complete, and made of its records."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import published, reproduction_page, summary, tables
from benchmarks.datasets import FOLDERS, TABLES, load
from benchmarks.methods import METHODS
from benchmarks.pages import MARKER
from benchmarks.protocol import Protocol, Task

DOCS = Path(__file__).parents[1] / "docs"
TABLE = summary.read()


def test_every_data_set_method_and_fold_was_measured():
    paper = tables.measured_by(TABLE, "paper", Protocol().tune_rows)
    measured = set(zip(paper["data"], paper["method"], paper["fold"], strict=True))
    wanted = {
        (data, method, fold) for data in TABLES for method in METHODS for fold in range(5)
    }
    assert wanted <= measured
    full = tables.chosen_on_all_rows(TABLE)
    own = full[full["method"] == "NRE"]
    assert set(zip(own["data"], own["fold"], strict=True)) == {
        (data, fold) for data in TABLES for fold in range(5)
    }


def test_records_agree_with_themselves():
    assert not TABLE.duplicated(summary.KEY).any()
    np.testing.assert_allclose(
        TABLE["error"], 100 * TABLE["wrong"] / TABLE["test_rows"], atol=1e-4
    )
    for row in TABLE.itertuples():
        assert row.seed == Task(row.data, row.method, row.fold).seed
        assert row.train_rows + row.test_rows == TABLES[row.data].rows
        wrong = [int(count) for count in row.tune_wrong.split()]
        candidates = METHODS[row.method.split("-")[0]].candidates
        assert row.parameter == candidates[int(np.argmin(wrong))]
    limited = TABLE[TABLE["tune_limit"] > 0]
    assert (limited["tune_rows"] == limited[["train_rows", "tune_limit"]].min(axis=1)).all()


def test_the_page_is_made_of_the_records():
    page = (DOCS / "reproduction.md").read_text()
    assert page.split(f"{MARKER}\n\n")[1] == reproduction_page.render(TABLE).rstrip() + "\n"


def test_links_and_pictures_of_the_pages_are_there():
    for name in ("reproduction.md", "simulations.md"):
        for target in re.findall(r"\]\(([^)]+)\)", (DOCS / name).read_text()):
            assert (DOCS / target).exists(), target


def test_merging_replaces_the_same_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "PATH", tmp_path / "records.csv")
    record = {
        "protocol": "paper",
        "data": "ring",
        "method": "NRE",
        "fold": 0,
        "error": 3.0,
        "tune_wrong": [1, 2],
        "tune_seconds": 4.0,
        "fit_seconds": 2.0,
        "size": {"rules": 7, "literals": 20, "nonzero": 99},
        "environment": {"CPU": "a CPU", "Python": "3.11", "commit": "abc"},
    }
    forest = record | {"method": "RF", "size": {"trees": 32, "nodes": 999}}
    summary.merge(Protocol(), [record, forest])
    summary.merge(Protocol(), [record | {"error": 2.0}])
    summary.merge(Protocol(tune_rows=0), [record | {"error": 1.0}])
    found = summary.read()
    assert found[["tune_limit", "method", "error"]].to_numpy().tolist() == [
        [0, "NRE", 1.0],
        [5000, "NRE", 2.0],
        [5000, "RF", 3.0],
    ]
    assert "7,20,99,,," in summary.PATH.read_text()  # whole numbers, and holes
    assert summary.seconds_per_task(Protocol()) == {("ring", "NRE"): 6.0, ("ring", "RF"): 6.0}


def test_a_page_without_all_records_says_what_it_needs():
    assert reproduction_page.lacking(TABLE) == ""
    some = TABLE[~((TABLE["data"] == "ring") & (TABLE["method"] == "ANN"))]
    assert reproduction_page.lacking(some) == "ANN on ring"
    none = TABLE[:0]
    assert reproduction_page.lacking(none) == (
        "GB on wilt, RF on wilt, ANN on wilt and 73 more"
    )


def test_a_lower_error_than_the_bar_counts_and_a_higher_does_not():
    bar = published.bar("phoneme", "NRE")
    assert tables.reaches_bar("phoneme", bar)
    assert not tables.reaches_bar("phoneme", bar + 0.01)
    assert tables.reaches_bar("clean2", 0.0)
    assert not tables.reaches_bar("clean2", 0.01)


def test_trees_are_counted_in_numbers():
    records = TABLE[(TABLE["method"] == "RF")].head(3)
    splits = (records["nodes"] - records["trees"]) // 2
    leaves = splits + records["trees"]
    np.testing.assert_array_equal(
        tables.numbers_stored(records), (2 * splits + leaves).astype(float)
    )


@pytest.mark.skipif(not FOLDERS[0].is_dir(), reason="the paper's data sets are not here")
def test_what_the_page_says_of_the_data_is_so():
    def rows(name):
        X, y = load(name, FOLDERS[0])
        table = np.column_stack([X, y])
        return table[np.lexsort(table.T[::-1])]

    assert not np.array_equal(load("chess", FOLDERS[0])[0], load("kr_vs_kp", FOLDERS[0])[0])
    np.testing.assert_array_equal(rows("chess"), rows("kr_vs_kp"))
    mushrooms = np.unique(rows("mushroom"), axis=0)
    again = rows("agaricus_lepiota")
    assert len(again) - len(np.unique(again, axis=0)) == 21
    assert len(np.unique(again, axis=0)) == len(mushrooms)
    X, y = load("clean2", FOLDERS[0])
    np.testing.assert_array_equal(y, X[:, 0] < 38.5)
    X, _ = load("titanic", FOLDERS[0])
    assert len(np.unique(X, axis=0)) == 14
