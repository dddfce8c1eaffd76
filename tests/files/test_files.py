"""Saved models: what comes back is what went in, and nothing else is let in."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from models import EVERY_MODEL, fitted, network_outputs, with_fitted, with_labels
from platforms import unix
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

from neuralrules import (
    ModelFileError,
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
    load,
)
from neuralrules._files import stored_model
from neuralrules._files._container import (
    DTYPES,
    MAX_HEADER_BYTES,
    NO_DIGEST,
    digest_of,
    pack,
    unpack,
)

DAMAGED = "Copy or save the file again."


def same(one, other) -> bool:
    """Whether two learned objects are the same in every array, number and text."""
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
            if one.dtype != object
            else one.tolist() == other.tolist()
        )
    if is_dataclass(one):
        pairs = ((getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
        return type(one) is type(other) and all(same(*pair) for pair in pairs)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or repr(one) == repr(other) == "nan")


def saved_bytes(model, folder) -> bytes:
    return model.save(folder / "model.nrules").read_bytes()


def loaded(whole: bytes, folder: Path):
    path = folder / "model.nrules"
    path.write_bytes(whole)
    return load(path)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_what_comes_back_is_what_went_in(kind, deep, tmp_path):
    model, X, _ = fitted(kind, deep)
    path = model.save(tmp_path / "model.nrules")
    assert path == tmp_path / "model.nrules"
    back = load(str(path))
    assert type(back) is type(model)
    assert vars(back).keys() == vars(model).keys()
    for name in vars(model):
        assert same(getattr(model, name), getattr(back, name)), name
    assert same(network_outputs(model, X), network_outputs(back, X))
    assert same(model.predict(X), back.predict(X))
    assert back.rules_text() == model.rules_text()
    assert os.listdir(tmp_path) == ["model.nrules"]


def test_rules_may_have_more_literals_than_the_table_has_columns(tmp_path):
    X = np.linspace(0, 1, 200)[:, None]
    model = NeuralRuleClassifier(6, n_epochs=1, random_state=0).fit(X, np.sin(40 * X[:, 0]) > 0)
    assert model.network_.origins.max() > len(model.encoder_.columns)
    assert same(load(model.save(tmp_path / "m")).predict_proba(X), model.predict_proba(X))


def test_a_search_comes_back(tmp_path):
    X, y = load_iris(return_X_y=True)
    options = {"cv": 3, "n_trees": 2, "n_epochs": 3, "random_state": 0}
    candidates = [{"max_depth": 1}, {}, {"start": "leaf", "scaling": "quantile", "l2": 1e-3}]
    search = NeuralRuleClassifierCV(candidates, **options).fit(X, y)
    back = load(search.save(tmp_path / "m"))
    assert back.candidates_ == search.candidates_ == candidates
    assert back.best_index_ == search.best_index_
    assert back.best_params_ == search.best_params_
    assert same(back.cv_scores_, search.cv_scores_)
    assert same(back.predict_proba(X), search.predict_proba(X))
    grid = {"max_depth": np.arange(1, 3), "fit_intercept": (True, False)}
    numbers = NeuralRuleRegressorCV(grid, refit="single", **options).fit(X, y * 1.5)
    back = load(numbers.save(tmp_path / "m"))
    assert back.candidates == {"max_depth": (1, 2), "fit_intercept": (True, False)}
    assert back.candidates_ == numbers.candidates_
    assert len(back.candidates_) == 4
    assert same(back.predict(X), numbers.predict(X))


def test_it_predicts_the_same_in_another_process(tmp_path):
    model, X, _ = fitted("mixed", True)
    model.save(tmp_path / "m.nrules")
    X.to_pickle(tmp_path / "X.pickle")
    script = (
        "import numpy, pandas, neuralrules; X = pandas.read_pickle('X.pickle');"
        "numpy.save('p.npy', neuralrules.load('m.nrules').predict_proba(X))"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert same(np.load(tmp_path / "p.npy"), model.predict_proba(X))


@pytest.mark.parametrize("simplified", [False, True])
def test_training_goes_on_as_if_it_had_never_been_away(simplified, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = NeuralRuleClassifier(2, n_epochs=5, random_state=0).fit(X, y)
    if simplified:
        model = model.simplify(X, y)
    back = load(model.save(tmp_path / "m"))
    assert same(
        network_outputs(model.partial_fit(X, y), X), network_outputs(back.partial_fit(X, y), X)
    )


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([3, 7], np.int8),
        np.array([2**60, 2**60 + 1]),
        np.array([1.0, 2.0]),
        np.array(["no", "yes, \ud800 \0x"]),
        np.array(["no", "yes"], object),
        np.array([1, 2], ">i4"),
    ],
)
def test_labels_keep_their_type(labels, tmp_path):
    rng = np.random.RandomState(0)
    X, codes = rng.randn(40, 2), np.arange(40) % 2
    model = NeuralRuleClassifier(2, n_epochs=1, random_state=0).fit(X, labels[codes])
    back = load(model.save(tmp_path / "m"))
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.classes_.dtype == model.classes_.dtype.newbyteorder("=")


@pytest.mark.parametrize("label", [pd.Timestamp("2020-01-01"), (1, 2)])
def test_labels_that_are_no_plain_data_are_refused(label, tmp_path):
    model, _, _ = fitted("two classes")
    odd = with_labels(model, [label, label])
    with pytest.raises(TypeError) as caught:
        odd.save(tmp_path / "odd")
    assert str(caught.value) == (
        f"save cannot write the class {label!r}: labels must be strings, numbers or "
        "booleans. Fit on y with such labels, for example y.astype(str)."
    )
    assert not (tmp_path / "odd").exists()


def test_parameters_come_back_and_objects_fall_back_to_their_default(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = NeuralRuleClassifier(
        np.int64(2),
        n_epochs=1,
        class_weight={0: 1.0, 1: np.float32(2), 2: 1},
        random_state=np.random.RandomState(0),
    ).fit(X, y)
    with pytest.warns(UserWarning, match="random_state") as caught:
        path = model.save(tmp_path / "m")
    assert str(caught[0].message) == (
        f"random_state={model.random_state!r} is not plain data and is not saved: the loaded "
        "model will have random_state=None, its default. Predictions are the same."
    )
    assert caught[0].filename == __file__
    expected = {**model.get_params(), "random_state": None}
    assert load(path).get_params() == expected
    search = NeuralRuleClassifierCV([{}], cv=KFold(3, shuffle=True), n_trees=1, n_epochs=1)
    search.fit(X, y)
    with pytest.warns(UserWarning, match="cv=5, its default"):
        search.save(path)
    assert load(path).cv == 5


def test_notes_stay_with_the_model(tmp_path):
    model, _, _ = fitted("mixed")
    assert load(model.save(tmp_path / "m")).fitted_.notes == {}
    noted = with_fitted(model, notes={"targets": ["a ü"], "missing": []})
    assert load(noted.save(tmp_path / "m")).fitted_.notes == noted.fitted_.notes


def test_the_safetensors_library_reads_the_arrays(tmp_path):
    model, _, _ = fitted("numbers", True)
    arrays = load_file(model.save(tmp_path / "m.safetensors"))
    assert same(arrays["network.own_weights"], model.fitted_.state.network.own_weights)
    assert same(arrays["encoder.mean"], np.array([c.mean for c in model.encoder_.columns]))


@pytest.mark.parametrize("kind", ["three classes", "mixed", "forest"])
def test_arrays_begin_at_multiples_of_their_items(kind, tmp_path):
    model, _, _ = fitted(kind)
    whole = saved_bytes(model, tmp_path)
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    assert length % 8 == 0
    for name, entry in header.items():
        if name != "__metadata__":
            assert entry["data_offsets"][0] % DTYPES[entry["dtype"]].itemsize == 0


@pytest.mark.parametrize("deep", [False, True])
def test_rules_keep_the_columns_they_own(deep, tmp_path):
    model, X, y = fitted("three classes", deep)
    path = model.simplification_path(X, y)
    small = path.model(len(path) // 2)
    n_columns = np.diff(small.network_.column_offsets)
    assert n_columns.min() < n_columns.max() or n_columns.max() < small.network_.features.size
    again = load(small.save(tmp_path / "m"))
    for name in ("own_weights", "columns", "column_offsets"):
        assert same(getattr(again.network_, name), getattr(small.network_, name))
    assert same(again.decision_function(X), small.decision_function(X))
    again.partial_fit(X, y)


def test_saving_an_unfitted_model():
    with pytest.raises(ValueError, match=r"^This NeuralRuleRegressor instance is not fitted"):
        NeuralRuleRegressor().save("model.nrules")


def test_a_model_that_diverged_is_not_saved(tmp_path):
    model, _, _ = fitted("two classes")
    model = load(model.save(tmp_path / "m"))
    model.fitted_.state.network.own_weights[0] = np.nan
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        model.save(tmp_path / "n")
    assert str(caught.value) == (
        "The model cannot be saved: its network.own_weights hold NaN or infinity, because "
        "training did not converge. Fit it again, for example with a smaller learning_rate."
    )
    assert not (tmp_path / "n").exists()


def test_saving_is_whole_or_nothing(tmp_path, monkeypatch):
    model, _, _ = fitted("two classes")
    path = tmp_path / "m.nrules"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match=r"^full$"):
        model.save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.nrules"]


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (
            "",
            ValueError,
            "path='' is empty. Give the name of a file, for example 'model.nrules'.",
        ),
        (3, TypeError, "path=3 must be the name of a file, for example 'model.nrules'."),
    ],
)
def test_bad_paths_to_save_to(path, error, message):
    model, _, _ = fitted("two classes")
    with pytest.raises(error) as caught:
        model.save(path)
    assert str(caught.value) == message


def test_too_many_names(tmp_path, monkeypatch):
    model, _, _ = fitted("two classes")
    monkeypatch.setattr("neuralrules._files._container.MAX_HEADER_BYTES", 100)
    with pytest.raises(
        ValueError, match=r"^The names and categories of this model take [\d,]+"
    ):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


# What is refused.


def refusal(whole: bytes, folder: Path) -> str:
    """The message that refuses a file, without the part that all of them share."""
    with pytest.raises(ModelFileError) as caught:
        loaded(whole, folder)
    text = str(caught.value)
    start = f"{str(folder / 'model.nrules')!r} cannot be loaded: "
    assert text.startswith(start)
    return text.removeprefix(start)


def sealed(arrays, document, **metadata) -> bytes:
    """A file of any content whose digest is right."""
    text = document if isinstance(document, str) else json.dumps(document)
    whole = pack(arrays, text, "0.1.0")
    return with_header(whole, lambda header: header["__metadata__"].update(metadata))


def with_header(whole: bytes, change) -> bytes:
    """A file with another header and the digest that belongs to it."""
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["__metadata__"]["sha256"] = NO_DIGEST
    change(header)
    encoded = json.dumps(header).encode()
    blank = len(encoded).to_bytes(8, "little") + encoded + whole[8 + length :]
    if NO_DIGEST.encode() not in blank:
        return blank
    return blank.replace(NO_DIGEST.encode(), digest_of(blank, NO_DIGEST).encode(), 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    model, _, _ = fitted("mixed", True)
    return saved_bytes(model, tmp_path_factory.mktemp("model"))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no.nrules")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


@unix
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_files_that_never_end(kind, tmp_path):
    path = tmp_path / "odd"
    os.mkfifo(path) if kind == "pipe" else os.symlink("/dev/zero", path)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(caught.value) == f"{str(path)!r} is not a regular file. Give a file to load."


def test_a_file_that_is_too_large(whole, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(whole)
    with pytest.raises(ModelFileError) as caught:
        load(path, max_bytes=1000)
    assert str(caught.value) == (
        f"{str(path)!r} has {len(whole):,} bytes, more than max_bytes=1,000. "
        "Give a larger max_bytes if you trust the file."
    )
    with open(path, "wb") as file:
        file.truncate(2**30 + 1)  # a hole: it takes no room on the disk
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="more than max_bytes"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


class Trap:
    def __reduce__(self):
        return (os.mkdir, ("trapped",))


def zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../weights.npy", bytes(2**25))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "other",
    [
        zip_bomb,
        lambda: pickle.dumps(Trap()),
        lambda: b"a,b\n1,2\n" * 9,
        lambda: b"\x93NUMPY" * 9,
    ],
    ids=["zip bomb", "pickle", "table", "array"],
)
def test_files_of_other_kinds(other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tracemalloc.start()
    data = other()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    assert refusal(data, tmp_path) == (
        "it is not a neuralrules model file. Give a file written by model.save(path)."
    )
    assert tracemalloc.get_traced_memory()[1] - before < 2**20
    tracemalloc.stop()
    assert os.listdir(tmp_path) == ["model.nrules"]


def test_a_safetensors_file_of_something_else(tmp_path):
    save_file({"a": np.ones(3)}, tmp_path / "other", {"format": "pt"})
    assert refusal((tmp_path / "other").read_bytes(), tmp_path) == (
        "it is a safetensors file of something else than a neuralrules model. Give a file "
        "written by model.save(path)."
    )


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            "2",
            "it has version 2 of the file format, written by neuralrules '0.1.0'; this release "
            "reads version 1. Upgrade neuralrules.",
        ),
        ("", f"it does not say which version of the file format it has. {DAMAGED}"),
        (1, f"it does not say which version of the file format it has. {DAMAGED}"),
    ],
)
def test_other_versions(version, message, whole, tmp_path):
    arrays, text = unpack(whole)
    assert refusal(sealed(arrays, text, version=version), tmp_path) == message


def test_files_that_are_cut_short(whole, tmp_path):
    header = 8 + int.from_bytes(whole[:8], "little")
    assert refusal(b"", tmp_path) == f"it holds 0 bytes, too few for a model. {DAMAGED}"
    assert refusal(whole[:7], tmp_path) == f"it holds 7 bytes, too few for a model. {DAMAGED}"
    assert refusal(whole[: header - 1], tmp_path) == (
        f"it is cut short, within its header. {DAMAGED}"
    )
    assert refusal(whole[:-1], tmp_path).startswith("it is cut short, within the array '")
    for length in range(0, len(whole), 17):
        refusal(whole[:length], tmp_path)


def test_files_that_are_too_long(whole, tmp_path):
    message = f"it holds 3 bytes more than its header says. {DAMAGED}"
    assert refusal(whole + b"\0\0\0", tmp_path) == message


def test_a_file_that_was_altered(whole, tmp_path):
    message = f"it was altered: its content does not match its digest. {DAMAGED}"
    assert refusal(whole[:-1] + bytes([whole[-1] ^ 1]), tmp_path) == message
    assert refusal(whole.replace(b"income", b"outgo_"), tmp_path) == message
    place = whole.index(b'"sha256":"') + len(b'"sha256":"')
    spelled = whole[:place] + b"\\u00%02x" % whole[place] + whole[place + 1 :]
    longer = int.from_bytes(whole[:8], "little") + 5
    assert refusal(longer.to_bytes(8, "little") + spelled[8:], tmp_path) == message
    arrays, text = unpack(whole)
    for digest in (None, "", "x" * 64, "\ud800" * 64):
        none = f"it has no digest of its content. {DAMAGED}"
        assert refusal(sealed(arrays, text, sha256=digest), tmp_path) == none


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            '{"a":' + "[" * 100_000,
            "its header is not valid JSON (a list or an object is nested too deeply)",
        ),
        ('{"a": NaN}', "its header is not valid JSON (NaN is not a finite number). " + DAMAGED),
        ('{"a": 1e999}', "its header is not valid JSON (1e999 is not a finite number). "),
        ('{"a": 1, "a": 1}', "its header is not valid JSON (a key stands twice in one object)"),
        ('{"a": ' + "9" * 5000 + "}", "its header is not valid JSON (Exceeds the limit"),
        ('{"\\ud800": {}}', "it is a safetensors file of something else"),
        ("{}", "it is a safetensors file of something else"),
        ('{"__metadata__": 1}', "it is a safetensors file of something else"),
    ],
)
def test_headers_that_are_no_headers(header, message, tmp_path):
    encoded = header.encode()
    text = refusal(len(encoded).to_bytes(8, "little") + encoded, tmp_path)
    assert text.startswith(message)


def test_a_header_that_is_too_large(whole, tmp_path):
    huge = (MAX_HEADER_BYTES + 1).to_bytes(8, "little") + whole[8:]
    assert refusal(huge, tmp_path).startswith("it is not a neuralrules model file.")


ENTRY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {**ENTRY, "more": 1},
        {**ENTRY, "dtype": "F8"},
        {**ENTRY, "dtype": ["F32"]},
        {**ENTRY, "shape": [-1, 0]},
        {**ENTRY, "shape": [True, 0]},
        {**ENTRY, "shape": [0, 0, 0, 0]},
        {**ENTRY, "shape": [2**62, 2**62]},
        {**ENTRY, "shape": [2**62, 4]},
        {**ENTRY, "shape": [0, 2**63]},
        {**ENTRY, "shape": [0, 2**62, 2**62]},
        {**ENTRY, "data_offsets": [4, 4]},
        {**ENTRY, "data_offsets": [0, 8]},
        {**ENTRY, "data_offsets": [0, -8]},
    ],
)
def test_arrays_that_are_not_described(entry, whole, tmp_path):
    def change(header):
        items = dict(header)
        header.clear()
        metadata = items.pop("__metadata__")
        header |= {"__metadata__": metadata, "../../odd": entry} | items

    message = f"its header does not describe the array '../../odd'. {DAMAGED}"
    assert refusal(with_header(whole, change), tmp_path) == message


def test_an_absurd_shape_asks_for_no_memory(whole, tmp_path):
    def change(header):
        entry = {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}
        items = dict(header)
        header.clear()
        header |= {"__metadata__": items.pop("__metadata__"), "big": entry} | items

    hostile = with_header(whole, change)
    tracemalloc.start()
    assert refusal(hostile, tmp_path) == f"it is cut short, within the array 'big'. {DAMAGED}"
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_frozen_parts_are_checked(tmp_path):
    model = fitted("two classes")[0].edit(freeze=[1])
    path = model.save(tmp_path / "model.nrules")
    assert stored_model(path).fitted_.rules.frozen.tolist() == model.rules_.frozen.tolist()
    arrays, text = unpack(path.read_bytes())
    before = arrays.pop("rules.frozen")
    path.write_bytes(sealed(arrays, text))
    assert load(path).rules_.frozen is None  # files of models without frozen rules leave it out
    for frozen in (before + 2, before[1:], before.astype(np.int64)):
        path.write_bytes(sealed(arrays | {"rules.frozen": frozen}, text))
        with pytest.raises(ModelFileError, match=r"rules\.frozen"):
            load(path)
