"""The paper's data sets: found, downloaded, checked."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import json
import threading

import numpy as np
import pandas as pd
import pytest
import tiny_tables

from benchmarks import datasets
from benchmarks.datasets import TABLES, DataError, Table, checksum, data_folder, load

REAL = datasets.BESIDE


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A folder with two small tables that the loader knows."""
    monkeypatch.setattr(datasets, "TABLES", dict(TABLES))
    monkeypatch.setattr(tiny_tables.protocol, "MEASURABLE", {})
    tiny_tables.install()
    tiny_tables.write(tmp_path)
    return tmp_path


def wrong(path, reason):
    return (
        f"{path} is not the table it should be: {reason}. Remove it to have it downloaded "
        "again, or name another folder with --data or $NEURALRULES_DATA."
    )


def change(folder, edit):
    path = folder / "tiny_xor" / "tiny_xor.tsv.gz"
    frame = edit(pd.read_csv(path, sep="\t"))
    frame.to_csv(path, sep="\t", index=False)
    return path


def test_a_table_comes_back_as_it_was_generated(tiny):
    X, y = load("tiny_xor", tiny)
    expected_X, expected_y = tiny_tables.rotated_xor(tiny_tables.N_ROWS, 0)
    np.testing.assert_array_equal(X, expected_X)
    np.testing.assert_array_equal(y, expected_y)


def test_targets_become_codes_whatever_their_values(tiny):
    change(tiny, lambda frame: frame.assign(target=frame["target"].map({0: -1.0, 1: 7.5})))
    assert set(load("tiny_xor", tiny)[1]) == {0, 1}


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            lambda frame: frame.iloc[:-1],
            "it has 239 rows and 2 features, not 240 and 2",
        ),
        (
            lambda frame: frame.drop(columns="x0"),
            "it has 240 rows and 1 features, not 240 and 2",
        ),
        (
            lambda frame: frame.assign(target=1 - frame["target"]),
            "its classes have (114, 126) rows, not (126, 114)",
        ),
        (
            lambda frame: frame.assign(x0=frame["x0"] * 1.001),
            "its checksum is wrong: some values differ",
        ),
        (
            lambda frame: frame.iloc[::-1],
            "its checksum is wrong: some values differ",
        ),
        (
            lambda frame: frame.rename(columns={"target": "class"}),
            "it has no column 'target' but x0, x1, class",
        ),
        (
            lambda frame: frame.assign(x1="blue"),
            "column 'x1' holds more than numbers",
        ),
    ],
)
def test_a_wrong_table_is_refused(tiny, edit, reason):
    path = change(tiny, edit)
    with pytest.raises(DataError) as caught:
        load("tiny_xor", tiny)
    assert str(caught.value) == wrong(path, reason)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: whole[: len(whole) // 2], "it cannot be read (Compressed file ended"),
        (lambda whole: b"no gzip at all", "it cannot be read (Not a gzipped file"),
        (lambda whole: b"", "it is empty"),
        (lambda whole: gzip.compress(b""), "it is empty"),
        (lambda whole: gzip.compress(b"\xff\xfe\x00"), "it cannot be read ('utf-8' codec"),
        (
            lambda whole: whole[:200] + bytes([whole[200] ^ 255]) + whole[201:],
            "it ",  # whatever the damage looks like after decompression
        ),
    ],
)
def test_a_damaged_file_is_refused(tiny, damage, reason):
    path = tiny / "tiny_xor" / "tiny_xor.tsv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError) as caught:
        load("tiny_xor", tiny)
    assert str(caught.value).startswith(f"{path} is not the table it should be: {reason}")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        DataError, match=r"^No data set 'iris'\. There are wilt, madelon, .*\.$"
    ):
        load("iris")


def test_a_folder_that_was_asked_for_must_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURALRULES_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError) as caught:
        data_folder()
    assert str(caught.value) == (
        f"No data folder at {tmp_path / 'nowhere'}. Name another with --data or "
        "$NEURALRULES_DATA, or create it empty and let the data sets be downloaded into it."
    )


