"""The options of `fit` for parameters of the estimators, made from the declared parameters."""

from __future__ import annotations

import csv
import functools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from numbers import Integral
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from neuralrules._cli._errors import in_options, option_name
from neuralrules._cli._options import Command, Option, Parsed

SECTION = "Parameters of the model"
# Parameters without an option made from them. The terminal decides whether there is a progress
# bar. Every command line starts a new fit, and compares candidates by their loss. `fit` itself
# declares the options for expert rules, for the checkpoint and for texts that mean missing.
NO_OPTIONS = ("verbose", "warm_start", "scoring", "expert_rules", "checkpoint", "missing")
RANDOM_STATE = 0
TOO_LARGE = 2**32  # numbers from here on are too large for a count or for an integer of C
# Help texts for parameters whose declared text is about Python.
TEXTS = {
    "max_depth": (
        "Depth of the trees, and so the largest number of literals of a rule. The parameter "
        "that matters most; --cv chooses it, up to the depth given."
    ),
    "n_jobs": (
        "Threads to train with (for --cv, processes to search with); -1 means all cores. The "
        "result does not depend on it."
    ),
    "random_state": (
        "Seed of tree growing, batches, held-out rows and folds. A number by default, unlike "
        "in Python, so that a command line can be repeated."
    ),
    "class_weight": (
        'Weight of each class, as in \'{"yes": 5, "no": 1}\'; balanced makes them inversely '
        "proportional to the classes' numbers of rows."
    ),
}


def read_direction(text: str) -> tuple[str, int, str | None]:
    """Read "column=1", "column=-1" or "column=-1:class"."""
    found = re.fullmatch(r"(.+?)=([+-]?1)(?::(.+))?", text)
    if not found:
        raise ValueError(text)
    column, direction, label = found.groups()
    return column, int(direction), label


def read_names(text: str) -> list[str]:
    """Read names with commas between them. A name that contains a comma is in quotes."""
    names = next(csv.reader([text]), [])
    if not names or not all(names):
        raise ValueError(text)
    return names


# The options for parameters that name columns; each may be given several times.
COLUMN_OPTIONS: dict[str, dict[str, Any]] = {
    "monotone": {
        "type": Parsed(
            read_direction,
            "a column with its direction, such as age=1, income=-1, or income=-1:bad for the "
            "class bad",
        ),
        "metavar": "COL=1|-1[:CLASS]",
        "help": "A column of numbers or dates with a direction: with 1 the prediction never "
        "falls when the column rises, with -1 it never rises. This holds for all rows, seen or "
        "not. For classes, the prediction is the probability of the class that is named, as in "
        "late_payments=1:bad, or of the second of two classes. May be given several times.",
    },
    "interactions": {
        "type": Parsed(read_names, "a list of columns, such as age,income"),
        "metavar": "COL,COL,…",
        "help": "Columns that may occur together in a rule; may be given several times. A "
        "column that is never named occurs with no other one.",
    },
    "exclude": {
        "metavar": "COL",
        "help": "A column that no rule may use; may be given several times. Unlike with "
        "--drop, tables to predict need this column too.",
    },
}


