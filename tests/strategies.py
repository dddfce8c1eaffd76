"""Hypothesis strategies: small tables, small trees, random networks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from neuralrules._data._rows import Rows
from neuralrules._network._network import Network, starts
from neuralrules._rules._rules import Rules, decompose
from neuralrules._rules._sources import SourceOptions, boosted_trees, forest_trees, one_tree
from neuralrules._task._task import Task

seeds = st.integers(0, 2**32 - 1)
GROWTHS = {"tree": one_tree, "forest": forest_trees, "boosting": boosted_trees}


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
def small_networks(draw, n_features, n_outputs=1, *, deep=False, spare=2):
    """Networks of at most 8 rules, over some of n_features + spare columns."""
    n_rules = draw(st.integers(1, 8))
    lengths = draw(whole_numbers(n_rules, 7)) + 1
    n_literals = int(lengths.sum())

    def numbers(*shape):
        return draw(real_numbers(shape)).astype(np.float32)

    columns = draw(st.permutations(range(n_features + spare)))[:n_features]
    return Network.dense(
        weights=numbers(n_literals, n_features),
        biases=numbers(n_literals) + np.float32(1),
        offsets=starts(lengths),
        values=numbers(n_rules, n_outputs),
        features=np.array(columns, np.int32),
        intercept=numbers(n_outputs).astype(np.float64),
        mixing=numbers((lengths**2).sum() if deep else 0),
        shifts=numbers(n_literals if deep else 0),
        origins=np.concatenate([np.arange(length) for length in lengths]),
    )


def grow_tree(X, codes, weights, *, max_depth=4, source="tree", n_trees=3):
    """Trees of a classification, the leaves of the first, and the rows they grew on."""
    rows = class_rows(X, codes, weights)
    trees = GROWTHS[source](rows, source_options(max_depth=max_depth, n_trees=n_trees))
    return trees, trees[0].apply(X), rows


def class_rows(X, codes, weights) -> Rows:
    """Rows of a classification."""
    task = Task.of_classes(np.arange(int(codes.max()) + 1), "logistic")
    return Rows(X, codes.astype(np.float32)[:, None], weights, weights, task)


def number_rows(X, y, weights, loss="squared") -> Rows:
    """Rows of a regression of y (n_rows, n_targets), standardised."""
    task = Task.of_numbers(y, weights, loss, flat=False)
    return Rows(X, task.standardised(y), weights, weights, task)


def source_options(**changes) -> SourceOptions:
    defaults = {"max_depth": 4, "min_samples_leaf": 1, "n_trees": 3, "n_jobs": None}
    random_state = np.random.RandomState(0)
    return SourceOptions(**{**defaults, "random_state": random_state, **changes})


def rules_of(X, codes, weights, **options) -> Rules:
    trees, _, _ = grow_tree(X, codes, weights, **options)
    return decompose(trees, n_classes=int(codes.max()) + 1)


def random_network(
    seed, n_rules=12, n_features=5, n_outputs=1, *, longest=7, deep=False
) -> Network:
    """A network with random parameters whose rules own all columns."""
    rng = np.random.RandomState(seed)
    lengths = rng.randint(1, longest + 1, n_rules)
    n_literals = lengths.sum()
    return Network.dense(
        weights=rng.randn(n_literals, n_features).astype(np.float32),
        biases=(rng.randn(n_literals) + 1).astype(np.float32),
        offsets=starts(lengths),
        values=rng.randn(n_rules, n_outputs).astype(np.float32),
        features=rng.permutation(n_features + 2)[:n_features].astype(np.int32),
        intercept=rng.randn(n_outputs),
        mixing=rng.randn((lengths**2).sum() if deep else 0).astype(np.float32),
        shifts=rng.randn(n_literals if deep else 0).astype(np.float32),
        origins=np.concatenate([np.arange(length) for length in lengths]),
    )


class Numbers:
    """Numbers that look random, from -1.7 to 1.7, without a seed that cannot shrink.

    Multiples of the square roots of primes, less their whole parts: spread evenly, and
    no two of them alike.
    """

    def __init__(self, first: int) -> None:
        self.next = 1 + first

    def draw(self, *shape: int) -> np.ndarray:
        n = int(np.prod(shape))
        places = np.arange(self.next, self.next + n)
        self.next += n
        spread = (places * np.sqrt(2) + places**2 * np.sqrt(3)) % 1
        return (np.sqrt(12) * (spread - 0.5)).reshape(shape).astype(np.float32)


@st.composite
def networks(draw, deep=None, own_columns=None):
    """Networks of all shapes, shallow or deep, whose rules own all columns or some each.

    Drawn are the shapes, so that a failure shrinks to few short rules on few columns.
    """
    n_features, n_outputs = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    deep = draw(st.booleans()) if deep is None else deep
    own_columns = draw(st.booleans()) if own_columns is None else own_columns
    every = st.just(set(range(1, n_features + 1)))
    some = st.sets(st.integers(0, n_features + 1), min_size=1, max_size=n_features)
    rules = draw(
        st.lists(
            st.tuples(st.integers(1, 7), some if own_columns else every),
            min_size=1,
            max_size=16,
        )
    )
    numbers = Numbers(draw(st.integers(0, 1000)))
    lengths = np.array([length for length, _ in rules])
    columns = [sorted(own) for _, own in rules]
    n_literals = int(lengths.sum())
    return Network(
        own_weights=numbers.draw(int(lengths @ [len(own) for own in columns])),
        columns=np.concatenate(columns).astype(np.int32),
        column_offsets=starts([len(own) for own in columns]),
        biases=1 + numbers.draw(n_literals),
        offsets=starts(lengths),
        values=numbers.draw(len(rules), n_outputs),
        intercept=numbers.draw(n_outputs).astype(np.float64),
        mixing=numbers.draw(int((lengths**2).sum()) if deep else 0),
        shifts=numbers.draw(n_literals if deep else 0),
        origins=np.concatenate([np.arange(length) for length in lengths]),
    )
