"""Edits of a model by hand. Parts that nobody edited keep their bits.

Rules are dropped, frozen, rewritten, or get other values; or the whole model is changed in its
exact text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._columns import Category, EncodedColumn, Number
from neuralrules._fitted._activity import Activity
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import counted
from neuralrules._io._checks import is_whole
from neuralrules._network._network import Network
from neuralrules._reading._exact import exact_text, read_exact
from neuralrules._reading._exact_rules import (
    ExactRules,
    ParsedRule,
    Term,
    fitted_from_text,
    network_of,
    unknown_activity,
    unknown_performance,
)
from neuralrules._rules._expert import read_rule
from neuralrules._rules._rules import ALL_FROZEN, FREE, Literal, Rules, unmeasured
from neuralrules._task._task import Task
from neuralrules._training._training import State

# What each edit does to rules, in the words of the model's lineage.
DEEDS = {
    "drop": "dropped",
    "replace": "rewritten",
    "values": "given another value",
    "freeze": "frozen",
    "unfreeze": "freed",
}


class Edits(NamedTuple):
    """What to change in which rules, named by their numbers; see `Changes.edit`."""

    drop: list[int]
    freeze: list[int]
    unfreeze: list[int]
    replace: dict[int, str]
    values: dict[int, Any]

    def __str__(self) -> str:
        """A line that says what the edits change."""
        rules = {option: sorted(set(getattr(self, option))) for option in DEEDS}
        parts = [named_rules(rules[option], done) for option, done in DEEDS.items()]
        return "; ".join(filter(None, parts)) or "nothing changed"


def named_rules(rules: list[int], done: str) -> str:
    """What was done to some rules, named by their numbers; empty if there are none."""
    return f"rule{'s' * (len(rules) > 1)} {', '.join(map(str, rules))} {done}" if rules else ""


def read_edits(
    n_rules: int, drop: Any, freeze: Any, unfreeze: Any, replaced: Any, values: Any
) -> Edits:
    """Check the edits that a user asks for in a model with `n_rules` rules."""

    def listed(option: str, given: Any) -> list[int]:
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"{option} must be a list of rules, got {given!r}. For example {option}=[0]."
            )
        rules = list(given)
        for rule in rules:
            if not is_whole(rule) or not 0 <= rule < n_rules:
                raise ValueError(
                    f"{option} names the rule {rule!r}, but the model has the rules 0 to "
                    f"{n_rules - 1}. rules_table() shows their numbers."
                )
        return list(map(int, rules))

    def by_number(option: str, given: Any) -> dict[int, Any]:
        given = given or {}
        if not isinstance(given, Mapping):
            raise TypeError(f"{option} must be a dict by the numbers of rules, got {given!r}.")
        return dict(zip(listed(option, given), given.values(), strict=True))

    edits = Edits(
        listed("drop", drop),
        listed("freeze", freeze),
        listed("unfreeze", unfreeze),
        by_number("replace", replaced),
        by_number("values", values),
    )
    pairs = [("drop", other) for other in DEEDS if other != "drop"]
    for one, other in [*pairs, ("freeze", "unfreeze")]:
        both = set(getattr(edits, one)) & set(getattr(edits, other))
        if both:
            raise ValueError(
                f"{one} and {other} both name rule {min(both)}. Leave it out of one."
            )
    if len(set(edits.drop)) == n_rules:
        raise ValueError(f"drop names all {n_rules} rules of the model. Keep at least one.")
    return edits


def edited(fitted: Fitted, edits: Edits, start: str) -> Fitted:
    """A model with some rules changed; `start` says how a rewritten rule becomes neural."""
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
    former = None if edits.replace else kept
    return with_rules(fitted, rules.take(kept), network.take(kept), former)


def with_rules(
    fitted: Fitted, rules: Rules, network: Network, former: np.ndarray | None
) -> Fitted:
    """The model with other rules. How it performs is unknown until it is measured again.

    `former` has the former places of the rules, (n_rules,). With None, some rules are new, so
    their activity is unknown, too.
    """
    task = fitted.task
    return replace(
        fitted,
        rules=rules,
        state=State.start(network),
        activity=(
            unknown_activity(task, network.n_rules)
            if former is None
            else activity_of(fitted.activity, former)
        ),
        performance=unknown_performance(task),
    )


def activity_of(activity: Activity, kept: np.ndarray) -> Activity:
    """The activity of the rules in `kept`. It does not depend on the other rules."""
    each = ("covered", "totals", "in_leaf", "in_both", "activation", "highest")
    return replace(activity, **{name: getattr(activity, name)[kept] for name in each})


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
    """A rule's value from units of the targets to standardised ones, (n_outputs,) float32."""
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