def test_without_a_folder_the_usual_places_are_read_and_only_ours_is_written(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("NEURALRULES_DATA", raising=False)
    monkeypatch.setattr(datasets, "BESIDE", tmp_path / "beside")
    monkeypatch.setattr(datasets, "DOWNLOADS", tmp_path / "ours")
    assert data_folder() is None
    assert datasets.find("ring", None) == tmp_path / "ours" / "ring" / "ring.tsv.gz"
    there = tmp_path / "beside" / "ring" / "ring.tsv.gz"
    there.parent.mkdir(parents=True)
    there.touch()
    assert datasets.find("ring", None) == there
    assert datasets.find("dis", None) == tmp_path / "ours" / "dis" / "dis.tsv.gz"


def test_the_option_wins_over_the_environment(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.setenv("NEURALRULES_DATA", str(tmp_path / "a"))
    assert data_folder() == tmp_path / "a"
    assert data_folder(tmp_path / "b") == tmp_path / "b"


@pytest.mark.skipif(not REAL.is_dir(), reason="the paper's data sets are not here")
@pytest.mark.parametrize("name", TABLES)
def test_the_papers_data_sets_pass_their_checks(name):
    X, y = load(name, REAL)
    assert np.isfinite(X).all()
    assert len(X) == len(y) == TABLES[name].rows


def test_there_are_nineteen_of_two_classes():
    assert len(TABLES) == 19
    for table in TABLES.values():
        assert len(table.counts) == 2
        assert sum(table.counts) == table.rows
    assert {name: table.test_rows for name, table in TABLES.items() if table.test_rows} == {
        "wilt": 500,
        "madelon": 600,
    }


@pytest.fixture
def server():
    """A web server on this machine that answers with the pages put into the dictionary."""
    pages: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages.get(self.path.split("?")[0])
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", pages
        running.shutdown()


def test_pmlb_fetches_a_missing_table_once(tiny, tmp_path_factory, server, monkeypatch):
    import pmlb.pmlb

    address, pages = server
    monkeypatch.setattr(pmlb.pmlb, "GITHUB_URL", address)
    monkeypatch.setattr(pmlb.pmlb, "dataset_names", ["tiny_xor"])
    file = tiny / "tiny_xor" / "tiny_xor.tsv.gz"
    pages["/tiny_xor/tiny_xor.tsv.gz"] = file.read_bytes()
    empty = tmp_path_factory.mktemp("empty")
    expected = load("tiny_xor", tiny)
    for _ in range(2):  # the second time without the server
        X, y = load("tiny_xor", empty)
        np.testing.assert_allclose(X, expected[0], rtol=1e-12)
        np.testing.assert_array_equal(y, expected[1])
        pages.clear()


def test_a_failed_download_says_why(tiny, tmp_path_factory, server, monkeypatch):
    import pmlb.pmlb

    monkeypatch.setattr(pmlb.pmlb, "GITHUB_URL", server[0])
    monkeypatch.setattr(pmlb.pmlb, "dataset_names", ["tiny_xor"])
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(DataError) as caught:
        load("tiny_xor", empty)
    assert str(caught.value) == (
        f"tiny_xor is not at {empty}/tiny_xor/tiny_xor.tsv.gz and could not be downloaded from "
        "PMLB: ValueError: Dataset not found in PMLB.. Name a folder that holds it with --data "
        "or $NEURALRULES_DATA."
    )
    assert not list(empty.rglob("*"))


def test_openml_fetches_a_table_in_its_own_order(tmp_path, server, monkeypatch):
    import sklearn.datasets._openml as openml

    address, pages = server
    X = np.array([[3.5, 1.0], [1.25, 2.0], [2.0, 3.0], [7.0, 4.0]])
    y = np.array([1, 0, 0, 1])
    rows = "\n".join(
        f"{a},{b},{target + 1}" for (a, b), target in zip(X.tolist(), y.tolist(), strict=True)
    )
    arff = (
        "@RELATION tiny\n@ATTRIBUTE V1 REAL\n@ATTRIBUTE V2 REAL\n@ATTRIBUTE Class {1,2}\n"
        f"@DATA\n{rows}\n"
    ).encode()
    description = {
        "id": "77",
        "name": "tiny",
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "file_id": "78",
        "default_target_attribute": "Class",
        "url": f"{address}/data/78",
        "description": "tiny",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    features = [
        {"index": "0", "name": "V1", "data_type": "numeric"},
        {"index": "1", "name": "V2", "data_type": "numeric"},
        {"index": "2", "name": "Class", "data_type": "nominal"},
    ]
    for feature in features:
        feature |= {
            "is_target": str(feature["name"] == "Class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
    qualities = [{"name": "NumberOfInstances", "value": "4"}]
    for path, body in {
        "data/77": {"data_set_description": description},
        "data/features/77": {"data_features": {"feature": features}},
        "data/qualities/77": {"data_qualities": {"quality": qualities}},
    }.items():
        pages[f"/api/v1/json/{path}"] = json.dumps(body).encode()
    pages["/data/78"] = pages["/data/v1/download/78"] = arff
    for name in ("_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
        there = getattr(openml, name)
        monkeypatch.setattr(openml, name, there.replace("https://www.openml.org", address))
    table = Table("tiny", 4, 2, (2, 2), 2, 77, checksum(X, y))
    monkeypatch.setattr(datasets, "TABLES", {"tiny": table})
    found_X, found_y = load("tiny", tmp_path)
    np.testing.assert_array_equal(found_X, X)
    np.testing.assert_array_equal(found_y, y)
