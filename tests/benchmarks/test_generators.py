"""The simulated tables."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.generators import diagonal, hypercube, ringnorm, rotated_xor, twonorm


@pytest.mark.parametrize("generate", [rotated_xor, diagonal, twonorm, ringnorm, hypercube])
def test_the_seed_decides_the_table(generate):
    first, again, other = generate(200, 1), generate(200, 1), generate(200, 2)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], other[0])
    assert len(first[0]) == len(first[1]) == 200


def test_rotated_xor_is_positive_left_and_right():
    X, y = rotated_xor(2000, 0)
    np.testing.assert_array_equal(y, np.abs(X[:, 0]) > np.abs(X[:, 1]))
    assert np.abs(X).sum(axis=1).max() <= np.sqrt(2)  # a square that stands on a corner
    assert abs(y.mean() - 0.5) < 0.05


def test_the_diagonal_separates():
    X, y = diagonal(500, 0)
    np.testing.assert_array_equal(y, X[:, 1] > X[:, 0])


def test_twonorm_has_the_error_of_its_best_rule():
    X, y = twonorm(100_000, 0)
    best = X.sum(axis=1) < 0
    assert abs(np.mean(best != y) - 0.02275) < 0.0015
    np.testing.assert_allclose(X[y == 0].mean(axis=0), 2 / np.sqrt(20), atol=0.02)
    np.testing.assert_allclose(np.cov(X[y == 0].T), np.eye(20), atol=0.03)


def test_ringnorm_is_one_normal_inside_another():
    X, y = ringnorm(100_000, 0)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(np.cov(X[y == 0].T), 4 * np.eye(20), atol=0.12)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 2 / np.sqrt(20), atol=0.02)
    np.testing.assert_allclose(np.cov(X[y == 1].T), np.eye(20), atol=0.03)


def test_the_hypercube_has_five_dimensions_and_knows_its_noise():
    X, y, relevant = hypercube(3000, 0)
    assert X.shape == (3000, 500)
    assert relevant.sum() == 20
    assert not relevant[:20].all()  # the order of columns is random
    assert np.linalg.matrix_rank(X[:, relevant]) == 5
    assert np.linalg.matrix_rank(X[:, ~relevant]) == 480
    assert abs(y.mean() - 0.5) < 0.03
    # Noise tells nothing about the classes.
    correlations = np.abs([np.corrcoef(column, y)[0, 1] for column in X[:, ~relevant].T])
    assert correlations.max() < 0.1
