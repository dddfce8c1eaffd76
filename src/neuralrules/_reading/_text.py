"""Rules as inequalities in the user's column names and units.

A missing number counts as its mean, and the summand ``[income is missing]`` adds to that. An
inequality that every row within the ranges of the training table passes is left out. If all
inequalities are left out, the text says what makes the rule fire more strongly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralrules._data._columns import Date, EncodedColumn, Indicator, Missing
from neuralrules._data._dates import EPOCH
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._activity import rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_whole
from neuralrules._network._network import Network
from neuralrules._reading._column_words import number_words, state_text
from neuralrules._reading._conditions import cap, is_measured, rule_reaches, rule_sums
from neuralrules._reading._notation import MAX_PRECISION, number, printable, resolved
from neuralrules._reading._wording import (
    EVERY_ROW,
    NO_ROW,
    Statement,
    Wording,
    compared,
    plain_statement,
    rule_words,
    sum_text,
)
from neuralrules._rules._rules import ALL_FROZEN, LITERALS_FROZEN, WRITTEN
from neuralrules._task._task import chosen_classes


def rules_text(fitted: Fitted, *, max_rules: int | None, precision: int, max_terms: int) -> str:
    """Rules of a fitted model, the most important ones first.

    `max_rules` is how many rules to show; None means all. `precision` is a number of
    significant digits, and `max_terms` is how many columns of a literal to show. "…" stands for
    columns of smaller weight, which are taken at their means.
    """
    check_counts(max_rules=max_rules, precision=precision, max_terms=max_terms)
    base = base_text(fitted, precision)
    order = by_importance(fitted)[:max_rules]
    blocks = [f"Every row starts at {base}."] if base else []
    blocks += [rule_block(fitted, rule, precision, max_terms) for rule in order]
    return with_notes(fitted, order, blocks, precision)


def by_importance(fitted: Fitted) -> list[int]:
    """All rules, the most important ones first."""
    importance = rule_importance(fitted.task, fitted.network, fitted.activity.activation)
    return [int(rule) for rule in np.argsort(-importance, kind="stable")]


def rule_block(fitted: Fitted, rule: int, precision: int, max_terms: int) -> str:
    """A rule in several lines: its value, the tree rule that it was, and its conditions."""
    activity = fitted.activity
    heading = f"Rule {rule}: {value_text(fitted, rule, precision)}"
    if activity.n_rows:  # a model read from text remembers no rows
        share = number(100 * activity.covered[rule] / activity.n_rows, 2)
        heading += f" (covers {share} % of the {fitted.rows_name})"
    standing = standing_text(fitted, rule)
    lines = [f"{heading} ({standing})" if standing else heading]
    if fitted.rules.grew:
        before = "said" if fitted.rules.trees[rule] == WRITTEN else "leaf"
        lines.append(f"  {before}  {tree_rule_text(fitted, rule, precision)}")
    texts = condition_texts(fitted, rule, precision, max_terms)
    lines += [f"  {'and' if i else 'now'}   {text}" for i, text in enumerate(texts)]
    if fitted.network.deep:
        named = named_literals(fitted, rule, precision, max_terms)
        lines += [f"  where {text}" for text in named]
    capped = cap_text(fitted, rule, texts, precision)
    return "\n".join([*lines, f"  cap   {capped}"] if capped else lines)


def with_notes(
    fitted: Fitted, rules: Sequence[int], blocks: Sequence[str], precision: int
) -> str:
    """Blocks of text about some rules, with notes below that explain the columns."""
    encoder, shown = fitted.encoder, "\n".join(blocks)
    notes = [*scaled_texts(encoder, shown, precision), *date_texts(encoder, shown)]
    if rules:
        network = fitted.network.take(np.array(rules))
        notes += stand_in_texts(encoder, network, precision)
    return "\n\n".join([*blocks, *notes])


def base_text(fitted: Fitted, precision: int = 3) -> str:
    """What every row gets before any rule adds to it, such as "3.1 % for ill".

    Empty if the model has no intercept.
    """
    task, intercept = fitted.task, fitted.network.intercept
    if not intercept.any():
        return ""
    if task.gives_probabilities:
        # The only output of two classes speaks for the second class.
        numbers = 100 * task.probabilities(intercept[None])[0][-task.n_outputs :]
    else:
        link = task.loss.link
        numbers = intercept if task.are_classes else link.predictions(intercept[None])[0]
    unit = " %" if task.gives_probabilities else ""
    texts = [f"{number(float(value), precision)}{unit}" for value in np.atleast_1d(numbers)]
    if len(texts) == 1 and not task.gives_probabilities:
        return texts[0]
    what = "" if task.are_classes else "target "
    return ", ".join(
        f"{text} for {what}{printable(str(name))}"
        for text, name in zip(texts, task.output_names, strict=True)
    )


def stand_in_texts(encoder: Encoder, network: Network, precision: int) -> list[str]:
    """What missing numbers count as, for columns that rules use and that had missing cells."""
    used = network.features[network.weights.any(axis=0)].tolist()
    columns = [encoder.columns[place] for place in used if place in encoder.missing_indicators]
    texts = []
    for scaled in (False, True):
        parts = [
            f"{words.name} {words.resolved(words.column.stand_in, precision)}"
            for words in (number_words(encoder, column) for column in columns)
            if (words.column.knots is not None) == scaled
        ]
        means = "the means of their scaled columns" if scaled else "their means"
        texts += [f"Missing numbers count as {means}: {', '.join(parts)}."] if parts else []
    return texts


def scaled_texts(encoder: Encoder, text: str, precision: int) -> list[str]:
    """Sentences that explain the scaled columns that a text names."""
    texts = []
    for column in encoder.columns:
        if column.knots is None:
            continue
        words = number_words(encoder, column)
        points = [
            f"{words.resolved(x, precision)} → {number(z, precision)}"
            for x, z in zip(column.knots.x, column.knots.z, strict=True)
        ]
        if words.in_sum in text:
            texts.append(
                f"{words.in_sum} is the line through {', '.join(points)}; flat outside."
            )
    return texts


def date_texts(encoder: Encoder, text: str) -> list[str]:
    """A sentence that explains the days of the date columns that a text names."""
    dates = [column for column in encoder.columns if isinstance(column, Date)]
    names = [number_words(encoder, column).in_sum for column in dates if column.knots is None]
    named = [name for name in names if name in text]
    if not named:
        return []
    counts = "counts" if len(named) == 1 else "count"
    return [f"{' and '.join(named)} {counts} the days since {EPOCH}."]


def check_counts(**counts: int | None) -> None:
    """Raise an error for counts that are not whole numbers above 0, and for too many digits."""
    for name, value in counts.items():
        if name == "max_rules" and value is None:
            continue
        if check_whole(name, value, 1) > MAX_PRECISION and name == "precision":
            raise ValueError(
                f"precision={value!r} must be at most {MAX_PRECISION}: a number has no more "
                "digits."
            )


def value_text(fitted: Fitted, rule: int, precision: int) -> str:
    """The value of a rule, and the class or number that it speaks for."""
    values, task = fitted.network.values[rule].astype(float), fitted.task
    texts = [number(value, precision) for value in values]
    if len(values) > 1:
        pairs = zip(texts, task.output_names, strict=True)
        return "values " + ", ".join(f"{text} ({printable(str(name))})" for text, name in pairs)
    if not task.are_classes:
        return f"value {texts[0]}"
    label = task.labels[chosen_classes(values[None])[0]]
    return f"value {texts[0]} for {printable(str(label))}"


def standing_text(fitted: Fitted, rule: int) -> str:
    """Whether a person wrote the rule, and which part of the rule training must not change."""
    written = "an expert's rule" if fitted.rules.trees[rule] == WRITTEN else ""
    fixed = {LITERALS_FROZEN: "its conditions fixed", ALL_FROZEN: "fixed"}
    frozen = fixed.get(int(fitted.rules.frozen_parts[rule]), "")
    return ", ".join(text for text in (written, frozen) if text)


def rule_text(fitted: Fitted, rule: int, precision: int, max_terms: int) -> str:
    """A neural rule in one line."""
    texts = condition_texts(fitted, rule, precision, max_terms)
    text = " and ".join(texts)
    if fitted.network.deep:
        text += ", where " + ", ".join(named_literals(fitted, rule, precision, max_terms))
    capped = cap_text(fitted, rule, texts, precision)
    return f"{text}; {capped}" if capped else text


def cap_text(fitted: Fitted, rule: int, texts: list[str], precision: int) -> str:
    """The cap of a rule with these conditions, in words; empty if it has none to mention."""
    highest = cap(fitted, rule)
    shown = np.isfinite(highest) and texts != [EVERY_ROW]
    return f"activation at most {number(highest, precision)}" if shown else ""


def spoken_rule(fitted: Fitted, rule: int, precision: int, max_terms: int) -> str:
    """The conditions of a rule in the words of a sentence; of a deep rule its inequalities."""
    spoken = rule_text if fitted.network.deep else rule_words
    return spoken(fitted, rule, precision, max_terms)


def condition_texts(fitted: Fitted, rule: int, precision: int, max_terms: int) -> list[str]:
    """The conditions for a rule to fire, each as text."""
    return [one.text for one in condition_statements(fitted, rule, precision, max_terms)]


def condition_statements(
    fitted: Fitted, rule: int, precision: int, max_terms: int
) -> list[Statement]:
    """The conditions for a rule to fire, each as a statement.

    The statements of a deep rule are about its second layer. They compare sums of A⁺, B⁺, …,
    the positive parts of its literals. A condition that holds on every row within the ranges of
    training is left out. If no condition is left, the only statement says how strongly the rule
    fires.
    """
    if fitted.network.deep:
        statements = unit_statements(fitted, rule, precision, max_terms)
    else:
        wording = Wording(fitted.encoder, precision, max_terms)
        statements = [wording.statement(literal) for literal in rule_sums(fitted, rule)]
    pairs = list(zip(statements, rule_reaches(fitted, rule), strict=True))
    asking = [
        plain_statement(NO_ROW) if own.never else one for one, own in pairs if not own.always
    ]
    always = [one for one, own in pairs if own.always and not own.flat]
    if asking or not always:
        return asking or [plain_statement(EVERY_ROW)]
    grows = [f"the {'larger' if one.rises else 'smaller'} {one.subject}" for one in always]
    text = f"{EVERY_ROW}, the more {' and '.join(dict.fromkeys(grows))}"
    return [plain_statement(text, EVERY_ROW)]


def named_literals(fitted: Fitted, rule: int, precision: int, max_terms: int) -> list[str]:
    """The literals of a deep rule, which its second layer adds up, each as "A = sum"."""
    wording = Wording(fitted.encoder, precision, max_terms)
    texts = []
    for place, whole in enumerate(rule_sums(fitted, rule)):
        text, shown = wording.sum(whole), whole.largest(max_terms)
        # Show the constant as exactly as the terms: in parts of the largest weight.
        constant, sizes = shown.constant, [abs(term.weight) for term in shown.terms]
        size = resolved(abs(constant), max(sizes, default=abs(constant)) or 1.0, precision)
        sign = "-" if constant < 0 else "+"
        text = f"{text} {sign} {size}" if text else number(constant, precision)
        texts.append(f"{letter(place)} = {text}")
    return texts


def letter(place: int) -> str:
    """A, B, …, Z, A1, B1, …: the name of a literal inside a deep rule."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def unit_statements(
    fitted: Fitted, rule: int, precision: int, max_terms: int
) -> list[Statement]:
    """Statements for the units of a deep rule: sums of the positive parts of its literals."""
    network, own = fitted.network, fitted.network.layout.literals_of(rule)
    statements = []
    for weights, shift in zip(network.second_layer(rule), network.shifts[own], strict=True):
        order = np.argsort(-np.abs(weights), kind="stable")[:max_terms].tolist()
        parts = [(float(weights[i]), f"{letter(i)}⁺", precision) for i in order if weights[i]]
        if parts:
            text = sum_text(parts, cut=len(np.flatnonzero(weights)) > max_terms)
            bound = number(0.0 - float(shift), precision)
            statements.append(compared(text, True, bound, parts[0][1]))
        else:
            statements.append(plain_statement(EVERY_ROW if shift > 0 else NO_ROW))
    return statements


