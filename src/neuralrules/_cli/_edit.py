"""`neuralrules edit` and `neuralrules simplify`: make another model from a model."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from neuralrules._cli._console import Console
from neuralrules._cli._errors import InputError, library_errors, say
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, load_model
from neuralrules._cli._options import (
    FILE,
    FITTED,
    Parsed,
    argument,
    command,
    output_file,
    read_text,
    value,
)
from neuralrules._cli._report import FIRST_ROW, comparison_record

EDITORS = ("VISUAL", "EDITOR")  # variables that name the editor, in the order usual on Unix
CHANGES = "Changes (each but --text may be given several times)"
SIZES = {"n_rules": "rules", "n_literals": "literals", "n_parameters": "parameters"}
LOSSES = {
    "loss": "loss on DATA",
    "validation_loss": "loss on other rows",
    "error": "error on other rows",
}


def read_change(text: str) -> tuple[int, str]:
    """Read the number of a rule and something new for it, with an equals sign between them."""
    rule, _, given = text.partition("=")
    if not rule.strip().isdecimal() or not given.strip():
        raise ValueError(text)
    return int(rule), given.strip()


def read_value(text: str) -> tuple[int, Any]:
    """Read the number of a rule and its new value, or several values."""
    rule, given = read_change(text)
    numbers = Parsed(read_numbers, "a number, or several with commas between them")
    return rule, numbers.convert(given, None, None)


def read_numbers(text: str) -> float | list[float]:
    numbers = [float(part) for part in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


def rule_numbers(text: str) -> Any:
    """Declare an option that names rules."""
    return value(click.IntRange(0), text, multiple=True, section=CHANGES)


def changed_rules(
    metavar: str, read: Callable[[str], Any], example: str, text: str, *flags: str
) -> Any:
    """Declare an option that gives rules something new."""
    kind = Parsed(read, f"the number of a rule with its new value, such as {example}")
    return value(kind, text, *flags, metavar=metavar, multiple=True, section=CHANGES)


@command(
    "neuralrules edit iris.nrules --drop 3 --freeze 0 -o edited.nrules",
    "neuralrules edit houses.nrules houses.parquet --value 0=12.5 -o edited.nrules",
    "neuralrules edit iris.nrules iris_test.csv --text iris.txt -o edited.nrules",
)
@labelled_table_options
def edit(
    *,
    model: str = argument(FITTED),
    data: str | None = argument(
        "Rows to measure the change on, if possible rows that the model was not fitted on; - "
        "for standard input.",
        required=False,
    ),
    output: str = output_file("OUT", "The model file to write.", required=True),
    drop: Sequence[int] = rule_numbers("A rule to drop, by its number in `rules`."),
    freeze: Sequence[int] = rule_numbers("A rule that later training must not change."),
    unfreeze: Sequence[int] = rule_numbers(
        "A frozen rule that later training may change again."
    ),
    replace: Sequence[tuple[int, str]] = changed_rules(
        "N=RULE",
        read_change,
        '"3=income > 20000"',
        'A rule with its new conditions, such as "3=income > 20000 and region = west".',
    ),
    values: Sequence[tuple[int, Any]] = changed_rules(
        "N=X",
        read_value,
        "3=0.5",
        "The new value of a rule, in the units of the outputs; for several outputs, values "
        "with commas between them.",
        "--value",
    ),
    text: str | None = value(
        FILE,
        "A file with the whole model, as `rules --exact` wrote it and you changed it.",
        section=CHANGES,
    ),
    table: LabelledTable,
    console: Console,
) -> None:
    """Change the rules of a model by hand, and say what changed.

    Without changes on the command line, the editor that $VISUAL or $EDITOR names opens the
    exact text of the model. With DATA, the command says which predictions change, and
    whether they get better or worse. MODEL itself is not changed.
    """
    from neuralrules._compare._comparison import comparison_text
    from neuralrules._estimators._changes import compare

    changes: dict[str, Any] = {"drop": drop, "freeze": freeze, "unfreeze": unfreeze}
    changes |= {"replace": dict(replace), "values": dict(values)}
    asked = any(changes.values())
    if text is not None and asked:
        raise click.UsageError("--text says the whole model. Give it alone, or other changes.")
    loaded = load_model(model)
    path = checked_output(output, "edited.nrules", [model, data, text])
    rows = table.read(loaded, data, console, target_needed=False)
    draft = None
    if asked or text is not None:
        with library_errors():
            changed = loaded.edit(**changes, text=None if text is None else read_text(text))
    else:
        changed, draft = edited_by_hand(loaded)
    with library_errors(), console.progress("Comparing"):
        compared = compare(loaded, changed, rows.X, rows.y, sample_weight=rows.weights)
        changed.save(path)
    done = changed.lineage_[-1].summary
    console.saved(
        path,
        f"A is the model before, B the one after. Done: {done}.\n"
        f"{comparison_text(compared, FIRST_ROW)}\n",
        {"done": done, **comparison_record(compared)},
    )
    if draft is not None:  # the text of the draft is in the model file now
        draft.unlink(missing_ok=True)


def edited_by_hand(model: Any) -> tuple[Any, Path]:
    """Let the user edit a model's text in an editor; return the new model and the edited file.

    The file is kept until a model file holds its text, so that no work is lost.
    """
    if not any(os.environ.get(name) for name in EDITORS) and not sys.stdin.isatty():
        raise InputError(
            "no change is given, and there is no editor to make one with: neither $VISUAL nor "
            "$EDITOR is set, and there is no terminal. Set one, or give --drop, --value and "
            "the like, or --text."
        )
    before = model.exact_text()
    descriptor, name = tempfile.mkstemp(prefix="neuralrules-", suffix=".txt")
    draft = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(before)
    while True:
        try:
            click.edit(filename=name)
        except click.ClickException as error:  # the editor cannot be started, or fails
            what = error.format_message().rstrip(".")
            raise InputError(f"{what}. The text is in {name}.") from None
        written = read_text(name)
        if written == before:
            draft.unlink()
            raise InputError("nothing was changed, so no file is written.")
        try:
            with library_errors():
                return model.edit(text=written), draft
        except InputError as error:
            kept = f"What you wrote is in {name}; --text {name} takes it up again."
            if not sys.stdin.isatty():
                raise InputError(f"{error} {kept}") from None
            say(f"error: {error}")
            if not click.confirm("Go on editing?", default=True, err=True):
                raise InputError(f"no file is written. {kept}") from None


@command(
    "neuralrules simplify iris.nrules iris.csv -o small.nrules",
    "neuralrules simplify iris.nrules iris.csv --tolerance 0.05 \\",
    "  --validation iris_test.csv -o small.nrules",
)
@labelled_table_options
def simplify(
    *,
    model: str = argument(FITTED),
    data: str = argument(
        "Rows to train the smaller model on, usually the table of the fit; - for standard "
        "input."
    ),
    output: str = output_file("OUT", "The model file to write.", required=True),
    tolerance: float = value(
        click.FloatRange(0),
        "The share of the gain that may be lost. The gain is the mean loss of the best "
        "constant prediction minus the mean loss of MODEL.",
        default=0.02,
        show_default=True,
    ),
    validation: str | None = value(
        FILE,
        "A table of rows that the model was not fitted on, to measure on. Without it, a second "
        "model is fitted on four fifths of DATA and measured on the last fifth.",
        metavar="DATA2",
    ),
    table: LabelledTable,
    console: Console,
) -> None:
    """Make a model smaller, and hardly worse.

    Step by step, the rules, literals and weights that matter least are dropped, and the
    rest is trained again. The smallest model is kept that loses at most the share
    --tolerance of what MODEL gains over a constant prediction.
    """
    if math.isnan(tolerance):
        raise click.BadParameter("nan is not a number.", param_hint="'--tolerance'")
    if data == validation == "-":
        raise click.UsageError("DATA and --validation cannot both be standard input.")
    loaded = load_model(model)
    path = checked_output(output, "small.nrules", [data, validation])
    rows = table.read(loaded, data, console)
    unseen: dict[str, Any] = {}
    if validation is not None:
        others = dataclasses.replace(table, weight=None).read(loaded, validation, console)
        unseen = {"X_val": others.X, "y_val": others.y}
    with library_errors():
        loaded.set_params(verbose=int(console.shows_progress))
        steps = loaded.simplification_path(rows.X, rows.y, sample_weight=rows.weights, **unseen)
        loaded.set_params(verbose=0)  # so that the model file is the same without a terminal
        chosen = steps.within(tolerance)
        steps.model(chosen).save(path)
    sizes = steps.to_frame()
    before, after = sizes.iloc[0].to_dict(), sizes.iloc[chosen].to_dict()
    lines = [("", "before", "after")]
    lines += [
        (name, f"{int(before[key]):,}", f"{int(after[key]):,}") for key, name in SIZES.items()
    ]
    lines += [(name, f"{before[key]:.4f}", f"{after[key]:.4f}") for key, name in LOSSES.items()]
    width = max(len(name) for name, *_ in lines)
    text = "\n".join(f"  {name:<{width}}  {one:>8}  {other:>8}" for name, one, other in lines)
    console.saved(path, text, {"before": before, "after": after})