def edited_text(fitted: Fitted, text: str) -> tuple[Fitted, str]:
    """The model that a changed text describes, and a line that says what changed.

    If the text declares the same columns and targets, and new rules use only columns that the
    model encodes, all unchanged parts keep their bits. Rules with unchanged literals also keep
    their leaves and stay frozen or free, even if they have moved in the text. Otherwise the
    whole model is read from the text.
    """
    before, after = read_exact(exact_text(fitted)), read_exact(text)
    check_task(before.task, after.task)
    former = rule_places(before.rules, after.rules)
    summary = changes_text(before, after, former)
    encoder = fitted.encoder
    places = {
        term_of(encoder.names[column.source], column): place
        for place, column in enumerate(encoder.columns)
    }
    new = [rule for rule, place in zip(after.rules, former, strict=True) if place is None]
    literals = [literal for rule in new for literal in rule.literals]
    terms = {term for literal in literals for _, term in literal if isinstance(term, Term)}
    if declarations(before) != declarations(after) or not terms <= places.keys():
        read = fitted_from_text(after, fitted.estimator, named=encoder.named)
        kept = replace(read, notes=fitted.notes, lineage=fitted.lineage)
        return kept, f"{summary}; read from text, since other columns or targets are declared"
    task, rules, network = fitted.task, fitted.rules, fitted.state.network
    shift, factor = task.loss.link.in_units(task.centre, task.scale)
    intercept = network.intercept
    with np.errstate(over="ignore"):
        if new:
            values = np.array([rule.values for rule in new]) / factor
            written = network_of(new, encoder, places, values).without_unused_features()
            rules = Rules.join([rules, unmeasured(leaves_of(written), task)])
            network = Network.join([network, written])
        numbers = iter(range(fitted.rules.n_rules, rules.n_rules))
        order = np.array([next(numbers) if place is None else place for place in former])
        network = network.take(order)
        values = network.values.copy()
        for rule in revalued(before, after, former):
            values[rule] = after.rules[rule].values / factor
        if (before.intercept != after.intercept).any():
            intercept = (after.intercept - shift) / factor
    network = replace(network, values=values, intercept=intercept)
    if not all(np.isfinite(array).all() for array in network.parameters):
        raise ValueError(
            "The rules hold a number that is too large for an estimator, which computes in "
            "float32. Write smaller numbers."
        )
    return with_rules(fitted, rules.take(order), network, None if new else order), summary


def check_task(before: Task, after: Task) -> None:
    """Refuse a text with another kind or number of outputs than the model."""
    if before.are_classes != after.are_classes or before.n_outputs != after.n_outputs:
        model, text = (
            f"{one.n_classes} classes" if one.are_classes else counted(one.n_outputs, "number")
            for one in (before, after)
        )
        raise ValueError(
            f"The text predicts {text}, the model {model}. Keep what is predicted, or "
            "read the text with read_rules(text, estimator=True)."
        )


def declarations(exact: ExactRules) -> tuple[Hashable, ...]:
    """Everything that a text declares before its rules, except the intercept."""
    task = exact.task
    labels = tuple((type(label), label) for label in task.labels)
    targets = (labels, task.loss.name, task.flat, tuple(task.scale.tolist()))
    return (*targets, exact.named, *exact.columns)


def term_of(name: str, column: EncodedColumn) -> Term:
    """The term by which the text names an encoded column of the column `name`."""
    if isinstance(column, Number):
        return Term(name, "number" if column.knots is None else "scaled")
    if column.means_missing:
        return Term(name, "missing")
    if isinstance(column, Category):
        return Term(name, "category", column.category)
    return Term(name, "rare")


def rule_places(before: list[ParsedRule], after: list[ParsedRule]) -> list[int | None]:
    """The former places of the rules of a changed text; None for a new rule.

    A rule is recognised by its conditions. Rules with the same conditions are told apart by
    their values.
    """

    def key_of(rule: ParsedRule, with_values: bool) -> Hashable:
        units = None if rule.units is None else tuple(rule.units)
        values = tuple(rule.values.tolist()) if with_values else None
        return tuple(rule.literals), units, values

    found: list[int | None] = [None] * len(after)
    left = set(range(len(before)))
    for with_values in (True, False):
        places: dict[Hashable, list[int]] = {}
        for place in sorted(left, reverse=True):
            places.setdefault(key_of(before[place], with_values), []).append(place)
        for number, rule in enumerate(after):
            same = places.get(key_of(rule, with_values), [])
            if found[number] is None and same:
                found[number] = place = same.pop()
                left.discard(place)
    return found


def revalued(before: ExactRules, after: ExactRules, former: list[int | None]) -> dict[int, int]:
    """The rules of a changed text that only have other values, with their former places."""
    return {
        number: place
        for number, (rule, place) in enumerate(zip(after.rules, former, strict=True))
        if place is not None and (rule.values != before.rules[place].values).any()
    }


def changes_text(before: ExactRules, after: ExactRules, former: list[int | None]) -> str:
    """A line that says what changed between two texts."""
    n_new = former.count(None)
    dropped = sorted(set(range(len(before.rules))).difference(former))
    valued = sorted(revalued(before, after, former).values())
    parts = [
        named_rules(dropped, "taken out"),
        named_rules(valued, "given another value"),
        f"{counted(n_new, 'rule')} put in" if n_new else "",
        "another start" if (before.intercept != after.intercept).any() else "",
    ]
    return ("; ".join(filter(None, parts)) or "no rule changed") + " (as text)"


def leaves_of(network: Network) -> list[list[Literal]]:
    """Turn rules that were written as literals into leaves of a tree.

    Each literal becomes a split of the column on which its weight is largest. The other columns
    of the literal are taken at their means.
    """
    leaves: list[list[Literal]] = []
    for rule in range(network.n_rules):
        own = network.layout.literals_of(rule)
        leaves.append([])
        for weights, bias in zip(network.weights[own], network.biases[own], strict=True):
            if weights.any():
                most = int(np.abs(weights).argmax())
                sign, threshold = 1 if weights[most] > 0 else -1, -bias / weights[most]
                leaves[-1].append((int(network.features[most]), sign, np.float32(threshold)))
    return leaves
