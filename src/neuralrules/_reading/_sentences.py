"""The rules in sentences: the rows a rule concerns, what was seen of them, what the rule adds.

Rules for the rarest class come first, because a model of a rare class is asked about this
class. Rules that concern no row of training, or add next to nothing, are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._conditions import Bound, literal_conditions
from neuralrules._reading._notation import number, printable, rounded
from neuralrules._reading._outcomes import Outcome, outcome_of_class, rare_class, size_text
from neuralrules._reading._rules_table import overlaps
from neuralrules._reading._text import (
    base_text,
    by_importance,
    check_counts,
    spoken_rule,
    standing_text,
    tree_rule_text,
    with_notes,
)
from neuralrules._reading._wording import EVERY_ROW, growth_words, listed, rule_words
from neuralrules._rules._rules import WRITTEN
from neuralrules._task._task import chosen_classes

WHEREVER, AT_MOST = "in full wherever it holds", "at most"


def rules_sentences(
    fitted: Fitted, *, max_rules: int | None, precision: int, max_terms: int
) -> str:
    """Rules of a fitted model in sentences; see `Answers.rules_text`.

    Rows count by their sample weights, if training had some. Class weights do not count.
    """
    check_counts(max_rules=max_rules, precision=precision, max_terms=max_terms)
    if not fitted.activity.n_rows:
        raise ValueError(
            "style='sentences' tells what was seen of the training rows, and this model was "
            f"{fitted.why_no_rows} and remembers none. Take style='conditions', or refit(X, y) "
            "it first."
        )
    rules = mentioned_rules(fitted)
    left_out = fitted.network.n_rules - len(rules)
    rules = rare_first(fitted, rules)[:max_rules]
    blocks = [start_sentences(fitted, precision)]
    blocks += [rule_sentences(fitted, rule, precision, max_terms) for rule in rules]
    if left_out:
        which = "1 rule that concerns" if left_out == 1 else f"{left_out} rules that concern"
        adds = "adds" if left_out == 1 else "add"
        blocks.append(f"Left out: {which} no row, or {adds} next to nothing.")
    return with_notes(fitted, rules, blocks, precision)


def mentioned_rules(fitted: Fitted) -> list[int]:
    """The rules that are worth a sentence, the most important first."""
    activity, outcomes = fitted.activity, possible_outcomes(fitted)
    most = activity.highest[:, None] * fitted.network.values
    faint = np.all([np.abs(one.effects(most)) < one.faint for one in outcomes], axis=0)
    worth = (activity.covered > 0) & ~faint
    return [rule for rule in by_importance(fitted) if worth[rule]]


def rare_first(fitted: Fitted, rules: list[int]) -> list[int]:
    """Put the rules for the rarest class first; keep the order of a regression's rules."""
    if not fitted.task.are_classes:
        return rules
    rare, spoken = rare_class(fitted), chosen_classes(fitted.network.values)
    return sorted(rules, key=lambda rule: spoken[rule] != rare)


def possible_outcomes(fitted: Fitted) -> list[Outcome]:
    """The outcomes that rules add to; of two mirrored classes, only the rarer one."""
    task = fitted.task
    if task.n_classes == 2:
        return [outcome_of_class(task, rare_class(fitted))]
    return [Outcome(task, place) for place in range(task.n_outputs)]


def start_sentences(fitted: Fitted, precision: int) -> str:
    """Shares of classes or means of targets, and what every row starts with."""
    task, base = fitted.task, base_text(fitted, precision)
    seen = seen_texts(fitted, fitted.activity.all_totals, fitted.activity.n_rows)
    if task.n_classes == 2:
        (rare,) = possible_outcomes(fitted)
        text = f"{seen[rare.place]} of the rows are {rare.label}."
        base = rare_start(fitted, rare, precision) if base else ""
    elif task.are_classes:
        parts = [
            f"{share} are {printable(str(label))}"
            for share, label in zip(seen, task.labels, strict=True)
        ]
        text = f"Of the rows {', '.join(parts)}."
    else:
        text = f"The {mean_words(seen)} over all rows."
    return f"{text} Every row starts at {base}." if base else text


def rare_start(fitted: Fitted, rare: Outcome, precision: int) -> str:
    """What every row gets for the rarer of two classes before any rule adds to it."""
    task, intercept = fitted.task, fitted.network.intercept
    if not task.gives_probabilities:
        score = number(float(rare.sign * intercept[0]), precision)
        return f"a score of {score} for {rare.label}"
    share = 100 * task.probabilities(intercept[None])[0, rare.place]
    return f"{number(float(share), precision)} % for {rare.label}"


def seen_texts(fitted: Fitted, totals: np.ndarray, n_rows: float) -> list[str]:
    """Shares of classes, or mean targets, with only the digits that `n_rows` rows determine."""
    task = fitted.task
    if task.are_classes:
        return [share_text(total, n_rows) for total in totals.tolist()]
    means = totals / n_rows * task.scale + task.centre
    return [
        rounded(mean, scale / max(n_rows, 1.0) ** 0.5, 1)
        for mean, scale in zip(means.tolist(), task.scale.tolist(), strict=True)
    ]


