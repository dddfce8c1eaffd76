"""A model as one Python module that needs no package and that people can review.

::

    # Rule 0: value 1.25 for bad
    #   if    income + 812*children < 30100
    #   and   [city = Rome] > 0
    def rule_0(x):
        return 1.25 * activation(
            -0.91 * x["income"] - 0.04 * x["children"] + 0.31,
            x["city", "Rome"] + 0.64,
        )

The code computes with standardised columns, as the network does. The comments use the units of
the table. Sums in the units of the table would lose digits: a column with mean 1e9 and
deviation 1 would need w x - w 1e9, which cancels nine of the sixteen digits. Literals are also
shorter with standardised columns, because the module contains the mean and the deviation of a
column only once.

In the code, the user's text only appears as ASCII literals. In comments, it only appears after
`printable` has removed all line breaks.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from neuralrules._data._columns import Category, EncodedColumn, Number, Rare
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._export import _python_templates as templates
from neuralrules._export._extras import NOTHING, Extras, plain_labels, size_text
from neuralrules._export._python_printer import (
    WIDTH,
    Code,
    activation_lines,
    bracketed,
    code_of,
    float_code,
    laid_out,
    line_of,
    text_code,
)
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import CellReading, Formula
from neuralrules._reading._conditions import cap
from neuralrules._reading._notation import number, printable
from neuralrules._reading._outcomes import Outcome
from neuralrules._reading._scorecard import ScoreCard
from neuralrules._reading._text import condition_texts, letter, named_literals, value_text
from neuralrules._reading._wording import EVERY_ROW

PRECISION, MAX_TERMS = 3, 3  # digits and terms in comments, as in `rules_text`
# If all names are ASCII, the module is ASCII, so that it can be saved in any encoding.
IN_COMMENTS = str.maketrans({"·": "*", "…": "...", "⁺": "_plus"})


def to_python(fitted: Fitted, extras: Extras = NOTHING) -> str:
    """See `Documents.to_python`, which calls this function."""
    formula = Formula(fitted, in_table_units=False)
    names = step_names(formula)
    rules = range(len(formula.rules))
    blocks = [
        head_lines(fitted, formula, extras),
        *answering_functions(fitted, formula),
        *extra_functions(fitted, extras),
        *reading_functions(formula, names),
        [templates.ACTIVATION],
        *([*comment_lines(fitted, i), *rule_lines(formula, names, i)] for i in rules),
        bracketed("RULES = [", [f"rule_{i}" for i in rules], "]"),
        *extra_tables(fitted, extras),
    ]
    return "\n\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def step_names(formula: Formula) -> dict[str, str]:
    """The code of each step of the formula that expressions refer to, by the step's name."""
    names = {x.name: term_code(formula.encoder, x.column) for x in formula.columns}
    for rule in formula.rules:
        names |= {part.name: f"{letter(part.place)}_plus" for part in rule.parts}
    return names


def head_lines(fitted: Fitted, formula: Formula, extras: Extras) -> list[str]:
    """The lines of the module before the first function."""
    readings = formula.readings.values()
    lines = [docstring(fitted, extras), ""]
    expressions = [x.standardised for x in formula.columns] + formula.predictions
    calls = any(isinstance(one, ops.Call) for x in expressions for one in ops.operations(x))
    if calls or fitted.task.gives_probabilities or extras.card is not None:
        lines.append("import math")
    if any(reading.is_date for reading in readings):
        lines += ["import re", "from datetime import date, datetime, timedelta"]
    if lines[-1]:
        lines.append("")
    if fitted.task.are_classes:
        lines += bracketed("CLASSES = [", map(label_code, plain_labels(fitted)), "]")
    intercepts = [float_code(intercept) for intercept in fitted.network.intercept]
    if len(intercepts) == 1:
        lines.append(f"INTERCEPT = {intercepts[0]}")
    else:
        lines += bracketed("INTERCEPT = [", intercepts, "]")
    if readings:
        lines.append("MISSING = None")
        lines.append(f"LARGEST = {float_code(LARGEST)}  # no number may be beyond it")
    if any(isinstance(x.column, Rare) for x in formula.columns):
        lines.append("OTHER = object()  # every category that is not listed")
    markers = sorted({text for reading in readings for text in reading.missing_texts})
    if markers:
        items = map(text_code, markers)
        lines += [templates.MARKERS, *bracketed("MISSING_TEXTS = {", items, "}")]
    return lines


