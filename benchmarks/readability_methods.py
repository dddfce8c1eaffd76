"""Models that are meant to be read: ours under several contracts, and peers.

A model is fitted to the training rows of a split and turned into a `Read`: its loss, its text,
and how much of the model takes part in the score of one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.tree import export_text

from benchmarks import frontier_methods as peers
from benchmarks.frontier_protocol import Split, log_loss, shares

PAGE = {"max_rules": 16, "max_depth": 2, "max_terms": 2}
SIZES = (8, 16, 32, 64, 128)  # numbers of rules of contracts with the other limits of PAGE
N_MONOTONE = 3


@dataclass(frozen=True)
class Read:
    """A fitted model from the view of its readers.

    Attributes
    ----------
    loss : float
        Log loss or mean squared error on the test rows.
    rules : float
        Number of rules, leaves, coefficients or terms.
    fire : float
        Mean number of them that take part in the score of one test row.
    text, short_text : str
        The whole text to read. For our models, `text` has sentences and `short_text` has
        conditions.
    """

    loss: float
    rules: float
    fire: float
    text: str
    short_text: str = ""

    def record(self) -> dict[str, Any]:
        words = len(self.text.split())
        return {
            "loss": self.loss,
            "rules": self.rules,
            "fire": self.fire,
            "words": words,
            "short_words": len(self.short_text.split()) or words,
        }


@dataclass(frozen=True)
class Readable:
    """A way to make a readable model.

    Attributes
    ----------
    name : str
    read : callable (Split) -> Read
        Fits a model to the training rows and scores the test rows.
    packages : tuple of str
        Packages whose versions belong to the records.
    """

    name: str
    read: Callable[[Split], Read]
    packages: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return not self.packages and self.name not in SCIKIT_LEARNS


def outputs_loss(rows: Split, outputs: np.ndarray) -> float:
    """The test loss of probabilities of classes, or of predicted numbers."""
    if rows.n_classes:
        return log_loss(rows.y_test, shares(outputs))
    return float(np.mean((outputs - rows.y_test) ** 2))


def outputs(model: Any, rows: Split) -> np.ndarray:
    return model.predict_proba(rows.X_test) if rows.n_classes else model.predict(rows.X_test)


# Ours


def ours(rows: Split, **contract: Any) -> Any:
    """The model of our search within a contract. It is a single network."""
    import neuralrules

    kind = "Classifier" if rows.n_classes else "Regressor"
    make = getattr(neuralrules, f"NeuralRule{kind}CV")
    return make(refit="single", n_jobs=1, random_state=0, **contract).fit(rows.X, rows.y)


def read_ours(model: Any, rows: Split, loss: float | None = None) -> Read:
    return Read(
        outputs_loss(rows, outputs(model, rows)) if loss is None else loss,
        model.network_.n_rules,
        len(model.explain(rows.X_test).activations) / len(rows.y_test),
        model.rules_text(style="sentences"),
        model.rules_text(),
    )


def contract(rows: Split, **limits: Any) -> Read:
    return read_ours(ours(rows, **limits), rows)


def monotone(rows: Split) -> Read:
    """The contract PAGE, with directions for the columns that follow the target closest."""
    by_column = [spearmanr(column, rows.y).statistic for column in rows.X.T]
    strength = np.nan_to_num(by_column)
    chosen = np.argsort(-np.abs(strength), kind="stable")[:N_MONOTONE]
    directions = {int(column): int(np.sign(strength[column]) or 1) for column in chosen}
    model = ours(rows, monotone=directions, **PAGE)
    if model.check_monotone():
        raise AssertionError("a promise was broken")
    return read_ours(model, rows)


def whole_points(rows: Split, **limits: Any) -> Read:
    """The model of the contract PAGE as a score card: whole points for each rule."""
    model = ours(rows, **PAGE)
    card = model.scorecard(**limits)
    points = card.points(rows.X_test)
    if rows.n_classes:
        adverse = card.probability(points)
        found = np.column_stack([1 - adverse, adverse])
        found = found if card.adverse == model.classes_[1] else found[:, ::-1]
    else:
        found = card.prediction(points)
    return read_ours(model, rows, outputs_loss(rows, found))


def rounded(rows: Split, **how: Any) -> Read:
    """The model of the contract PAGE, with its numbers rounded as its text shows them."""
    model = ours(rows, **PAGE)
    return read_ours(model.round_numbers(rows.X, rows.y, **how).model, rows)


# Peers


def tree(rows: Split) -> Read:
    model = peers.decision_tree(rows.n_classes, n_leaves=16).fit(rows.X, rows.y)
    loss = outputs_loss(rows, outputs(model, rows))
    return Read(loss, int(model.get_n_leaves()), 1, export_text(model))


def linear(rows: Split) -> Read:
    model = peers.linear(rows.n_classes).fit(rows.X, rows.y)
    coefficients = np.ravel(model[-1].coef_)
    lines = [f"x{column} {value:.3g}" for column, value in enumerate(coefficients)]
    loss = outputs_loss(rows, outputs(model, rows))
    return Read(loss, len(lines), len(lines), "\n".join(lines))


def figs(rows: Split) -> Read:
    model = peers.figs(rows.n_classes, 16).fit(rows.X, rows.y)
    found = peers.figs_probabilities(model, rows.X_test) if rows.n_classes else None
    loss = best_loss(rows, found or [model.predict(rows.X_test)])
    n_leaves = sum(len(peers.counting.linked_depths(one)) for one in model.trees_)
    return Read(loss, n_leaves, len(model.trees_), str(model))


def rulefit(rows: Split) -> Read:
    model = peers.rulefit(rows.n_classes, 16).fit(rows.X, rows.y)
    found = peers.rulefit_probabilities(model, rows.X_test) if rows.n_classes else None
    loss = best_loss(rows, found or [model.predict(rows.X_test)])
    linear = int(np.count_nonzero(model.coef[: model.n_features_]))
    fire = model.transform(
        rows.X_test, [str(rule) for rule in model.rules_without_feature_names_]
    )
    table = model._get_rules(exclude_zero_coef=True)[["rule", "coef"]]
    return Read(
        loss,
        len(model.rules_) + linear,
        float(np.asarray(fire).sum(axis=1).mean()) + linear,
        table.round(3).to_string(index=False),
    )


def best_loss(rows: Split, found: list[np.ndarray]) -> float:
    """The lowest loss, if a library has several ways to compute probabilities."""
    return min(outputs_loss(rows, one) for one in found)


def ebm(rows: Split) -> Read:
    """EBM. It is read from graphs, a line or a map per term, so its scores count as words."""
    model = peers.ebm(rows.n_classes).fit(rows.X, rows.y)
    scores = [f"{score:.3g}" for term in model.term_scores_ for score in np.ravel(term)]
    n_terms = len(model.term_scores_)
    return Read(outputs_loss(rows, outputs(model, rows)), n_terms, n_terms, " ".join(scores))


SCIKIT_LEARNS = ("tree of 16 leaves", "linear")
OURS = [
    Readable("free", contract),
    *(Readable(f"{n} rules", partial(contract, max_rules=n)) for n in (8, 16, 32)),
    *(Readable(f"{n} term{'s' * (n > 1)}", partial(contract, max_terms=n)) for n in (1, 2, 3)),
    *(Readable(f"page of {n}", partial(contract, **{**PAGE, "max_rules": n})) for n in SIZES),
    Readable("page, own columns", partial(contract, **{**PAGE, "max_terms": 1})),
    Readable("page, whole points", whole_points),
    Readable("page, 5 levels", partial(whole_points, levels=5)),
    Readable("page, 3 digits", partial(rounded, precision=3)),
    Readable("page, 2 digits", partial(rounded, precision=2)),
    Readable("page, friendly", partial(rounded, precision="friendly")),
    Readable("page, monotone", monotone),
]
PEERS = [
    Readable("tree of 16 leaves", tree),
    Readable("linear", linear),
    Readable("FIGS of 16", figs, ("imodels",)),
    Readable("RuleFit of 16", rulefit, ("imodels",)),
    Readable("EBM", ebm, ("interpret-core",)),
]
METHODS = {method.name: method for method in (*OURS, *PEERS)}
