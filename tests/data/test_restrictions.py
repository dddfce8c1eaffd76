"""From what a user forbids by columns of the table to encoded columns."""

import warnings

import numpy as np
import pandas as pd
import pytest

from neuralrules._data._encoder import Encoder
from neuralrules._data._restrictions import NEITHER, restrictions_of, warn_of_unnamed_class
from neuralrules._task._task import Task

NUMBERS = Task.of_numbers(np.arange(4.0)[:, None], np.ones(4, "f4"), "squared")
FRAME = pd.DataFrame(
    {
        "age": [1.0, 2.0, np.nan, 4.0],
        "city": ["Oslo", "Rome", "Oslo", "Lima"],
        "since": pd.date_range("2020-01-01", periods=4),
        "debt": [3.0, 1.0, 2.0, 0.0],
    }
)


def encoder_of(table):
    return Encoder.fit(table, np.ones(len(table), "f4"), named=isinstance(table, pd.DataFrame))


def read(table=FRAME, task=NUMBERS, **given):
    nothing = {"monotone": None, "interactions": None, "exclude": None}
    return restrictions_of(encoder_of(table), task, **{**nothing, **given})


def named(columns):
    """Encoded columns of the frame by the names of their sources."""
    encoder = encoder_of(FRAME)
    return [
        (encoder.names[encoder.columns[i].source], encoder.columns[i].stored_as)
        for i in columns
    ]


def test_nothing_forbidden_is_none():
    assert read() is None


def test_only_the_number_itself_has_a_direction():
    directions = read(monotone={"age": -1, "since": 1}).directions
    assert directions.dtype == np.int8
    assert named(np.flatnonzero(directions == -1)) == [("age", "number")]
    assert named(np.flatnonzero(directions == 1)) == [("since", "date")]


def test_a_column_stands_for_all_that_it_is_encoded_as():
    out = read(exclude=["age", "city"]).excluded
    kinds = [("age", "number"), ("age", "missing"), *[("city", "category")] * 3]
    assert named(np.flatnonzero(out)) == kinds


def test_columns_in_no_group_stay_alone_and_excluded_ones_are_in_none():
    groups = read(interactions=[["debt", "age"], ["age", "since"]], exclude=["debt"]).groups
    age = [("age", "number"), ("age", "missing")]
    assert [named(group) for group in groups] == [
        age,
        [("age", "number"), ("since", "date"), ("age", "missing")],
        [("city", "category")] * 3,
    ]


def test_columns_of_arrays_have_positions_and_names():
    given = {"monotone": {0: 1, "x2": -1}, "exclude": [1], "interactions": [[0, "x2"]]}
    found = read(np.arange(12.0).reshape(4, 3) ** 2, **given)
    assert found.directions.tolist() == [1, 0, -1]
    assert found.excluded.tolist() == [False, True, False]
    assert [group.tolist() for group in found.groups] == [[0, 2]]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"monotone": {"city": 1}},
            ValueError,
            "monotone={'city': 1} names a column of categories, which have no order to rise "
            "along. Give it as numbers, or leave it out.",
        ),
        (
            {"monotone": {"age": 2}},
            ValueError,
            "monotone['age'] must be 1, for outputs that never fall with the column, or -1, "
            "for those that never rise, got 2. Leave the column out if they may do both.",
        ),
        (
            {"monotone": {"agee": 1}},
            ValueError,
            "monotone names the column 'agee', which the model was not fitted on. Its columns "
            "are ['age', 'city', 'since', 'debt'].",
        ),
        (
            {"interactions": ["age", "city"]},
            TypeError,
            "interactions must hold lists of columns, but holds 'age'. For example "
            "interactions=[['age', 'debt']].",
        ),
        (
            {"exclude": "age"},
            TypeError,
            "exclude must be a list of columns, got 'age'. For example exclude=['age'].",
        ),
        (
            {"exclude": ["age", "city", "since", "debt"]},
            ValueError,
            "exclude=['age', 'city', 'since', 'debt'] names all columns, so that there is "
            "nothing to learn from. Leave out those that rules may use.",
        ),
        (
            {"monotone": {"age": 1}, "task": Task.of_classes(np.arange(3), "logistic")},
            ValueError,
            "monotone={'age': 1} needs one output that rises or falls, but y has 3 classes: "
            "where one becomes more probable, others become less so. Say which one, for "
            "example monotone={'age': {2: 1}}; or leave monotone out.",
        ),
        (
            {"monotone": {"age": {5: 1}}, "task": Task.of_classes(np.arange(3), "logistic")},
            ValueError,
            "monotone['age'] names 5, which is no class. Those are [0, 1, 2].",
        ),
        (
            {"monotone": {"age": {0: 3}}},
            ValueError,
            "monotone['age'][0] must be 1, for outputs that never fall with the column, or -1, "
            "for those that never rise, got 3. Leave the column out if they may do both.",
        ),
    ],
)
def test_what_cannot_be_forbidden(given, error, message):
    with pytest.raises(error) as raised:
        read(**given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"b": 1}, [-1, 1, -1]),
        ({"b": -1}, [1, -1, 1]),
        ({"a": 1, "c": -1}, [1, NEITHER, -1]),
        ({"a": 1, "b": 1}, [NEITHER, NEITHER, -1]),
    ],
)
def test_directions_of_single_classes(given, expected):
    """One class rises where all others fall; one between two others stays."""
    classes = Task.of_classes(np.array(["a", "b", "c"]), "logistic")
    found = read(task=classes, monotone={"age": given})
    assert found.relative
    age = [name == ("age", "number") for name in named(range(len(found.directions)))]
    assert found.directions[age].tolist() == [expected]
    assert not found.directions[~np.array(age)].any()
    hinge = read(
        task=Task.of_classes(np.array(["a", "b", "c"]), "hinge"), monotone={"age": given}
    )
    assert not hinge.relative
    asked = [given.get(label, 0) for label in "abc"]
    assert hinge.directions[age].tolist() == [asked]


def test_directions_of_two_classes_and_of_targets():
    two = Task.of_classes(np.array(["bad", "good"]), "logistic")
    alike = read(monotone={"age": -1, "debt": 1}, task=two)
    by_name = read(monotone={"age": {"bad": 1}, "debt": {"good": 1}}, task=two)
    assert alike.directions.tolist() == by_name.directions.tolist()
    targets = Task.of_numbers(np.arange(8.0).reshape(4, 2), np.ones(4, "f4"), "squared")
    found = read(monotone={"age": {1: -1}, "debt": 1}, task=targets).directions
    assert found[found.any(axis=1)].tolist() == [[0, -1], [1, 1]]


@pytest.mark.parametrize(
    ("labels", "monotone", "warns"),
    [
        (["bad", "good"], {"a": 1}, True),
        (["bad", "good"], {"a": {"bad": -1}}, False),
        (["bad", "good"], None, False),
        ([0, 1], {"a": 1}, False),
        ([False, True], {"a": 1}, False),
        (["x", "y", "z"], {"a": {"x": 1}}, False),
    ],
)
def test_a_direction_of_a_class_in_words_should_name_it(labels, monotone, warns):
    task = Task.of_classes(np.array(labels), "logistic")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_unnamed_class(task, monotone)
    assert len(caught) == warns
    if warns:
        assert str(caught[0].message) == (
            "monotone={'a': 1} is about 'good', the second class. To be sure, name the class: "
            "{'a': {'good': 1}}."
        )