def docstring(fitted: Fitted, extras: Extras) -> str:
    """The docstring of the module, which does not contain any of the user's own text."""
    single = fitted.network.n_outputs == 1
    prediction = "the number" if single else "a list of numbers, one for each target"
    if fitted.task.are_classes:
        prediction = "the class"
    functions = [f"predict(row)        {prediction}"]
    if fitted.task.gives_probabilities:
        functions.append("predict_proba(row)  a dict from classes to their probabilities")
    each = "" if single else ", a list: one for each output"
    functions.append(f"decision(row)       intercept plus sum of the rules{each}")
    if extras.card is not None:
        name = "points_prediction" if extras.card.adverse is None else "points_probability"
        functions.append("points(row)         whole points of the score card")
        functions.append(f"{name}(row), what these points stand for")
    if extras.n_reasons:
        functions.append("reasons(row)        a list of what speaks for the adverse outcome")
    return templates.DOCSTRING.format(
        size=size_text(fitted),
        functions=textwrap.indent("\n".join(functions), "    "),
        deep=templates.DEEP if fitted.network.deep else "",
    )


def answering_functions(fitted: Fitted, formula: Formula) -> list[list[str]]:
    """The functions for predictions, probabilities (if the model has them) and decisions."""
    single = fitted.network.n_outputs == 1
    text, code = "What the model predicts.", f"return {prediction_code(formula)}"
    if fitted.task.are_classes and single:
        text = "The second class if the decision is positive, else the first."
        code = "return CLASSES[1] if decision(row) > 0 else CLASSES[0]"
    elif fitted.task.are_classes:
        text = "The class of the largest output, of equal ones the first."
        code = "outputs = decision(row)\n    return CLASSES[outputs.index(max(outputs))]"
    functions = [templates.PREDICT.format(text=text, code=code)]
    if fitted.task.gives_probabilities:
        # The first of two classes has no output, which means the same as the output 0.
        outputs = "[0.0, decision(row)]" if single else "decision(row)"
        functions.append(templates.PREDICT_PROBA.format(outputs=outputs))
    text, code = "Intercept and rules.", "INTERCEPT + sum(rule(x) for rule in RULES)"
    if not single:
        text = "Intercept and rules, for each output."
        code = "[sum(parts) for parts in zip(INTERCEPT, *(rule(x) for rule in RULES))]"
    functions.append(templates.DECISION.format(text=text, code=code))
    return [[function] for function in functions]


def prediction_code(formula: Formula) -> str:
    """The code that computes predicted numbers from decisions."""
    link, *others = formula.predictions  # the same expression for all targets
    if not others:
        return line_of(link, {"d0": "decision(row)"})
    code = line_of(link, {"d0": "output"})
    return "decision(row)" if code == "output" else f"[{code} for output in decision(row)]"


def extra_functions(fitted: Fitted, extras: Extras) -> list[list[str]]:
    """The functions for points, for the prediction that points stand for, and for reasons."""
    functions, card = [], extras.card
    if card is not None:
        # Points count against the adverse class.
        sign = "-" if card.adverse is not None and card._outcome.sign > 0 else ""
        by_rates = templates.CARD.format(sign=sign)
        functions.append(by_rates if card.levels is None else templates.CARD_LEVELS)
        of_number = card.adverse is None
        functions.append(
            templates.POINTS_PREDICTION if of_number else templates.POINTS_PROBABILITY
        )
    if extras.outcome is not None:
        added = adverse_code(fitted, extras.outcome)
        functions.append(templates.REASONS.format(k=extras.n_reasons, added=added))
    return [[function] for function in functions]


def adverse_code(fitted: Fitted, outcome: Outcome) -> str:
    """What a rule contributes to the adverse outcome, from its contributions to the outputs."""
    if fitted.network.n_outputs == 1:
        return "-parts" if outcome.sign < 0 else "parts"
    if fitted.task.are_classes and fitted.task.loss.compares_outputs:
        return f"parts[{outcome.place}] - sum(parts) / len(parts)"
    return f"parts[{outcome.place}]"


def reading_functions(formula: Formula, names: dict[str, str]) -> list[list[str]]:
    """The function that standardises the columns of a row, and the functions that it calls."""
    lines, readings = [templates.STANDARDISED], formula.readings.values()
    for reading in readings:
        lines += laid_out("    cell = ", reading_code(reading))
        for x in formula.columns:
            if x.source == reading.source:
                lines += laid_out(f"    {names[x.name]} = ", code_of(x.standardised, names))
    marked = any(reading.missing_texts for reading in readings)
    functions = []
    if readings:
        functions.append(templates.CELL.replace("{marked}", templates.MARKED_CELL * marked))
    if any(reading.is_text for reading in readings):
        mark = templates.MARKED_CATEGORY * marked
        functions.append(templates.CATEGORY.replace("{marked}", mark))
    written = "\n".join(lines)
    for name, function in templates.READING.items():
        if f"{name}(" in written:
            functions.append(function)
            written += function
    return [[*lines, "    return x"], *([function] for function in functions)]