class FitCommand(Command):
    """A command with an option for each parameter of the estimators.

    The options are made only when they are needed, because importing the estimators takes
    longer than the help of all other commands.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        last = [option for option in own if getattr(option, "section", "Other") == "Other"]
        first = [option for option in own if option not in last]
        return [*first, *estimator_options(), *last]


class Allowed(NamedTuple):
    """One kind of value that a parameter may have."""

    metavar: str  # the placeholder for such a value in the help
    words: str  # a description of such a value, for messages
    constraint: Any  # scikit-learn's constraint that such a value satisfies


class ParameterType(click.ParamType):  # type: ignore[type-arg]  # not in all of click 8
    """An option type that turns text into a value that the estimators allow."""

    name = "value"

    def __init__(self, constraints: Sequence[Any]) -> None:
        self.allowed = [one for part in constraints for one in allowed_values(part)]
        self.metavar = "|".join(one.metavar for one in self.allowed)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        for candidate in readings(value):
            if isinstance(candidate, int) and abs(candidate) >= TOO_LARGE:
                return self.fail(f"{value} is too large.", param, ctx)
            if self.allows(candidate):
                return candidate
        return self.fail(f"{value!r} is not {self.words}.", param, ctx)

    def allows(self, value: Any) -> bool:
        return any(one.constraint.is_satisfied_by(value) for one in self.allowed)

    @property
    def words(self) -> str:
        return " or ".join(one.words for one in self.allowed)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        words = [one for one in self.metavar.split("|") if one.islower()]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def readings(text: str) -> Iterator[Any]:
    """The values that a text may mean: a number, a dict, None, or the text itself."""
    for read in (int, finite, json_object):
        try:
            yield read(text)
        except ValueError:
            continue
    yield None if text == "none" else text


def finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def allowed_values(constraint: Any) -> Iterator[Allowed]:
    """The kinds of values that one of scikit-learn's constraints allows."""
    from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

    made = make_constraint(constraint)
    if constraint is None:
        yield Allowed("none", "none", made)
    elif constraint in (tuple, list):
        return  # these values are for programs, not for the command line
    elif constraint is dict:
        yield Allowed("JSON", "a JSON object from classes to weights", made)
    elif constraint == "boolean":
        yield Allowed("", "", made)
    elif constraint is Integral:
        yield Allowed("N", "a whole number", made)
    elif constraint == "random_state":
        yield from allowed_values(Interval(Integral, 0, 2**32 - 1, closed="both"))
        yield from allowed_values(None)
    elif isinstance(constraint, StrOptions):
        for word in sorted(constraint.options):
            yield Allowed(word, word, made)
    elif isinstance(constraint, Interval):
        whole = constraint.type is Integral
        what = "a whole number" if whole else "a number"
        yield Allowed("N" if whole else "X", f"{what}{bounds_text(constraint)}", made)
    else:
        raise NotImplementedError(f"no option can be made for the constraint {constraint!r}")


def bounds_text(interval: Any) -> str:
    """The bounds of an interval in words."""
    low = "at least" if interval.closed in ("left", "both") else "more than"
    high = "at most" if interval.closed in ("right", "both") else "less than"
    bounds = {low: interval.left, high: interval.right}
    parts = [
        f"{words} {bound}"
        for words, bound in bounds.items()
        if bound is not None and math.isfinite(bound)
    ]
    return f" of {' and '.join(parts)}" if parts else ""


def declared_parameters() -> dict[str, dict[str, Field[Any]]]:
    """The declarations of each parameter of the estimators, by task."""
    from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor

    declared: dict[str, dict[str, Field[Any]]] = {}
    estimators = {"classification": NeuralRuleClassifier, "regression": NeuralRuleRegressor}
    for task, estimator in estimators.items():
        # Parameters that Python accepts by position come first.
        for parameter in sorted(fields(estimator), key=lambda one: bool(one.kw_only)):
            declared.setdefault(parameter.name, {})[task] = parameter
    return declared


@functools.cache
def estimator_options() -> tuple[Option, ...]:
    """One option for each parameter that the estimators declare."""
    declared = declared_parameters()
    return tuple(
        estimator_option(name, by_task, declared)
        for name, by_task in declared.items()
        if name not in NO_OPTIONS
    )


def estimator_option(
    name: str, by_task: Mapping[str, Field[Any]], parameters: Collection[str]
) -> Option:
    """The option for a parameter; `by_task` has its declaration for each task."""
    names = [name, option_name(name)]
    default = f"  [default: {default_text(name, by_task)}]"
    if name in COLUMN_OPTIONS:
        about = COLUMN_OPTIONS[name]
        about = about | {"help": about["help"] + default, "multiple": True}
        return Option(names, section=SECTION, **about)
    first, *_ = by_task.values()
    text = TEXTS.get(name, for_command_line(first.metadata["text"], parameters))
    if len(by_task) == 1:
        text += f" For {next(iter(by_task))} only."
    allowed = allowed_by_any([each.metadata["allowed"] for each in by_task.values()])
    if "boolean" in allowed:  # a word that is allowed too is the value without a flag
        names[1] += f"/--no-{names[1][2:]}"
        return Option(names, section=SECTION, default=None, help=text + default)
    kind = ParameterType(allowed)
    return Option(names, section=SECTION, type=kind, metavar=kind.metavar, help=text + default)


