"""The rules of experts, beside those that grow: known by their text, valued by their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._io._warn import warn
from neuralrules._rules._expert_text import Literal, read_rule
from neuralrules._rules._rules import LITERALS_FROZEN, Rules, margin_scores, unmeasured
from neuralrules._rules._sources import target_means


def expert_rules(
    texts: Sequence[str], encoder: Encoder, rows: Rows, *, frozen: bool = False
) -> Rules:
    """Rules that people wrote; each starts with the value that a leaf of its rows would have.

    Parameters
    ----------
    texts : sequence of str
        See `_expert_text`.
    encoder : Encoder
    rows : Rows
        Those without training weight take no part.
    frozen : bool, default=False
        Whether training must keep their literals. Their values are trained all the same:
        an expert knows when a rule speaks, the rows how much it should count.
    """
    if isinstance(texts, str):
        raise TypeError(f"expert_rules must be a list of rules, got the text {texts!r}.")
    paths = [
        read_rule(text, encoder, f"expert_rules[{place}]") for place, text in enumerate(texts)
    ]
    rules = measured(paths, rows)
    for place, text in enumerate(texts):
        if rules.n[place] > 0:
            continue
        warn(
            f"expert_rules[{place}], {text!r}, holds for none of the training rows: its value "
            "stays 0. Check its numbers and categories, or leave it out."
        )
    if frozen:
        rules = rules.freezing(np.arange(rules.n_rules), LITERALS_FROZEN)
    return rules


def measured(paths: Sequence[Sequence[Literal]], rows: Rows) -> Rules:
    """Rules of such literals, with the rows that each of them covers."""
    task, weights = rows.task, rows.training_weights
    rules = unmeasured(paths, task)
    n, totals = np.zeros(rules.n_rules), np.zeros_like(rules.totals)
    for rule in range(rules.n_rules):
        inside = rules.take(np.array([rule])).covers(rows.X)[:, 0].astype(np.int64)
        n[rule] = np.bincount(inside, weights, minlength=2)[1]
        totals[rule] = rows.totals(inside, weights, 2)[1]
    covering = n > 0
    values, scores = np.zeros_like(rules.values), np.zeros(rules.n_rules)
    values[covering] = task.leaf_values(n[covering], totals[covering])
    scores[covering] = margin_scores(
        n[covering], totals[covering], classes=task.are_classes, mean=target_means(rows)
    )
    n_training = float(weights.sum(dtype=np.float64))
    return replace(
        rules, values=values, n=n, totals=totals, scores=scores, n_training=n_training
    )