def tree_rule_text(fitted: Fitted, rule: int, precision: int) -> str:
    """The tree rule behind a neural rule, without conditions that follow from others."""
    rules = fitted.rules
    if not rules.grew:
        return "not known"
    lower: dict[int, float] = {}
    upper: dict[int, float] = {}
    for literal in range(rules.offsets[rule], rules.offsets[rule + 1]):
        feature, threshold = int(rules.features[literal]), float(rules.thresholds[literal])
        if rules.signs[literal] > 0:
            lower[feature] = max(threshold, lower.get(feature, -np.inf))
        else:
            upper[feature] = min(threshold, upper.get(feature, np.inf))
    bounds = {
        feature: (lower.get(feature, -np.inf), upper.get(feature, np.inf))
        for feature in [*lower, *upper]
    }
    texts = [bounds_text(fitted.encoder, feature, bounds, precision) for feature in bounds]
    return " and ".join(filter(None, texts)) or EVERY_ROW


def bounds_text(
    encoder: Encoder, feature: int, bounds: dict[int, tuple[float, float]], precision: int
) -> str:
    """The bounds of a tree rule on one encoded column, among all its bounds, in words.

    Empty if bounds on another encoded column imply these bounds: "city = Rome" excludes every
    other city, "income is missing" excludes bounds on the income, and bounds on the income say
    that the income is known. A missing number counts as the mean, which is encoded as 0. So
    bounds around 0 include rows without the number.
    """
    column, (low, high) = encoder.columns[feature], bounds[feature]
    beside = [
        (encoder.columns[other], bounds[other][0])
        for other in bounds
        if other != feature and encoder.columns[other].source == column.source
    ]
    if any(isinstance(other, Indicator) and least > -np.inf for other, least in beside):
        return ""
    if isinstance(column, Missing) and low == -np.inf and beside:
        return ""
    text = split_text(encoder, column, low, high, precision)
    hole = encoder.missing_indicators.get(feature)
    known = hole in bounds and bounds[hole][1] < np.inf
    return f"({text} or missing)" if hole is not None and not known and low < 0 < high else text


def split_text(
    encoder: Encoder, column: EncodedColumn, low: float, high: float, precision: int
) -> str:
    """The bounds low < x <= high on one encoded column, in the user's words."""
    if not is_measured(column):
        return state_text(encoder, column, present=low > -np.inf)
    words = number_words(encoder, column)
    least, most = (
        words.resolved(column.original(end), precision, "≤") if np.isfinite(end) else ""
        for end in (low, high)
    )
    if not least:
        return f"{words.name} ≤ {most}"
    return f"{least} < {words.name} ≤ {most}" if most else f"{words.name} > {least}"
