"""Edits of a model by hand: rules are dropped, frozen, rewritten, or get other values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from neuralrules._fitted._activity import Activity
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network
from neuralrules._reading._from_text import unknown_activity, unknown_performance
from neuralrules._rules._expert import read_rule
from neuralrules._rules._rules import ALL_FROZEN, FREE, Rules, unmeasured
from neuralrules._training._training import State


class Edits(NamedTuple):
    """What to change in which rules, named by their numbers; see `Changes.edit`."""

    drop: list[int]
    freeze: list[int]
    unfreeze: list[int]
    replace: dict[int, str]
    values: dict[int, Any]


def read_edits(
    n_rules: int, drop: Any, freeze: Any, unfreeze: Any, replaced: Any, values: Any
) -> Edits:
    """Check the edits that a user asks for in a model with `n_rules` rules."""
    lists = {"drop": drop, "freeze": freeze, "unfreeze": unfreeze}
    for option, given in lists.items():
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"{option} must be a list of rules, got {given!r}. For example {option}=[0]."
            )
    tables = {"replace": replaced or {}, "values": values or {}}
    for option, given in tables.items():
        if not isinstance(given, Mapping):
            raise TypeError(f"{option} must be a dict by the numbers of rules, got {given!r}.")
    numbers = {
        option: [rule_number(option, one, n_rules) for one in given]
        for option, given in lists.items()
    }
    changes = {
        option: {rule_number(option, one, n_rules): given[one] for one in given}
        for option, given in tables.items()
    }
    edits = Edits(
        drop=numbers["drop"],
        freeze=numbers["freeze"],
        unfreeze=numbers["unfreeze"],
        replace=changes["replace"],
        values=changes["values"],
    )
    for option in ("freeze", "unfreeze", "replace", "values"):
        both = sorted(set(edits.drop) & set(getattr(edits, option)))
        if both:
            raise ValueError(
                f"drop and {option} both name rule {both[0]}. Leave it out of one."
            )
    both = sorted(set(edits.freeze) & set(edits.unfreeze))
    if both:
        raise ValueError(f"freeze and unfreeze both name rule {both[0]}. Leave it out of one.")
    if len(set(edits.drop)) == n_rules:
        raise ValueError(f"drop names all {n_rules} rules of the model. Keep at least one.")
    return edits


def edits_text(edits: Edits) -> str:
    """A line that says what the edits change."""
    deeds = {
        "drop": "dropped",
        "replace": "rewritten",
        "values": "given another value",
        "freeze": "frozen",
        "unfreeze": "freed",
    }
    parts: list[str] = []
    for option, done in deeds.items():
        rules = sorted(set(getattr(edits, option)))
        if rules:
            parts.append(named_rules(rules, done))
    return "; ".join(parts) or "nothing changed"


def named_rules(rules: list[int], done: str) -> str:
    """A text that says what was done to some rules, named by their numbers."""
    return f"rule{'s' * (len(rules) > 1)} {', '.join(map(str, rules))} {done}"


def rule_number(option: str, given: Any, n_rules: int) -> int:
    is_whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not is_whole or not 0 <= given < n_rules:
        raise ValueError(
            f"{option} names the rule {given!r}, but the model has the rules 0 to "
            f"{n_rules - 1}. rules_table() shows their numbers."
        )
    return int(given)


def edited(fitted: Fitted, edits: Edits, start: str) -> Fitted:
    """A model with some rules changed. Everything that the edits do not name keeps its bits.

    The performance of the new model is unknown until the model is measured on rows again. The
    activity of its rules is known, unless some rules were rewritten.

    Parameters
    ----------
    fitted : Fitted
    edits : Edits
    start : {"hinge", "leaf"}
        How a rewritten rule becomes a neural rule.
    """
    rules, network = fitted.rules, fitted.state.network
    if edits.replace:
        rules, network = rewritten(fitted, edits.replace, start)
    values = network.values.copy()
    for rule, given in edits.values.items():
        values[rule] = network_value(fitted, rule, given)
    network = replace(network, values=values)
    rules = rules.freezing(np.array(edits.freeze, int), ALL_FROZEN)
    rules = rules.freezing(np.array(edits.unfreeze, int), FREE)
    kept = np.setdiff1d(np.arange(rules.n_rules), edits.drop)
    task = fitted.task
    return replace(
        fitted,
        rules=rules.take(kept),
        state=State.start(network.take(kept)),
        activity=(
            unknown_activity(task, len(kept))
            if edits.replace
            else activity_of(fitted.activity, kept)
        ),
        performance=unknown_performance(task),
    )


def rewritten(fitted: Fitted, texts: Mapping[int, str], start: str) -> tuple[Rules, Network]:
    """All rules, some with new conditions. Rules with new conditions keep their values."""
    rules, network = fitted.rules, fitted.state.network
    own = np.array(list(texts))
    paths = [read_rule(text, fitted.encoder, f"replace[{i}]") for i, text in texts.items()]
    written = replace(
        unmeasured(paths, fitted.task),
        values=rules.values[own],
        frozen=None if rules.frozen is None else rules.frozen[own],
    )
    neural = Network.from_rules(written, deep=network.deep, literal_columns="rule", start=start)
    neural = replace(neural, values=network.values[own])
    order = np.arange(rules.n_rules)
    order[own] = rules.n_rules + np.arange(len(own))
    joined = Network.join([network, neural]).take(order)
    joined = replace(joined, intercept=network.intercept)
    return Rules.join([rules, written]).take(order), joined


def network_value(fitted: Fitted, rule: int, given: Any) -> np.ndarray:
    """Convert a rule's value from units of the targets to standardised targets.

    Returns (n_outputs,) float32.
    """
    n_outputs = fitted.network.n_outputs
    numbers = [given] if isinstance(given, Real) and n_outputs == 1 else given
    if (
        not isinstance(numbers, list | tuple | np.ndarray)
        or len(numbers) != n_outputs
        or not all(isinstance(one, Real) and np.isfinite(float(one)) for one in numbers)
    ):
        wanted = "a finite number" if n_outputs == 1 else f"a list of {n_outputs} numbers"
        raise ValueError(f"values[{rule}] must be {wanted}, got {given!r}.")
    _, factor = fitted.task.loss.link.in_units(fitted.task.centre, fitted.task.scale)
    return (np.array(numbers, float) / factor).astype(np.float32)


def activity_of(activity: Activity, kept: np.ndarray) -> Activity:
    """The activity of the rules in `kept`. It does not depend on the other rules."""
    each = ("covered", "totals", "in_leaf", "in_both", "activation", "highest")
    return replace(activity, **{name: getattr(activity, name)[kept] for name in each})
