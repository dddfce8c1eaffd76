"""Checks of parameters: whole numbers and positions."""

import re

import numpy as np
import pytest

from neuralrules._io._checks import check_position, check_whole


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2)])
def test_whole_numbers_pass_as_ints(value):
    assert type(check_whole("n", value, 2)) is int
    assert check_whole("n", value, 0, 5) == check_position("n", value, 3, "rules") == 2


@pytest.mark.parametrize("value", [True, 2.0, "2", None, 1])
def test_other_values_are_refused(value):
    message = f"n={value!r} must be a whole number of at least 2."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_whole("n", value, 2)
    message = f"n={value!r} must be a whole number of at least 2, for example n=7."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_whole("n", value, 2, 7)
    message = f"n={value!r} is not one of the 1 rules. Give a whole number from 0 to 0."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_position("n", value, 1, "rules")
