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

The code takes standardised columns, as the network does; the comments speak of the table's
own units. Sums in those units would lose digits: a column of mean 1e9 and deviation 1 would
need w x - w 1e9, two summands that cancel nine of the sixteen digits they have. Literals
are also shorter so, since a column's mean and deviation stand in the module only once.

The user's text enters the code as ASCII literals only, and comments only through
`printable`, which leaves no line break in it.
"""

from __future__ import annotations

import textwrap
from typing import Any, TypeAlias

import numpy as np

from neuralrules._data._columns import EncodedColumn
from neuralrules._data._dates import EPOCH
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._export._extras import NOTHING, Extras
from neuralrules._export._python_code import WIDTH, bracketed, float_code, text_code
from neuralrules._export._python_extras import extra_functions, extra_summary, extra_tables
from neuralrules._export._python_templates import (
    ACTIVATION,
    AS_NUMBER,
    CATEGORIES,
    CATEGORY,
    CELL,
    DAYS,
    DAYS_OF_TEXT,
    DECISION,
    DEEP,
    DOCSTRING,
    HOLES,
    IN_DAYS,
    MARKED_NUMBER,
    MARKED_TEXT,
    MARKERS,
    NUMBER,
    NUMBERS,
    ON_LINE,
    PREDICT,
    PREDICT_PROBA,
    SCALED,
    SPELLINGS,
    STANDARDISE_CATEGORIES,
    STANDARDISE_HOLES,
    STANDARDISE_NUMBERS,
    STANDARDISE_SCALED,
    STANDARDISED,
)
from neuralrules._export._size import size_text
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network
from neuralrules._reading._names import printable
from neuralrules._reading._numbers import number
from neuralrules._reading._reach import cap
from neuralrules._reading._text import condition_texts, letter, named_literals, value_text
from neuralrules._reading._wording import EVERY_ROW
from neuralrules._task._losses import LARGEST_OUTPUT

Summands: TypeAlias = list[tuple[float, str]]  # factors and what they multiply

# Python's compiler goes a call deeper for every "+" and gives up after some thousand.
MAX_SUMMANDS = 200
PRECISION, MAX_TERMS = 3, 3  # of comments, as in `rules_text`
# A module over ASCII names is ASCII, so that it may be written in any encoding.
IN_COMMENTS = str.maketrans({"·": "*", "…": "...", "⁺": "_plus"})


def to_python(fitted: Fitted, extras: Extras = NOTHING) -> str:
    """See `Documents.to_python`, which calls it."""
    network = fitted.network.without_unused_features()
    used = [fitted.encoder.columns[feature] for feature in network.features]
    terms = [term_code(fitted.encoder, column) for column in used]
    rules = range(network.n_rules)
    parts = [
        head_lines(fitted, used, extras),
        *answering_functions(fitted),
        *extra_functions(fitted, extras),
        *reading_functions(fitted.encoder, used),
        [ACTIVATION],
        *([*comment_lines(fitted, i), *rule_lines(network, terms, i)] for i in rules),
        bracketed("RULES = [", [f"rule_{i}" for i in rules], "]"),
        *extra_tables(fitted, extras),
    ]
    return "\n\n\n".join("\n".join(lines) for lines in parts) + "\n"


def head_lines(fitted: Fitted, used: list[EncodedColumn], extras: Extras) -> list[str]:
    """What stands before the first function."""
    lines = [docstring(fitted, extras), ""]
    link = fitted.task.loss.link.function
    if fitted.task.gives_probabilities or link or extras.card is not None:
        lines += ["import math"]
    if date_names(fitted.encoder, used):
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
    return [*lines, *column_lines(fitted.encoder, used)]


def docstring(fitted: Fitted, extras: Extras) -> str:
    """What the module is, its size and its functions, without any text of the user's."""
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


def answering_functions(fitted: Fitted) -> list[list[str]]:
    """Predictions, probabilities if the model has them, and decisions."""
    single = fitted.network.n_outputs == 1
    text, code = "What the model predicts.", f"return {linked_code(fitted)}"
    if fitted.task.are_classes and single:
        text = "The second class if the decision is positive, else the first."
        code = "return CLASSES[1] if decision(row) > 0 else CLASSES[0]"
    elif fitted.task.are_classes:
        text = "The class of the largest output, of equal ones the first."
        code = "outputs = decision(row)\n    return CLASSES[outputs.index(max(outputs))]"
    functions = [[PREDICT.format(text=text, code=code)]]
    if fitted.task.gives_probabilities:
        # Of two classes the first has no output, which is as good as 0.
        outputs = "[0.0, decision(row)]" if single else "decision(row)"
        functions.append([PREDICT_PROBA.format(outputs=outputs)])
    text, code = "Intercept and rules.", "INTERCEPT + sum(rule(x) for rule in RULES)"
    if not single:
        text = "Intercept and rules, for each output."
        code = "[sum(parts) for parts in zip(INTERCEPT, *(rule(x) for rule in RULES))]"
    return [*functions, [DECISION.format(text=text, code=code)]]


