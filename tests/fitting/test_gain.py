"""How much chance there is in the comparison of a model with a constant."""

import numpy as np
import pytest

from neuralrules._fitting._gain import ConstantComparison, mean_of, standard_error


def test_the_standard_error_is_that_of_a_weighted_mean():
    rng = np.random.RandomState(0)
    values, weights = rng.randn(50), rng.rand(50)
    usual = values.std() / np.sqrt(50)
    assert standard_error(values, np.ones(50)) == pytest.approx(usual)
    shares = weights / weights.sum()
    expected = np.sqrt((shares**2 * (values - shares @ values) ** 2).sum())
    for unit in (1.0, 1e-3, 1e3):  # weights in another unit say the same
        assert standard_error(values, unit * weights) == pytest.approx(expected)


def test_the_error_of_a_mean_of_comparisons_falls_with_their_number():
    folds = [ConstantComparison(2.0, 3.0, 0.3), ConstantComparison(4.0, 3.0, 0.4)]
    assert mean_of(folds) == pytest.approx((3.0, 3.0, 0.25))
