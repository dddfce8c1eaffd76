"""Usual outcomes of text values in files: to the bit, and safe from strangers."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_files import DAMAGED, loaded, refusal, saved_bytes, sealed
from test_files_hostile import MANY, become, contents, drop, mutate, put

from neuralrules import ModelFileError, NeuralRuleClassifier, NeuralRuleRegressor, load
from neuralrules._data._columns import Category, Usual

ODD_NAMES = ["007", "o'Neill", 'a "b"', "Århus", "東京", "a\nb", " "]


def cities(n_rows=900):
    rng = np.random.RandomState(0)
    names = [*ODD_NAMES, *(f"town {i}" for i in range(80))]
    places = np.minimum(rng.geometric(0.04, n_rows) - 1, len(names) - 1)
    frame = pd.DataFrame(
        {
            "city": np.array(names, object)[places],
            "number": rng.randn(n_rows),
            "code": np.array([f"k{i}" for i in rng.randint(0, 20, n_rows)], object),
        }
    )
    frame.loc[::23, "city"] = None
    frame.loc[:2, "city"] = ["Lone", "Alone", "Only"]
    return frame, np.sin(places) + frame["number"] + 0.3 * rng.randn(n_rows)


def targets_of(kind, numbers):
    """The targets of each kind of task."""
    return {
        "two classes": np.where(numbers > 0, "bad", "good"),
        "three classes": np.digitize(numbers, [-0.5, 0.7]),
        "number": 1e30 * (numbers + 4),
        "two numbers": np.stack([numbers, -3 * numbers + 1e7], axis=1),
    }[kind]


KINDS = ("two classes", "three classes", "number", "two numbers")


def model_of(kind, **options):
    X, numbers = cities()
    estimator = NeuralRuleClassifier if "classes" in kind else NeuralRuleRegressor
    options = {"n_trees": 2, "max_depth": 3, "n_epochs": 3, "random_state": 0, **options}
    return estimator(**options).fit(X, targets_of(kind, numbers)), X


def usual_of(model):
    return [column for column in model.encoder_.columns if isinstance(column, Usual)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_usual_outcomes_come_back_to_the_bit(kind, scaling, tmp_path):
    model, X = model_of(kind, scaling=scaling)
    again = load(model.save(tmp_path / "model.nrules"))
    assert len(usual_of(model)) == 2 * (1 + (kind in ("three classes", "two numbers")))
    assert again.encoder_ == model.encoder_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    new = pd.DataFrame(
        {"city": [*ODD_NAMES, None, "Lone", "new", "town 79"], "number": 0.0, "code": "k3"}
    )
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert saved_bytes(again, tmp_path) == (tmp_path / "model.nrules").read_bytes()


def test_files_without_usual_outcomes_say_nothing_of_them(tmp_path):
    X, numbers = cities()
    model = NeuralRuleClassifier(2, n_epochs=1, random_state=0).fit(X[["number"]], numbers > 0)
    document, arrays = contents(saved_bytes(model, tmp_path))
    assert "usual_outcomes" not in document["parameters"]
    assert not any(name.startswith(("usual.", "values.")) for name in arrays)
    assert load(tmp_path / "model.nrules").usual_outcomes is True
    without, _ = model_of("two classes", usual_outcomes=False)
    again = loaded(saved_bytes(without, tmp_path), tmp_path)
    assert again.usual_outcomes is False
    assert not usual_of(again)


def test_many_values_take_few_bytes(tmp_path):
    names = np.array([f"customer {i:05}" for i in range(20_000)], object)
    X = pd.DataFrame({"customer": np.repeat(names, 2)})
    y = np.random.RandomState(0).randn(40_000)
    model = NeuralRuleRegressor(1, n_epochs=0, random_state=0, early_stopping=False).fit(X, y)
    (column,) = usual_of(model)
    assert len(column.values.names) == 20_000
    path = model.save(tmp_path / "model.nrules")
    # A name has 14 letters, and an offset, a number of rows and an outcome of 8 bytes each.
    assert path.stat().st_size < 20_000 * (14 + 3 * 8) + 60_000
    assert load(path).encoder_ == model.encoder_


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    return {kind: saved_bytes(model_of(kind)[0], folder) for kind in KINDS}


def places_of(document, kind):
    return [i for i, one in enumerate(document["columns"]) if one[1] == kind]


def say_of_column(kind, record):
    def change(document, arrays):
        document["columns"][places_of(document, kind)[0]] = record

    return change


def one_usual_less(document, arrays):
    last = document["columns"].pop()
    assert last[1] == "usual outcome"
    for name in ("mean", "scale", "lowest", "highest"):
        arrays[f"encoder.{name}"] = arrays[f"encoder.{name}"][:-1]


def swapped(document, arrays):
    """The first two values of the first column change their places."""
    offsets, texts = arrays["values.text_offsets"], arrays["values.texts"].tobytes()
    first, second, third = offsets[:3].tolist()
    swapped = texts[second:third] + texts[first:second] + texts[third:]
    arrays["values.texts"] = np.frombuffer(swapped, np.uint8)
    offsets[1] = third - second


def repeated(document, arrays):
    """The last value of the last column gets the text of the value before."""
    offsets, texts = arrays["values.text_offsets"], arrays["values.texts"].tobytes()
    before, last = offsets[-3:-1].tolist()
    arrays["values.texts"] = np.frombuffer(texts[:last] + texts[before:last], np.uint8)
    offsets[-1] = 2 * last - before


TWO, THREE, NUMBER, NUMBERS = KINDS
CASES = [
    (TWO, put("usual.outcomes", 0, np.nan), "the array 'usual.outcomes' holds NaN or infinity"),
    (
        TWO,
        put("usual.outcomes", 0, 1e300),
        "the array 'usual.outcomes' holds 1e+300, not from ",
    ),
    (TWO, put("usual.outcomes", 0, 3.0), "a usual outcome lies outside of the range of its c"),
    (TWO, put("usual.otherwise", 1, -3.0), "a usual outcome lies outside of the range of its "),
    (TWO, become("usual.outcomes", lambda a: a[1:]), "the array 'usual.outcomes' has shape "),
    (TWO, become("usual.otherwise", lambda a: a[1:]), "the array 'usual.otherwise' has shape "),
    (TWO, drop("usual.outcomes"), "the array 'usual.outcomes' is missing"),
    (TWO, drop("values.rows"), "the array 'values.rows' is missing"),
    (TWO, put("values.rows", 0, -1), "the array 'values.rows' points outside of the model"),
    (TWO, put("values.rows", 0, 2**62), "the array 'values.rows' points outside of the model"),
    (TWO, put("values.missing", 0, -2), "the array 'values.missing' points outside of the mo"),
    (TWO, put("values.missing", 0, 0), "the missing value of a text column is none of its va"),
    (TWO, put("values.missing", 1, 22), "the missing value of a text column is none of its v"),
    (TWO, put("values.texts", 0, 0xFF), "a value of a text column is no text in UTF-8"),
    (TWO, become("values.texts", lambda a: a[1:]), "the array 'values.texts' has shape "),
    (TWO, put("values.text_offsets", 1, 2**62), "the array 'values.text_offsets' does not as"),
    (TWO, put("values.text_offsets", -1, 2**62), "the array 'values.texts' has shape "),
    (TWO, become("values.text_offsets", lambda a: a[:-1]), "it has "),
    (TWO, put("values.column_offsets", 1, 0), "the array 'values.column_offsets' does not as"),
    (TWO, become("values.column_offsets", lambda a: a[[0, 2]]), "it has values of 1 text colu"),
    (TWO, put("values.column_offsets", 2, 2**62), "it has "),
    (TWO, swapped, "the values of a text column are not its categories and others"),
    (TWO, repeated, "the values of a text column are not its categories and others"),
    (
        TWO,
        say_of_column("usual outcome", [0, "usual outcome", None]),
        "the column [0, 'usual o",
    ),
    (
        TWO,
        say_of_column("usual outcome", [0, "usual outcome", True]),
        "the column [0, 'usual o",
    ),
    (TWO, say_of_column("usual outcome", [0, "usual outcome", 1]), "its columns are not those"),
    (TWO, say_of_column("usual outcome", [1, "usual outcome", 0]), "its columns are not those"),
    (TWO, say_of_column("usual outcome", [2, "usual outcome", 0]), "its columns are not those"),
    (TWO, say_of_column("usual outcome", [0, "rare", None]), "its columns are not those of a "),
    (THREE, one_usual_less, "its columns are not those of a table"),
    (NUMBER, put("encoder.mean", 0, 1e30), "the column [1, 'number', None] lies beyond all nu"),
]


@pytest.mark.parametrize(("kind", "change", "message"), CASES)
def test_content_that_no_encoder_has(kind, change, message, files, tmp_path):
    document, arrays = contents(files[kind])
    change(document, arrays)
    found = refusal(sealed(arrays, document), tmp_path)
    assert found.startswith(message)
    assert found.endswith(DAMAGED)


def test_outcomes_of_another_task(files, tmp_path):
    document, arrays = contents(files[TWO])
    other, numbers = contents(files[NUMBERS])
    for name in [name for name in arrays if name.startswith(("encoder.", "values.", "usual."))]:
        arrays[name] = numbers[name]
    document["columns"] = other["columns"]
    message = "it has usual outcomes of 2 classes or targets, not 1"
    assert refusal(sealed(arrays, document), tmp_path).startswith(message)


def test_values_without_a_column(files, tmp_path):
    document, arrays = contents(files[TWO])
    plain = NeuralRuleClassifier(1, n_epochs=0, random_state=0).fit(
        [[0.0], [1.0]] * 9, [0, 1] * 9
    )
    document, own = contents(saved_bytes(plain, tmp_path))
    message = refusal(sealed({**own, "values.rows": arrays["values.rows"]}, document), tmp_path)
    assert message == f"it holds an unknown array, 'values.rows'. {DAMAGED}"


@pytest.mark.parametrize("kind", [TWO, NUMBERS])
def test_changes_with_a_right_digest_are_refused_or_harmless(kind, files, tmp_path):
    document, arrays = contents(files[kind])
    X = cities(30)[0]
    ours = {name: a for name, a in arrays.items() if name.startswith(("values.", "usual."))}

    @MANY
    @given(rng=st.randoms())
    def check(rng):
        told, changed = json.loads(json.dumps(document)), dict(ours)
        mutate({"columns": told["columns"]}, changed, rng)
        others = {name: array for name, array in arrays.items() if name not in ours}
        try:
            model = loaded(sealed({**others, **changed}, told), tmp_path)
        except ModelFileError:
            return
        if model.encoder_.names == list(X):
            model.predict(X)

    check()


def test_the_document_lists_the_categories_only(files):
    document, arrays = contents(files[TWO])
    told = [record[2] for record in document["columns"] if record[1] == Category.stored_as]
    assert len(told) < len(arrays["values.rows"])