def linked_code(fitted: Fitted) -> str:
    """From decisions to predictions of numbers."""
    function = fitted.task.loss.link.function
    if function is None:
        return "decision(row)"
    call = f"math.{function}(max({-LARGEST_OUTPUT}, min({LARGEST_OUTPUT}, {{}})))"
    if fitted.task.n_outputs == 1:
        return call.format("decision(row)")
    return f"[{call.format('output')} for output in decision(row)]"


def reading_functions(encoder: Encoder, used: list[EncodedColumn]) -> list[list[str]]:
    """From a row to the standardised columns, for those kinds of columns that occur."""
    kinds = {kind_of(column) for column in used}
    numbers = kinds & {"number", "scaled", "missing"}
    categories = kinds & {"category", "rare"}
    standardised = STANDARDISED
    standardised += STANDARDISE_NUMBERS if "number" in kinds else ""
    standardised += STANDARDISE_SCALED if "scaled" in kinds else ""
    standardised += STANDARDISE_HOLES if "missing" in kinds else ""
    standardised += STANDARDISE_CATEGORIES if categories else ""
    functions = [[standardised, "    return x"]]
    functions += [[CELL]] if kinds else []
    dates = bool(date_names(encoder, used))
    number = NUMBER.replace("{value}", IN_DAYS if dates else "as_number(cell)")
    for place, code in (("{text}", MARKED_TEXT), ("{number}", MARKED_NUMBER)):
        number = number.replace(place, code if encoder.missing else "")
    functions += [[number], [AS_NUMBER]] if numbers else []
    functions += [[DAYS], [DAYS_OF_TEXT]] if dates else []
    functions += [[ON_LINE]] if "scaled" in kinds else []
    found = (
        "SPELLINGS.get(name, {}).get(text, text)" if spelling_lines(encoder, used) else "text"
    )
    return functions + ([[CATEGORY, f"    return {found}"]] if categories else [])


def column_lines(encoder: Encoder, used: list[EncodedColumn]) -> list[str]:
    """Means and deviations, or knots, of the columns that the rules look at."""
    categorical = [column for column in used if column.kind in ("category", "rare")]
    lines = ["MISSING = None"] if used else []
    if len(categorical) < len(used):
        lines.append(f"LARGEST = {float_code(LARGEST)}  # no number may be beyond it")
        lines += marker_lines(encoder, used)
    dates = [text_code(name) for name in date_names(encoder, used)]
    if dates:
        lines += bracketed("DATES = {", dates, f"}}  # in days since {EPOCH}")
    if categorical:
        lines.append("OTHER = object()  # every category that is not listed")
    for kind, head in (("number", NUMBERS), ("scaled", SCALED), ("missing", HOLES)):
        own = [column for column in used if kind_of(column) == kind]
        if own:
            lines.append(head)
            for column in own:
                lines += entry_lines(1, text_code(encoder.names[column.source]), column)
            lines.append("}")
    if categorical:
        lines.append(CATEGORIES)
        for source in sorted({column.source for column in categorical}):
            lines.append(f"    {text_code(encoder.names[source])}: {{")
            for column in listed_categories(encoder, categorical, source):
                lines += entry_lines(2, category_code(column), column)
            lines.append("    },")
        lines.append("}")
        lines += spelling_lines(encoder, categorical)
    return lines


def marker_lines(encoder: Encoder, used: list[EncodedColumn]) -> list[str]:
    """What else means missing in the columns of numbers that the rules look at."""
    if not encoder.missing:
        return []
    texts = [text_code(text) for text in sorted(encoder.markers.texts)]
    lines = [MARKERS, *bracketed("MISSING_TEXTS = {", texts, "}"), "MISSING_NUMBERS = {"]
    sources = {column.source for column in used if column.kind in ("number", "missing")}
    for source in sorted(sources):
        numbers = encoder.columns_of(source)[0].marked(encoder.markers)
        codes = [marker_code(number) for number in numbers]
        lines += bracketed(f"    {text_code(encoder.names[source])}: [", codes, "],")
    return [*lines, "}"]


def marker_code(number: float) -> str:
    """A number that means missing; infinity may, too."""
    return float_code(number) if np.isfinite(number) else f'float("{number}")'


def date_names(encoder: Encoder, used: list[EncodedColumn]) -> list[str]:
    """The columns of dates among those that the rules look at."""
    sources = sorted({column.source for column in used})
    return [encoder.names[s] for s in sources if encoder.columns_of(s)[0].is_date]


