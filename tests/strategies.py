"""Hypothesis strategies: small tables, small trees, random networks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules, decompose
from neuralrules._rules._trees import grow
from neuralrules._task._targets import Targets

seeds = st.integers(0, 2**32 - 1)


@st.composite
def tables(draw, n_classes=2, max_rows=60, max_columns=4):
    """X (float32), class codes and weights; few distinct values, so that ties abound."""
    rng = np.random.RandomState(draw(seeds))
    n_rows = draw(st.integers(n_classes * 2, max_rows))
    n_columns = draw(st.integers(1, max_columns))
    n_values = draw(st.sampled_from([2, 5, 50]))
    X = rng.randint(0, n_values, (n_rows, n_columns)) * rng.uniform(0.1, 3)
    codes = np.arange(n_rows) % n_classes
    rng.shuffle(codes)
    weighted = draw(st.booleans())
    weights = rng.uniform(0.1, 3, n_rows) if weighted else np.ones(n_rows)
    return X.astype(np.float32), codes, weights.astype(np.float32)


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
