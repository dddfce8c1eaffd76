"""Each operation of an expression, by hand."""

import math

import numpy as np
import pytest

from neuralrules._data._scaling import Knots
from neuralrules._expression import _nodes as ops
from neuralrules._expression._nodes import evaluate

CELLS = {0: 3.0, 1: "Rome", 2: None, 3: math.nan}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (ops.Cell(0), 3),
        (ops.Cell(2), math.nan),
        (ops.Named("x1"), 0.5),
        (ops.Sum(((2.0, ops.Cell(0)), (-1.0, ops.Named("x1"))), 10.0), 15.5),
        (ops.Sum((), 1.0), 1),
        (ops.Filled(ops.Cell(0), 7.0), 3),
        (ops.Filled(ops.Cell(2), 7.0), 7),
        (ops.Filled(ops.Standardised(ops.Cell(3), 1.0), 7.0), 7),
        (ops.Standardised(ops.Cell(0), 1.0, 4.0), 0.5),
        (ops.Bounded(ops.Cell(0), 4.0, 5.0), 4),
        (ops.Bounded(ops.Cell(0), 1.0, 2.0), 2),
        (ops.Bounded(ops.Cell(2), 1.0, 2.0), math.nan),
        (ops.Smallest((ops.Cell(0), ops.Named("x1"))), 0.5),
        (ops.Positive(ops.Cell(0)), 3),
        (ops.Positive(ops.Sum(((-1.0, ops.Cell(0)),))), 0),
        (ops.Call("exp", ops.Sum((), 1.0)), math.e),
        (ops.Indicator(ops.IsMissing(ops.Cell(2))), 1),
        (ops.Indicator(ops.IsMissing(ops.Cell(3))), 1),
        (ops.Indicator(ops.IsMissing(ops.Cell(1))), 0),
        (ops.Indicator(ops.IsAnyOf(ops.Cell(1), ("Oslo", "Rome"))), 1),
        (ops.Indicator(ops.IsAnyOf(ops.Cell(1), ("Oslo",), missing=True)), 0),
        (ops.Indicator(ops.IsAnyOf(ops.Cell(2), ("Oslo",), missing=True)), 1),
        (ops.Indicator(ops.Not(ops.IsAnyOf(ops.Cell(2), ("Oslo",)))), 1),
    ],
    ids=str,
)
def test_an_operation(node, expected):
    assert evaluate(node, CELLS, {"x1": 0.5}) == pytest.approx(expected, nan_ok=True)


def test_every_node_of_an_expression_is_found():
    total = ops.Sum(((2.0, ops.Cell(0)), (1.0, ops.Positive(ops.Named("x")))), 1.0)
    inside = ops.Indicator(ops.Not(ops.IsAnyOf(ops.Cell(1), ("a",))))
    found = list(ops.operations(ops.Smallest((total, inside))))
    names = "Smallest Sum Cell Positive Named Indicator Not IsAnyOf Cell"
    assert [type(node).__name__ for node in found] == names.split()


def test_a_line_is_that_of_the_encoder():
    knots = Knots((-1.0, 0.5, 0.6, 8.0), (-2.0, -1.5, 0.25, 3.0))
    for value in (*np.linspace(-3, 10, 131).tolist(), *knots.x, math.nan):
        found = evaluate(ops.Line(ops.Cell(0), knots.x, knots.z), {0: value}, {})
        np.testing.assert_equal(found, float(knots.scaled(np.array(value))))


def test_a_text_is_no_number():
    with pytest.raises(TypeError, match=r"^Column 1 holds the text 'Rome', not a number\.$"):
        evaluate(ops.Cell(1), CELLS, {})
