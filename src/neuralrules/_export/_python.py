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
from typing import Any, TypeAlias

import numpy as np

from neuralrules._data._columns import Category, EncodedColumn, Number, Rare
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._export._extras import NOTHING, Extras
from neuralrules._export._python_code import (
    WIDTH,
    Code,
    bracketed,
    float_code,
    laid_out,
    on_one_line,
    text_code,
)
from neuralrules._export._python_extras import extra_functions, extra_summary, extra_tables
from neuralrules._export._python_templates import (
    ACTIVATION,
    AS_NUMBER,
    CATEGORY,
    CELL,
    DAYS,
    DAYS_OF_TEXT,
    DECISION,
    DEEP,
    DOCSTRING,
    FILLED,
    IS_ANY,
    IS_NONE,
    MARKED,
    MARKED_CATEGORY,
    MARKERS,
    NUMBER,
    ON_LINE,
    PREDICT,
    PREDICT_PROBA,
    STANDARD,
    STANDARDISED,
)
from neuralrules._export._size import size_text
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import CellReading, Formula
from neuralrules._reading._conditions import cap
from neuralrules._reading._notation import number, printable
from neuralrules._reading._text import condition_texts, letter, named_literals, value_text
from neuralrules._reading._wording import EVERY_ROW

Summands: TypeAlias = list[tuple[float, str]]  # factors, and the code of what they multiply

# Python's compiler makes one nested call for each "+", and fails after some thousand calls.
MAX_SUMMANDS = 200
PRECISION, MAX_TERMS = 3, 3  # digits and terms in comments, as in `rules_text`
# If all names are ASCII, the module is ASCII, so that it can be saved in any encoding.
IN_COMMENTS = str.maketrans({"·": "*", "…": "...", "⁺": "_plus"})
# Functions that only some modules need, by name. A function stands before those it calls.
FUNCTIONS = {
    "standard": STANDARD,
    "filled": FILLED,
    "on_line": ON_LINE,
    "is_any": IS_ANY,
    "is_none": IS_NONE,
    "number": NUMBER,
    "days": DAYS,
    "as_number": AS_NUMBER,
    "days_of_text": DAYS_OF_TEXT,
}


def to_python(fitted: Fitted, extras: Extras = NOTHING) -> str:
    """See `Documents.to_python`, which calls this function."""
    formula = Formula(fitted, in_table_units=False)
    names = step_names(formula)
    rules = formula.rules
    parts = [
        head_lines(fitted, formula, extras),
        *answering_functions(fitted, formula),
        *extra_functions(fitted, extras),
        *reading_functions(formula, names),
        [ACTIVATION],
        *(
            [*comment_lines(fitted, i), *rule_lines(formula, names, i)]
            for i in range(len(rules))
        ),
        bracketed("RULES = [", [f"rule_{i}" for i in range(len(rules))], "]"),
        *extra_tables(fitted, extras),
    ]
    return "\n\n\n".join("\n".join(lines) for lines in parts) + "\n"


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
        lines += ["import math"]
    if any(reading.is_date for reading in readings):
        lines += ["import re", "from datetime import date, datetime, timedelta"]
    if lines[-1]:
        lines.append("")
    if fitted.task.are_classes:
        labels = [label_code(label) for label in fitted.task.labels]
        lines += bracketed("CLASSES = [", labels, "]")
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
        lines += [MARKERS, *bracketed("MISSING_TEXTS = {", map(text_code, markers), "}")]
    return lines


