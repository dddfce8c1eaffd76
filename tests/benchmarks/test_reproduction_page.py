"""The reproduction page: complete, and made of its records."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import published, reproduction_page, summary, tables
from benchmarks.datasets import BESIDE, TABLES, load
from benchmarks.methods import METHODS, VARIANTS
from benchmarks.pages import MARKER
from benchmarks.protocol import Protocol, Task

DOCS = Path(__file__).parents[2] / "docs"
TABLE = summary.read()


def test_nothing_is_lacking():
    assert reproduction_page.lacking(TABLE) == ""


def test_every_variant_was_tried_where_the_bar_is_missed():
    paper = tables.measured_by(TABLE, "paper", Protocol().tune_rows)
    means = tables.mean_errors(paper)["NRE"]
    full = tables.mean_errors(tables.chosen_on_all_rows(TABLE))["NRE"]
    missed = [data for data in TABLES if not tables.reaches_bar(data, full[data])]
    missed += [data for data in TABLES if not tables.reaches_bar(data, means[data])]
    for data in missed:
        for variant in VARIANTS:
            assert reproduction_page.count(paper, data, variant) == 5, (data, variant)


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


def test_a_page_without_all_records_says_what_it_needs(tmp_path, monkeypatch):
    some = TABLE[~((TABLE["data"] == "ring") & (TABLE["method"] == "ANN"))]
    assert reproduction_page.lacking(some) == "ANN on ring"
    fewer = TABLE[~((TABLE["data"] == "ring") & (TABLE["fold"] == 3))]
    assert reproduction_page.lacking(fewer) == "GB on ring, RF on ring, ANN on ring and 2 more"
    no_holdouts = TABLE[TABLE["protocol"] == "paper"]
    assert reproduction_page.lacking(no_holdouts).startswith(
        "NRE on wilt with --protocol holdout, NRE on madelon with --protocol holdout"
    )
    sampled = TABLE[TABLE["tune_limit"] > 0]
    assert "NRE on adult with --tune-rows 0" in reproduction_page.lacking(sampled)
    monkeypatch.setattr(summary, "PATH", tmp_path / "none.csv")
    with pytest.raises(SystemExit, match=r"none\.csv lacks records: GB on wilt, RF on wilt,"):
        reproduction_page.write()


def test_errors_of_folds_are_pooled():
    records = pd.DataFrame(
        {
            "data": ["ring"] * 4,
            "method": ["GB", "GB", "RF", "RF"],
            "wrong": [1, 0, 0, 1],
            "test_rows": [640, 639, 640, 639],
        }
    )
    errors = tables.mean_errors(records).loc["ring"]
    assert errors["GB"] == errors["RF"] == 0.08


def test_a_lower_error_than_the_bar_counts_and_a_higher_does_not():
    bar = round(published.bar("phoneme", "NRE"), 2)
    assert tables.reaches_bar("phoneme", bar)
    assert not tables.reaches_bar("phoneme", bar + 0.01)
    assert tables.reaches_bar("clean2", 0.0)
    assert not tables.reaches_bar("clean2", 0.01)


def test_parameters_are_counted():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    stump = METHODS["RF"].fit(3, 0, X, y)
    nodes = METHODS["RF"].size(stump)["nodes"]
    counted = sum(
        np.sum(tree.tree_.children_left >= 0) + tree.get_n_leaves()
        for tree in stump.estimators_
    )  # thresholds and values
    records = pd.DataFrame(
        {
            "nodes": [nodes, None, None],
            "weights": [None, 97, None],
            "nonzero": [None, None, 31],
        },
        dtype="Int64",
    )
    assert tables.n_parameters(records).tolist() == [counted, 97, 31]


@pytest.mark.skipif(not BESIDE.is_dir(), reason="the paper's data sets are not here")
def test_what_the_page_says_of_the_data_is_so():
    def rows(name):
        X, y = load(name, BESIDE)
        table = np.column_stack([X, y])
        return table[np.lexsort(table.T[::-1])]

    assert not np.array_equal(load("chess", BESIDE)[0], load("kr_vs_kp", BESIDE)[0])
    np.testing.assert_array_equal(rows("chess"), rows("kr_vs_kp"))
    # The codes of the mushrooms differ: rename them by how frequent they are, in those
    # columns in which no two are equally frequent.
    again = rows("agaricus_lepiota")
    distinct = np.unique(again, axis=0)
    assert len(again) - len(distinct) == 21
    renamed = [by_frequency(table) for table in (distinct, np.unique(rows("mushroom"), axis=0))]
    columns = renamed[0].keys() & renamed[1].keys()
    assert len(columns) >= 18
    one, other = (np.array(sorted(zip(*(t[c] for c in columns), strict=True))) for t in renamed)
    np.testing.assert_array_equal(one, other)
    X, y = load("clean2", BESIDE)
    np.testing.assert_array_equal(y, X[:, 0] < 38.5)
    assert np.sum(X[:, 0] == 38) == 6
    assert np.sum(np.isin(X[:, 0], [39, 40])) == 563
    X, _ = load("titanic", BESIDE)
    assert len(np.unique(X, axis=0)) == 14


def by_frequency(table):
    """Columns whose values have distinct counts, with each value's count in its place."""
    found = {}
    for number, column in enumerate(table.T):
        _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
        if len(set(counts)) == len(counts):
            found[number] = counts[codes]
    return found