def reading_code(reading: CellReading) -> Code:
    """The call that reads a cell. It returns a number, days of a date, a text or MISSING."""
    name = text_code(reading.name)
    if reading.is_text:
        return ("category(", ["row", name], ")")
    function = "days" if reading.is_date else "number"
    holes = [  # numbers that mean missing may be infinite
        float_code(hole) if math.isfinite(hole) else f'float("{hole}")'
        for hole in reading.missing_numbers
    ]
    return (f"{function}(", ["row", name, *holes], ")")


def comment_lines(fitted: Fitted, rule: int) -> list[str]:
    """The comment above the function of a rule: the rule in the units of the table, rounded."""
    network = fitted.network
    texts = condition_texts(fitted, rule, PRECISION, MAX_TERMS)
    lines = [f"Rule {rule}: {value_text(fitted, rule, PRECISION)}"]
    lines += [f"  {'and' if i else 'if '}   {text}" for i, text in enumerate(texts)]
    if network.deep:
        named = named_literals(fitted, rule, PRECISION, MAX_TERMS)
        lines += [f"  where {text}" for text in named]
    highest = cap(fitted, rule)
    if np.isfinite(highest) and texts != [EVERY_ROW]:
        lines.append(f"  cap   activation at most {number(highest, PRECISION)}")
    return [
        f"# {part}"
        for line in lines
        for part in textwrap.wrap(
            printable(line).translate(IN_COMMENTS),
            WIDTH - len("# "),
            subsequent_indent=" " * 10,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def rule_lines(formula: Formula, names: dict[str, str], rule: int) -> list[str]:
    """The function of a rule, which takes standardised columns."""
    own = formula.rules[rule]
    lines = [f"def rule_{rule}(x):"]
    for part in own.parts:
        lines += activation_lines(f"    {names[part.name]} = ", part.value, names)
    values = [float_code(value) for value in formula.network.values[rule]]
    if len(values) == 1:
        head = f"    return {values[0]} * "
        return [*lines, *activation_lines(head, own.activation, names)]
    lines += activation_lines("    a = ", own.activation, names)
    return [*lines, *bracketed("    return [", [f"{value} * a" for value in values], "]")]


def term_code(encoder: Encoder, column: EncodedColumn) -> str:
    """The code of an encoded column in rules."""
    name = text_code(encoder.names[column.source])
    match column:
        case Number():
            return f"x[{name}]"
        case Rare():
            return f"x[{name}, OTHER]"
        case Category(category=str(category)):
            return f"x[{name}, {text_code(category)}]"
        case _ if column.means_missing:
            return f"x[{name}, MISSING]"
        case _:
            return f"x[{name}, {text_code(column.stored_as)}]"


def label_code(label: Any) -> str:
    """The code of a class label."""
    if type(label) is str:
        return text_code(label)
    if type(label) not in (bool, int, float):
        raise TypeError(
            f"to_python cannot write the class {label!r}: labels must be strings, numbers or "
            "booleans. Fit on y with such labels, for example y.astype(str)."
        )
    return repr(label)


def extra_tables(fitted: Fitted, extras: Extras) -> list[list[str]]:
    """The tables after the rules: numbers of the score card, and sentences of reasons."""
    tables = [] if extras.card is None else [card_lines(fitted, extras.card)]
    if extras.outcome is not None:
        faint = float_code(extras.outcome.faint)
        lines = [f"FAINT = {faint}  # less is no reason", templates.REASONS_TABLE]
        for rule, _, usual, fires, missed in extras.reasons:
            lines += ["    (", f"        rule_{rule},", f"        {float_code(usual)},"]
            lines += [*text_lines(fires), *text_lines(missed), "    ),"]
        tables.append([*lines, "]"])
    return tables


def text_lines(text: str) -> list[str]:
    """A text as an item of a list, in pieces that fit on a line. An empty text becomes None."""
    if not text:
        return ["        None,"]
    words = textwrap.wrap(text, WIDTH - 20, drop_whitespace=False, break_on_hyphens=False)
    *pieces, last = [f"        {text_code(piece)}" for piece in words]
    return [*pieces, f"{last},"]


def card_lines(fitted: Fitted, card: ScoreCard) -> list[str]:
    """The constants of a score card: its base, its unit, and the points of its levels."""
    lines = [templates.POINTS, f"BASE = {card.base}", f"UNIT = {float_code(card.unit)}"]
    if card.adverse is not None:
        lines.append(f"START = {float_code(card._output(card.base))}  # log odds at the base")
    if card.levels is None:
        return lines
    lines.append(templates.LEVELS)
    for rule, points in enumerate(card.level_points().tolist()):
        size = float(fitted.network.values[rule, 0] * card._highest()[rule]) / card.levels
        if any(points):
            numbers = f"[{', '.join(map(str, points))}]"
            lines += bracketed("    (", [f"rule_{rule}", float_code(size), numbers], "),")
    return [*lines, "]"]