def docstring(fitted: Fitted, extras: Extras) -> str:
    """The docstring of the module, which does not contain any of the user's own text."""
    single = fitted.network.n_outputs == 1
    prediction = "the number" if single else "a list of numbers, one for each target"
    if fitted.task.are_classes:
        prediction = "the class"
    lines = [f"    predict(row)        {prediction}"]
    if fitted.task.gives_probabilities:
        lines.append("    predict_proba(row)  a dict from classes to their probabilities")
    each = "" if single else ", a list: one for each output"
    lines.append(f"    decision(row)       intercept plus sum of the rules{each}")
    return DOCSTRING.format(
        size=size_text(fitted),
        functions="\n".join(lines + extra_summary(extras)),
        deep=DEEP if fitted.network.deep else "",
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
    functions = [[PREDICT.format(text=text, code=code)]]
    if fitted.task.gives_probabilities:
        # The first of two classes has no output, which means the same as the output 0.
        outputs = "[0.0, decision(row)]" if single else "decision(row)"
        functions.append([PREDICT_PROBA.format(outputs=outputs)])
    text, code = "Intercept and rules.", "INTERCEPT + sum(rule(x) for rule in RULES)"
    if not single:
        text = "Intercept and rules, for each output."
        code = "[sum(parts) for parts in zip(INTERCEPT, *(rule(x) for rule in RULES))]"
    return [*functions, [DECISION.format(text=text, code=code)]]


def prediction_code(formula: Formula) -> str:
    """The code that computes predicted numbers from decisions."""
    link, *others = formula.predictions  # the same expression for all targets
    if not others:
        return on_one_line(code_of(link, {"d0": "decision(row)"}))
    code = on_one_line(code_of(link, {"d0": "output"}))
    return "decision(row)" if code == "output" else f"[{code} for output in decision(row)]"


def reading_functions(formula: Formula, names: dict[str, str]) -> list[list[str]]:
    """The function that standardises the columns of a row, and the functions that it calls."""
    lines = [STANDARDISED]
    for source, reading in formula.readings.items():
        lines += laid_out("    cell = ", reading_code(reading))
        for x in formula.columns:
            if x.source == source:
                lines += laid_out(f"    {names[x.name]} = ", code_of(x.standardised, names))
    functions = [[*lines, "    return x"]]
    readings = formula.readings.values()
    marked = any(reading.missing_texts for reading in readings)
    if readings:
        functions.append([CELL.replace("{marked}", MARKED if marked else "")])
    if any(reading.is_text for reading in readings):
        functions.append([CATEGORY.replace("{marked}", MARKED_CATEGORY if marked else "")])
    written = "\n".join(lines)
    for name, function in FUNCTIONS.items():
        if f"{name}(" in written:
            functions.append([function])
            written += function
    return functions


def reading_code(reading: CellReading) -> Code:
    """The call that reads a cell. It returns a number, days of a date, a text or MISSING."""
    name = text_code(reading.name)
    if reading.is_text:
        return ("category(", ["row", name], ")")
    function = "days" if reading.is_date else "number"
    holes: list[Code] = [marker_code(number) for number in reading.missing_numbers]
    return (f"{function}(", ["row", name, *holes], ")")


def marker_code(number: float) -> str:
    """The code of a number that means missing. The number may be infinite."""
    return float_code(number) if math.isfinite(number) else f'float("{number}")'


def code_of(node: ops.Number, names: dict[str, str]) -> Code:
    """The code of an expression. `names` holds the code of its steps by their names."""
    match node:
        case ops.Cell():
            return "cell"
        case ops.Named(name):
            return names[name]
        case ops.Bounded(ops.Standardised() as inner):  # `standard` applies these bounds
            return code_of(inner, names)
        case ops.Standardised(ops.Filled(value, otherwise), mean, scale) if otherwise == mean:
            # `standard` treats a missing number like the mean.
            return code_of(ops.Standardised(value, mean, scale), names)
        case ops.Standardised(value, mean, scale):
            items = [code_of(value, names), float_code(mean), float_code(scale)]
            return ("standard(", items, ")")
        case ops.Bounded(value, low, high):
            inside = on_one_line(code_of(value, names))
            return f"max({low}, min({high}, {inside}))"
        case ops.Filled(value, otherwise):
            return ("filled(", [code_of(value, names), float_code(otherwise)], ")")
        case ops.Line(value, x, z):
            points: list[Code] = [("[", list(map(float_code, ends)), "]") for ends in (x, z)]
            return ("on_line(", [code_of(value, names), *points], ")")
        case ops.Indicator(ops.Not(ops.IsAnyOf() as condition)):
            return ("is_none(", condition_items(condition), ")")
        case ops.Indicator(ops.IsMissing() | ops.IsAnyOf() as condition):
            return ("is_any(", condition_items(condition), ")")
        case ops.Call(function, value):
            return f"math.{function}({on_one_line(code_of(value, names))})"
        case ops.Sum(terms, constant):
            parts = [
                f"{float_code(factor)} * {on_one_line(code_of(value, names))}"
                for factor, value in terms
            ]
            return f"({' + '.join([*parts, float_code(constant)])})"
        case _:
            raise TypeError(f"Python modules have no code for {node!r}.")


def condition_items(condition: ops.IsMissing | ops.IsAnyOf) -> list[Code]:
    """The variable `cell`, and all contents of the cell for which the condition holds."""
    if isinstance(condition, ops.IsMissing):
        return ["cell", "MISSING"]
    missing = ["MISSING"] * condition.missing
    return ["cell", *missing, *(text_code(text) for text in condition.texts)]


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


def activation_lines(head: str, activation: ops.Positive, names: dict[str, str]) -> list[str]:
    """A call of `activation` after the code `head`, with one literal after the other."""
    inside = activation.value
    literals = inside.values if isinstance(inside, ops.Smallest) else (inside,)
    lines = [f"{head}activation("]
    for literal in literals:
        if isinstance(literal, ops.Sum):
            lines += sum_lines(*summands(literal, names))
        else:
            lines += laid_out("        ", code_of(literal, names), ",")
    return [*lines, "    )"]


def summands(total: ops.Sum, names: dict[str, str]) -> tuple[Summands, float]:
    """The terms of a sum, with the largest factors first, and its constant."""
    ordered = sorted(total.terms, key=lambda term: -abs(term[0]))
    parts = [(factor, on_one_line(code_of(value, names))) for factor, value in ordered]
    return parts, total.constant


def sum_lines(summands: Summands, constant: float) -> list[str]:
    """A sum as an argument of a call. It is on one line if it fits."""
    parts = [product_code(factor, term) for factor, term in summands]
    if constant or not parts:
        parts.append(float_code(constant))
    if len(parts) > MAX_SUMMANDS:
        listed = [f"                {part}," for part in parts]
        return ["        sum(", "            [", *listed, "            ]", "        ),"]
    signed = [f"- {part[1:]}" if part[0] == "-" else f"+ {part}" for part in parts[1:]]
    line = f"        {' '.join([parts[0], *signed])},"
    if len(line) <= WIDTH:
        return [line]
    return [*(f"        {part}" for part in [parts[0], *signed[:-1]]), f"        {signed[-1]},"]


def product_code(factor: float, term: str) -> str:
    """The code of a factor times a term. A factor of 1 is left out."""
    if abs(factor) == 1:
        return f"-{term}" if factor < 0 else term
    return f"{float_code(factor)} * {term}"


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
    plain = label.item() if isinstance(label, np.generic) else label
    if type(plain) is str:
        return text_code(plain)
    if type(plain) not in (bool, int, float):
        raise TypeError(
            f"to_python cannot write the class {plain!r}: labels must be strings, numbers or "
            "booleans. Fit on y with such labels, for example y.astype(str)."
        )
    return repr(plain)
