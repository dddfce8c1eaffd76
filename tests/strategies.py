"""Hypothesis strategies: small tables, small trees, random networks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules, decompose
from neuralrules._rules._trees import grow
from neuralrules._task._targets import Targets

seeds = st.integers(0, 2**32 - 1)


def bytes_of(n_bytes: int):
    """So many bytes, drawn at once, which is fast; smaller examples have more zeros."""
    return st.binary(min_size=n_bytes, max_size=n_bytes)


def whole_numbers(shape, n_values: int):
    """Arrays of 0, ..., n_values - 1 (at most 256); ties abound where these are few."""
    return bytes_of(int(np.prod(shape))).map(
        lambda drawn: np.frombuffer(drawn, np.uint8).reshape(shape).astype(int) % n_values
    )


def real_numbers(shape, low: float = -4.0, high: float = 4.0):
    """Arrays of 65,536 different numbers in a range; smaller examples are in its middle."""
    scale = (high - low) / 2**16
    return bytes_of(2 * int(np.prod(shape))).map(
        lambda drawn: np.frombuffer(drawn, "<i2").reshape(shape) * scale + (low + high) / 2
    )


@st.composite
def tables(draw, n_classes=2, max_rows=60, max_columns=4):
    """X (float32), class codes and weights; few distinct values, so that ties abound."""
    n_rows = draw(st.integers(n_classes * 2, max_rows))
    n_columns = draw(st.integers(1, max_columns))
    n_values = draw(st.sampled_from([2, 5, 50]))
    X = draw(whole_numbers((n_rows, n_columns), n_values)) * draw(st.floats(0.1, 3))
    codes = draw(whole_numbers(n_rows, n_classes))
    codes[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes  # each class twice at least
    weighted = draw(st.booleans())
    weights = draw(real_numbers(n_rows, 0.1, 3)) if weighted else np.ones(n_rows)
    return X.astype(np.float32), codes, weights.astype(np.float32)


@st.composite
def small_networks(draw, n_features, n_outputs=1, *, deep=False):
    """Networks of at most 8 rules, over some of n_features + 2 columns."""
    n_rules = draw(st.integers(1, 8))
    lengths = draw(whole_numbers(n_rules, 7)) + 1
    n_literals = int(lengths.sum())

    def numbers(*shape):
        return draw(real_numbers(shape)).astype(np.float32)

    return Network(
        weights=numbers(n_literals, n_features),
        biases=numbers(n_literals) + np.float32(1),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        values=numbers(n_rules, n_outputs),
        features=np.array(draw(st.permutations(range(n_features + 2))), np.int32)[:n_features],
        intercept=numbers(n_outputs),
        mixing=numbers((lengths**2).sum() if deep else 0),
        shifts=numbers(n_literals if deep else 0),
        origins=np.concatenate([np.arange(length) for length in lengths]),
    )


def grow_tree(X, codes, weights, *, max_depth=4, source="tree", n_trees=3):
    """Trees of a classification, and the targets they were grown on."""
    targets = Targets.from_classes(codes, int(codes.max()) + 1)
    trees, leaves = grow(
        X,
        targets,
        weights,
        source=source,
        n_trees=n_trees,
        max_depth=max_depth,
        min_samples_leaf=1,
        n_jobs=None,
        random_state=np.random.RandomState(0),
    )
    return trees, leaves, targets


def rules_of(X, codes, weights, **options) -> Rules:
    trees, _, _ = grow_tree(X, codes, weights, **options)
    return decompose(trees, n_classes=int(codes.max()) + 1)


def random_network(seed, n_rules=12, n_features=5, n_outputs=1, *, deep=False) -> Network:
    """A network with random parameters."""
    rng = np.random.RandomState(seed)
    lengths = rng.randint(1, 8, n_rules)
    n_literals = lengths.sum()
    return Network(
        weights=rng.randn(n_literals, n_features).astype(np.float32),
        biases=(rng.randn(n_literals) + 1).astype(np.float32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        values=rng.randn(n_rules, n_outputs).astype(np.float32),
        features=rng.permutation(n_features + 2)[:n_features].astype(np.int32),
        intercept=rng.randn(n_outputs).astype(np.float32),
        mixing=rng.randn((lengths**2).sum() if deep else 0).astype(np.float32),
        shifts=rng.randn(n_literals if deep else 0).astype(np.float32),
        origins=np.concatenate([np.arange(length) for length in lengths]),
    )


def networks(deep=None):
    """Networks of all shapes, shallow or deep or both."""
    return st.builds(
        random_network,
        seeds,
        st.integers(1, 24),
        st.integers(1, 7),
        st.integers(1, 3),
        deep=st.booleans() if deep is None else st.just(deep),
    )