def spelling_lines(encoder: Encoder, used: list[EncodedColumn]) -> list[str]:
    """The other ways to write the categories that the module lists."""
    lines = [SPELLINGS]
    categorical = [column for column in used if column.kind in ("category", "rare")]
    for source in sorted({column.source for column in categorical}):
        listed = {column.category for column in listed_categories(encoder, categorical, source)}
        entries = [
            f"{text_code(cell)}: {'MISSING' if name is None else text_code(name)}"
            for cell, name in encoder.spellings(source).items()
            if cell is not None and cell != name and name in listed
        ]
        if entries:
            lines += bracketed(f"    {text_code(encoder.names[source])}: {{", entries, "},")
    return [*lines, "}"] if len(lines) > 1 else []


def listed_categories(
    encoder: Encoder, used: list[EncodedColumn], source: int
) -> list[EncodedColumn]:
    """Indicators of a column of categories that a module must know.

    Those that the rules look at; or all, if one of these is that of the rare categories,
    which holds where no other does.
    """
    own = [column for column in used if column.source == source]
    if all(column.kind == "category" for column in own):
        return own
    return encoder.columns_of(source)


def kind_of(column: EncodedColumn) -> str:
    """The kind of a column, "scaled" if it is one of numbers with knots."""
    return column.kind if column.knots is None else "scaled"


def entry_lines(depth: int, key: str, column: EncodedColumn) -> list[str]:
    """An entry of a dict: mean and deviation of a column, or its knots."""
    indent = "    " * depth
    if column.knots is not None:
        lists = [[float_code(end) for end in ends] for ends in (column.knots.x, column.knots.z)]
        lines = [line for one in lists for line in bracketed(f"{indent}    [", one, "],")]
        return [f"{indent}{key}: (", *lines, f"{indent}),"]
    moments = [float_code(column.mean), float_code(column.scale)]
    return bracketed(f"{'    ' * depth}{key}: (", moments, "),")


def comment_lines(fitted: Fitted, rule: int) -> list[str]:
    """A rule for people, in the units of the table, rounded."""
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


def rule_lines(network: Network, terms: list[str], rule: int) -> list[str]:
    """The function of a rule over the codes of the network's columns."""
    own = slice(network.offsets[rule], network.offsets[rule + 1])
    sums = summed(network.weights[own], terms, network.biases[own])
    lines = [f"def rule_{rule}(x):"]
    if network.deep:
        mixing = network.second_layer(rule)
        names = [f"{letter(place)}_plus" for place in range(len(sums))]
        for place, name in enumerate(names):
            if mixing[:, place].any():
                lines += activation_lines(f"    {name} = ", [sums[place]])
        sums = summed(mixing, names, network.shifts[own])
    values = [float_code(value) for value in network.values[rule]]
    if len(values) == 1:
        return [*lines, *activation_lines(f"    return {values[0]} * ", sums)]
    lines += activation_lines("    a = ", sums)
    return [*lines, *bracketed("    return [", [f"{value} * a" for value in values], "]")]


def summed(
    weights: np.ndarray, terms: list[str], constants: np.ndarray
) -> list[tuple[Summands, float]]:
    """Sums of terms, those of largest weight first, and their constants.

    Parameters
    ----------
    weights : (n_sums, n_terms) float32
    terms : list of str
    constants : (n_sums,) float32
    """
    orders = np.argsort(-np.abs(weights), axis=1, kind="stable")
    return [
        ([(float(row[i]), terms[i]) for i in order if row[i]], float(constant))
        for row, order, constant in zip(weights, orders, constants, strict=True)
    ]


def activation_lines(head: str, sums: list[tuple[Summands, float]]) -> list[str]:
    """A call of `activation` behind the code `head`, one sum after the other."""
    lines = [f"{head}activation("]
    for summands, constant in sums:
        lines += sum_lines(summands, constant)
    return [*lines, "    )"]


def sum_lines(summands: Summands, constant: float) -> list[str]:
    """A sum as an argument of a call, on one line if it fits."""
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
    """A factor times a term, without a factor of 1."""
    if abs(factor) == 1:
        return f"-{term}" if factor < 0 else term
    return f"{float_code(factor)} * {term}"


def term_code(encoder: Encoder, column: EncodedColumn) -> str:
    """An encoded column as rules name it."""
    name = text_code(encoder.names[column.source])
    return f"x[{name}]" if column.kind == "number" else f"x[{name}, {category_code(column)}]"


def category_code(column: EncodedColumn) -> str:
    """What an indicator stands for."""
    if column.kind == "rare":
        return "OTHER"
    return "MISSING" if column.category is None else text_code(column.category)


def label_code(label: Any) -> str:
    """A class as a literal."""
    plain = label.item() if isinstance(label, np.generic) else label
    if type(plain) is str:
        return text_code(plain)
    if type(plain) not in (bool, int, float):
        raise TypeError(
            f"to_python cannot write the class {plain!r}: labels must be strings, numbers or "
            "booleans. Fit on y with such labels, for example y.astype(str)."
        )
    return repr(plain)