def allowed_by_any(by_task: Sequence[Sequence[Any]]) -> list[Any]:
    """The words that any of the estimators allows, and the other constraints of the first."""
    from sklearn.utils._param_validation import StrOptions

    all_words = [one for allowed in by_task for one in allowed if isinstance(one, StrOptions)]
    words = {word for one in all_words for word in one.options}
    others = [one for one in by_task[0] if not isinstance(one, StrOptions)]
    return [*([StrOptions(words)] if words else []), *others]


def for_command_line(text: str, parameters: Collection[str]) -> str:
    """A text about parameters, with options in their place and without quotes around words."""

    def option_of(found: re.Match[str]) -> str:
        return option_name(found[1]) if found[1] in parameters else found[0]

    named = re.sub(r"`(\w+)`", option_of, in_options(text, list(parameters)))
    return re.sub(r'"(\w+)"', r"\1", named.replace("`", ""))


def default_text(name: str, by_task: Mapping[str, Field[Any]]) -> str:
    """The default value as a user would write it on the command line."""
    if name == "random_state":
        return str(RANDOM_STATE)

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "none" if value is None else str(value)

    defaults = {task: text(parameter.default) for task, parameter in by_task.items()}
    if len(set(defaults.values())) == 1:
        return next(iter(defaults.values()))
    return ", ".join(f"{value} for {task}" for task, value in defaults.items())


def given_parameters(context: click.Context) -> dict[str, Any]:
    """The parameters that the command line gives, and `random_state` with its own default."""
    given = {
        name: context.params[name]
        for name in parameter_names()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    given |= {name: as_parameter(name, given[name]) for name in COLUMN_OPTIONS if name in given}
    if given.get("n_jobs") == 0:
        raise click.BadParameter(
            "0 is not a number of threads. Give 1 or more, or -1 for all cores.",
            param_hint="'--n-jobs'",
        )
    return {"random_state": RANDOM_STATE, **given}


def parameter_names() -> list[str]:
    """The parameters that have an option."""
    return [str(option.name) for option in estimator_options()]


def check_values(task: str, parameters: Mapping[str, Any]) -> None:
    """Refuse values of options that only the estimator of the other task allows."""
    declared = declared_parameters()
    for name, value in parameters.items():
        if task not in declared[name]:
            raise click.UsageError(f"{option_name(name)} is not for {task}. Leave it out.")
        if name in COLUMN_OPTIONS:  # these parameters are the same for both tasks
            continue
        kind = ParameterType(declared[name][task].metadata["allowed"])
        if not kind.allows(value):
            raise click.BadParameter(
                f"{value!r} is not for {task}. Give {kind.words}.",
                param_hint=f"'{option_name(name)}'",
            )


def as_parameter(name: str, given: Any) -> Any:
    """The value of a parameter, from all values that were given for its option."""
    if name != "monotone":
        return list(given)
    directions: dict[str, dict[str | None, int]] = {}
    for column, direction, label in given:
        by_class = directions.setdefault(column, {})
        if by_class.setdefault(label, direction) != direction:
            raise click.UsageError(
                f"--monotone gives {column!r} both directions. Give one, or none."
            )
        if None in by_class and len(by_class) > 1:
            raise click.UsageError(
                f"--monotone gives {column!r} directions with and without a class. Give one of "
                "them."
            )
    return {column: by_class.get(None, by_class) for column, by_class in directions.items()}


def named_columns(parameters: dict[str, Any]) -> dict[str, list[str]]:
    """The columns that each option about columns names."""
    return {
        option_name(name): [
            column
            for given in parameters.get(name, ())
            for column in ([given] if isinstance(given, str) else given)
        ]
        for name in COLUMN_OPTIONS
    }