def mean_words(means: list[str]) -> str:
    """Mean targets as a sentence says them."""
    return f"mean target{' is' if len(means) == 1 else 's are'} {listed(means, 'and')}"


def share_text(part: float, whole: float) -> str:
    """A share in percent, rounded to the first digit of its standard error.

    The variance is taken to be at least 1 / rows, so that a share of 0 or 1 has an error too.
    """
    share = part / whole
    spread = max(share * (1 - share), 1 / max(whole, 2.0))
    return f"{rounded(100 * share, 100 * (spread / max(whole, 1.0)) ** 0.5, 1)} %"


def rule_sentences(fitted: Fitted, rule: int, precision: int, max_terms: int) -> str:
    """A rule in a few sentences."""
    activity = fitted.activity
    says = spoken_rule(fitted, rule, precision, max_terms)
    standing = standing_text(fitted, rule)
    lines = [
        f"Rule {rule}{f' ({standing})' if standing else ''}: {says}.",
        f"  {concern_sentence(fitted, rule)}",
        f"  {addition_sentence(fitted, rule, precision, max_terms)}",
    ]
    if fitted.rules.grew and activity.in_both[rule] > 0:
        leaf = tree_rule_text(fitted, rule, precision)
        if leaf != EVERY_ROW:
            share = number(100 * overlaps(activity)[rule], 2)
            start = "Written as" if fitted.rules.trees[rule] == WRITTEN else "Grew from"
            lines.append(f"  {start} {leaf} ({share} % in common).")
    return "\n".join(lines)


def concern_sentence(fitted: Fitted, rule: int) -> str:
    """A sentence on which rows a rule concerns, and on what was seen of these rows."""
    activity = fitted.activity
    covered = float(activity.covered[rule])
    if covered >= activity.n_rows:
        return "Concerns all rows."
    text = f"Concerns {share_text(covered, activity.n_rows)} of the rows, "
    seen = seen_texts(fitted, activity.totals[rule], covered)
    if not fitted.task.are_classes:
        return f"{text}whose {mean_words(seen)}."
    spoken = named_outcomes(fitted, rule)[0]
    return f"{text}of which {seen[spoken.place]} are {spoken.label}."


def named_outcomes(fitted: Fitted, rule: int) -> list[Outcome]:
    """The outcomes that a sentence names: the classes a rule speaks most for and against."""
    outcomes = possible_outcomes(fitted)
    if fitted.task.n_classes < 3:
        return outcomes
    effects = [float(one.effects(fitted.network.values[[rule]])[0]) for one in outcomes]
    return [outcomes[int(np.argmax(effects))], outcomes[int(np.argmin(effects))]]


def addition_sentence(fitted: Fitted, rule: int, precision: int, max_terms: int) -> str:
    """What a rule adds to the rows that it concerns, and how this amount grows.

    The activation is the smallest literal, so it reaches a level exactly if all literals do.
    Therefore conditions can also describe the rows on which the activation reaches its highest
    level of training, so that the rule adds its full amount.
    """
    activity, outcomes = fitted.activity, named_outcomes(fitted, rule)
    effects = [float(one.effects(fitted.network.values[[rule]])[0]) for one in outcomes]
    highest = float(activity.highest[rule])
    # The mean over the rows that the rule covers; a rule with a sentence covers some.
    mean = float(activity.activation[rule] * activity.n_rows / activity.covered[rule])
    grows = growth(fitted, rule, abs(effects[0]), precision, max_terms, outcomes[0].growth)
    pairs = list(zip(outcomes, effects, strict=True))
    if grows == WHEREVER:
        most = [one.usual(effect * highest) for one, effect in pairs]
        return capital(f"{', '.join(most)} wherever it holds.")
    parts = [
        f"{one.usual(effect * mean)} on average, {one.size(effect * highest)} "
        f"{'in full' if place else grows}"
        for place, (one, effect) in enumerate(pairs)
    ]
    return capital(f"{'; '.join(parts)}.")


def growth(
    fitted: Fitted,
    rule: int,
    effect: float,
    precision: int,
    max_terms: int,
    size_words: Callable[[float], str] = size_text,
) -> str:
    """The conditions under which a rule adds its full amount, or how the amount grows.

    If a column moves the threshold of another column, the condition would give the threshold
    for the moving column's mean. Rows that get the full amount do not have this mean. Then the
    text says instead how the amount, worded by `size_words`, grows with a step of each column.
    A deep rule gets no such text, because it adds up its literals.
    """
    if fitted.network.deep:
        return AT_MOST
    top = float(fitted.activity.highest[rule])
    asked = literal_conditions(fitted, rule, precision, max_terms, top)
    if any(isinstance(condition, Bound) and condition.moves for condition in asked):
        grows = growth_words(fitted, rule, effect, precision, size_words)
        return f"{AT_MOST}, {grows}" if grows else AT_MOST
    full = rule_words(fitted, rule, precision, max_terms, top)
    holds = rule_words(fitted, rule, precision, max_terms)
    return WHEREVER if full == holds else f"in full at {full}"


def capital(text: str) -> str:
    return text[0].upper() + text[1:]
