"""`neuralrules edit`: change the rules of a model by hand."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from neuralrules._cli._compare import FIRST_ROW, comparison_record
from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import InputError, library_errors, say
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, load_model
from neuralrules._cli._options import Command, Parsed, console_options, option, output_option

SECTION = "Changes (each but --text may be given several times)"
EDITORS = ("VISUAL", "EDITOR")  # variables that name the editor, in the order usual on Unix


def read_change(text: str) -> tuple[int, str]:
    """Read the number of a rule and its new value, with an equals sign between them."""
    rule, sign, given = text.partition("=")
    if not sign or not rule.strip().isdecimal() or not given.strip():
        raise ValueError(text)
    return int(rule), given.strip()


def rule_option(name: str, text: str) -> Any:
    """An option that names rules."""
    return option(
        name,
        metavar="N",
        type=click.IntRange(0),
        multiple=True,
        section=SECTION,
        help=text,
    )


def given_option(name: str, metavar: str, example: str, text: str) -> Any:
    """An option that gives rules new values."""
    return option(
        name,
        metavar=metavar,
        type=Parsed(read_change, f"the number of a rule with its new value, such as {example}"),
        multiple=True,
        section=SECTION,
        help=text,
    )


@click.command(
    "edit",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote.",
        "[DATA]": "Rows to measure the change on, if possible rows that the model was not "
        "fitted on; - for standard input.",
    },
    examples=[
        "neuralrules edit iris.nrules --drop 3 --freeze 0 -o edited.nrules",
        "neuralrules edit houses.nrules houses.parquet --value 0=12.5 -o edited.nrules",
        "neuralrules edit iris.nrules iris_test.csv --text iris.txt -o edited.nrules",
    ],
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True), required=False)
@output_option("The model file to write.", metavar="OUT", required=True)
@rule_option("--drop", "A rule to drop, by its number in `rules`.")
@rule_option("--freeze", "A rule that later training must not change.")
@rule_option("--unfreeze", "A frozen rule that later training may change again.")
@given_option(
    "--replace",
    "N=RULE",
    '"3=income > 20000"',
    'A rule with its new conditions, such as "3=income > 20000 and region = west".',
)
@given_option(
    "--value",
    "N=X",
    "3=0.5",
    "The new value of a rule, in the units of the outputs; for several outputs, values with "
    "commas between them.",
)
@option(
    "--text",
    metavar="FILE",
    type=click.Path(),
    section=SECTION,
    help="A file with the whole model, as `rules --exact` wrote it and you changed it.",
)
@labelled_table_options
@console_options
def edit(
    *,
    model: str,
    data: str | None,
    output: str,
    drop: Sequence[int],
    freeze: Sequence[int],
    unfreeze: Sequence[int],
    replace: Sequence[tuple[int, str]],
    value: Sequence[tuple[int, str]],
    text: str | None,
    table: LabelledTable,
    console: Console,
) -> None:
    """Change the rules of a model by hand, and say what changed.

    Without changes on the command line, the editor that $VISUAL or $EDITOR names opens the
    exact text of the model. With DATA, the command says which predictions change, and
    whether they get better or worse. MODEL itself is not changed.
    """
    changes = {
        "drop": list(drop),
        "freeze": list(freeze),
        "unfreeze": list(unfreeze),
        "replace": dict(replace),
        "values": {rule: numbers_of(given) for rule, given in value},
    }
    asked = {name: given for name, given in changes.items() if given}
    if text is not None and asked:
        raise click.UsageError("--text says the whole model. Give it alone, or other changes.")
    loaded = load_model(model)
    path = checked_output(output, "edited.nrules", [model, data, text])
    rows = table.read(loaded, data, console, target_needed=False)
    draft = None
    if asked:
        with library_errors():
            changed = loaded.edit(**changes)
    elif text is not None:
        with library_errors():
            changed = loaded.edit(text=read_text(text))
    else:
        changed, draft = edited_by_hand(loaded)
    report_and_save(loaded, changed, rows, path, console)
    if draft is not None:  # the text of the draft is in the model file now
        draft.unlink(missing_ok=True)


def numbers_of(given: str) -> float | list[float]:
    """Read the value of a rule, or several values with commas between them."""
    try:
        numbers = [float(part) for part in given.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is not a number, or several with commas between them.",
            param_hint="'--value'",
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def read_text(path: str) -> str:
    """The text of a file that a person wrote."""
    try:
        return Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path!r} is not a text in UTF-8. Save it as such.") from None


def edited_by_hand(model: Any) -> tuple[Any, Path]:
    """Let the user edit a model's text in an editor; return the new model and the edited file.

    The file is kept until a model file holds its text, so that no work is lost.
    """
    check_editor()
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


def check_editor() -> None:
    """Refuse to edit if there is neither an editor nor a terminal."""
    if not any(os.environ.get(name) for name in EDITORS) and not sys.stdin.isatty():
        raise InputError(
            "no change is given, and there is no editor to make one with: neither $VISUAL nor "
            "$EDITOR is set, and there is no terminal. Set one, or give --drop, --value and "
            "the like, or --text."
        )


def report_and_save(model: Any, changed: Any, rows: Any, path: Path, console: Console) -> None:
    """Write the model file, and print what changed and how the predictions change."""
    from neuralrules._compare._comparison import comparison_text
    from neuralrules._estimators._changes import compare

    with library_errors(), console.progress("Comparing"):
        compared = compare(model, changed, rows.X, rows.y, sample_weight=rows.weights)
        changed.save(path)
    n_bytes = path.stat().st_size
    text = comparison_text(compared, FIRST_ROW)
    done = changed.lineage_[-1].summary
    console.summary(
        f"A is the model before, B the one after. Done: {done}.\n{text}\n\nSaved in {path}, "
        f"{bytes_text(n_bytes)}.",
        {"model": str(path), "bytes": n_bytes, "done": done, **comparison_record(compared)},
    )
