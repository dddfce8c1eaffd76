"""Edits of a model in its exact text. Parts that a user did not edit keep their bits."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from neuralrules._data._columns import Category, EncodedColumn, Number
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import counted
from neuralrules._network._network import Network
from neuralrules._reading._exact import exact_text, read_exact
from neuralrules._reading._exact_rules import ExactRules, ParsedRule, Term
from neuralrules._reading._from_text import (
    fitted_from_text,
    network_of,
    unknown_activity,
    unknown_performance,
)
from neuralrules._rules._rules import Rules, unmeasured
from neuralrules._simplify._edit import activity_of, named_rules
from neuralrules._task._task import Task
from neuralrules._training._training import State


def edited_text(fitted: Fitted, text: str) -> tuple[Fitted, str]:
    """The model that a changed text describes, and a line that says what changed.

    If the text declares the same columns and targets, and new rules use only columns that the
    model encodes, all unchanged parts keep their bits. Rules with unchanged literals also keep
    their leaves and stay frozen or free, even if they have moved in the text. Otherwise the
    whole model is read from the text.
    """
    before, after = read_exact(exact_text(fitted)), read_exact(text)
    check_task(before.task, after.task)
    places = places_of(fitted.encoder)
    known = rule_places(before.rules, after.rules)
    new = [rule for rule, place in zip(after.rules, known, strict=True) if place is None]
    summary = changes_text(before, after, known)
    if declarations(before) != declarations(after) or not used_terms(new) <= places.keys():
        read = fitted_from_text(after, fitted.estimator, named=fitted.encoder.named)
        kept = replace(read, notes=fitted.notes, lineage=fitted.lineage)
        return kept, f"{summary}; read from text, since other columns or targets are declared"
    with np.errstate(over="ignore"):
        rules, network = rewritten(fitted, before, after, known)
    check_finite(network)
    order = [place for place in known if place is not None]
    changed = replace(
        fitted,
        rules=rules,
        state=State.start(network),
        activity=(
            unknown_activity(fitted.task, network.n_rules)
            if new
            else activity_of(fitted.activity, np.array(order))
        ),
        performance=unknown_performance(fitted.task),
    )
    return changed, summary


def rewritten(
    fitted: Fitted, before: ExactRules, after: ExactRules, known: list[int | None]
) -> tuple[Rules, Network]:
    """The rules and the network of a changed text, for standardised targets.

    `known` holds the former place of each rule, or None for a new rule.
    """
    shift, factor = fitted.task.loss.link.in_units(fitted.task.centre, fitted.task.scale)
    rules, network = fitted.rules, fitted.state.network
    intercept = network.intercept
    new = [rule for rule, place in zip(after.rules, known, strict=True) if place is None]
    if new:
        values = np.array([rule.values for rule in new]) / factor
        places = places_of(fitted.encoder)
        written = network_of(new, fitted.encoder, places, values).without_unused_features()
        rules = Rules.join([rules, unmeasured(leaves_of(written), fitted.task)])
        network = Network.join([network, written])
    numbers = iter(range(fitted.rules.n_rules, rules.n_rules))
    order = np.array([next(numbers) if place is None else place for place in known])
    network = network.take(order)
    values = network.values.copy()
    for rule, (parsed, place) in enumerate(zip(after.rules, known, strict=True)):
        if place is not None and (parsed.values != before.rules[place].values).any():
            values[rule] = parsed.values / factor
    if (before.intercept != after.intercept).any():
        intercept = (after.intercept - shift) / factor
    return rules.take(order), replace(network, values=values, intercept=intercept)


def check_task(before: Task, after: Task) -> None:
    """Refuse a text with another kind or number of outputs than the model."""
    if before.are_classes != after.are_classes or before.n_outputs != after.n_outputs:
        kinds = [
            f"{task.n_classes} classes" if task.are_classes else f"{task.n_outputs} numbers"
            for task in (before, after)
        ]
        raise ValueError(
            f"The text predicts {kinds[1]}, the model {kinds[0]}. Keep what is predicted, or "
            "read the text with read_rules(text, estimator=True)."
        )


def declarations(exact: ExactRules) -> tuple[Hashable, ...]:
    """Everything that a text declares before its rules, except the intercept."""
    task = exact.task
    labels = tuple((type(label), label) for label in task.labels)
    targets = (labels, task.loss.name, task.flat, tuple(task.scale.tolist()))
    return (*targets, exact.named, *exact.columns)


def places_of(encoder: Encoder) -> dict[Term, int]:
    """The place of each term of the text among the encoded columns."""
    places = {}
    for place, column in enumerate(encoder.columns):
        places[term_of(encoder.names[column.source], column)] = place
    return places


def term_of(name: str, column: EncodedColumn) -> Term:
    """The term by which the text names an encoded column of the column `name`."""
    if isinstance(column, Number):
        return Term(name, "number" if column.knots is None else "scaled")
    if column.means_missing:
        return Term(name, "missing")
    if isinstance(column, Category):
        return Term(name, "category", column.category)
    return Term(name, "rare")


def used_terms(rules: list[ParsedRule]) -> set[Term]:
    literals = [literal for rule in rules for literal in rule.literals]
    return {term for literal in literals for _, term in literal if isinstance(term, Term)}


def conditions(rule: ParsedRule) -> Hashable:
    """A rule without its values."""
    return tuple(rule.literals), None if rule.units is None else tuple(rule.units)


def rule_places(before: list[ParsedRule], after: list[ParsedRule]) -> list[int | None]:
    """The former places of the rules of a changed text; None for a new rule.

    A rule is recognised by its conditions. Rules with the same conditions are told apart by
    their values.
    """
    found: list[int | None] = [None] * len(after)
    left = set(range(len(before)))
    for with_values in (True, False):
        places: dict[Hashable, list[int]] = {}
        for place in sorted(left, reverse=True):
            places.setdefault(key_of(before[place], with_values=with_values), []).append(place)
        for number, rule in enumerate(after):
            same = places.get(key_of(rule, with_values=with_values), [])
            if found[number] is None and same:
                found[number] = place = same.pop()
                left.discard(place)
    return found


def key_of(rule: ParsedRule, *, with_values: bool) -> Hashable:
    return conditions(rule), tuple(rule.values.tolist()) if with_values else None


def check_finite(network: Network) -> None:
    if not all(np.isfinite(array).all() for array in network.parameters):
        raise ValueError(
            "The rules hold a number that is too large for an estimator, which computes in "
            "float32. Write smaller numbers."
        )


def leaves_of(network: Network) -> list[list[tuple[int, int, np.float32]]]:
    """Turn rules that were written as literals into leaves of a tree.

    Each literal becomes a split of the column on which its weight is largest. The other columns
    of the literal are taken at their means.
    """
    leaves = []
    for rule in range(network.n_rules):
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        path = []
        for weights, bias in zip(network.weights[own], network.biases[own], strict=True):
            if weights.any():
                most = int(np.abs(weights).argmax())
                sign = 1 if weights[most] > 0 else -1
                path.append(
                    (int(network.features[most]), sign, np.float32(-bias / weights[most]))
                )
        leaves.append(path)
    return leaves


def changes_text(before: ExactRules, after: ExactRules, known: list[int | None]) -> str:
    """A line that says what changed between two texts."""
    kept = [place for place in known if place is not None]
    valued = [
        place
        for rule, place in zip(after.rules, known, strict=True)
        if place is not None and (rule.values != before.rules[place].values).any()
    ]
    dropped = sorted(set(range(len(before.rules))) - set(kept))
    parts = [
        named_rules(dropped, "taken out") if dropped else "",
        named_rules(sorted(valued), "given another value") if valued else "",
        f"{counted(known.count(None), 'rule')} put in" if None in known else "",
        "another start" if (before.intercept != after.intercept).any() else "",
    ]
    return ("; ".join(part for part in parts if part) or "no rule changed") + " (as text)"
