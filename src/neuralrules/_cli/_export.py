"""`neuralrules export`: a model for other engines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import library_errors, option_name
from neuralrules._cli._models import checked_output, label_of, load_model
from neuralrules._cli._options import (
    Command,
    console_options,
    option,
    output_option,
    refuse_mixed_output,
    refuse_without,
)

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel

SQL = "For SQL"
BOTH = "For SQL and Python"
# Options that make sense for some formats only.
FORMATS = {
    "missing_text": ("onnx",),
    **dict.fromkeys(["table", "schema", "dialect", "ids"], ("sql",)),
    **dict.fromkeys(["reasons", "points", "adverse"], ("sql", "python")),
    **dict.fromkeys(["points_to_double", "base", "levels"], ("sql", "python")),
}
EXAMPLES = {"onnx": "model.onnx", "sql": "model.sql", "python": "model.py"}


@click.command(
    "export",
    cls=Command,
    arguments={"MODEL": "A model file that `fit` wrote."},
    examples=[
        "neuralrules export iris.nrules --format onnx -o iris.onnx",
        "neuralrules export iris.nrules --format sql --table plants > iris.sql",
        "neuralrules export iris.nrules --format python -o iris.py",
        "neuralrules export houses.nrules -f python --points --reasons 3 -o houses.py",
    ],
)
@click.argument("model", type=click.Path())
@option(
    "--format",
    "-f",
    "form",
    type=click.Choice(list(EXAMPLES)),
    required=True,
    help="What to write: an ONNX graph, a SQL query, or a Python module that needs no package.",
)
@output_option("The file to write.  [default: standard output]", metavar="OUT")
@option(
    "--missing-text",
    metavar="TEXT",
    section="For ONNX",
    help="The text that stands for a missing category, because ONNX has no missing "
    "texts.  [default: empty]",
)
@option(
    "--table", metavar="NAME", section=SQL, help="The table of the database that is scored."
)
@option("--schema", metavar="NAME", section=SQL, help="The schema of that table.")
@option(
    "--dialect",
    type=click.Choice(["postgresql", "duckdb", "sqlite"]),
    section=SQL,
    help="The database.  [default: postgresql]",
)
@option(
    "--id",
    "ids",
    metavar="COL",
    multiple=True,
    section=SQL,
    help="A column of the table to copy to the result; may be given several times.",
)
@option(
    "--reasons",
    metavar="N",
    type=click.IntRange(1),
    section=BOTH,
    help="Give this many reasons for the adverse outcome of each row, the strongest first.",
)
@option(
    "--points",
    is_flag=True,
    section=BOTH,
    help="Give the whole points of the score card, and what they mean.",
)
@option(
    "--adverse",
    metavar="LABEL",
    section=BOTH,
    help="The class that reasons are given for and that costs points; for the reasons "
    "of a number, high or low.  [default: the rarest class; high]",
)
@option(
    "--points-to-double",
    metavar="N",
    type=float,
    section=BOTH,
    help="The number of points that doubles the odds against the adverse class.  [default: 20]",
)
@option(
    "--base",
    metavar="N",
    type=int,
    section=BOTH,
    help="The points of a row on which no rule fires.  [default: 600]",
)
@option(
    "--levels",
    metavar="N",
    type=click.IntRange(1),
    section=BOTH,
    help="Divide the activation of each rule into this many levels, as on paper.",
)
@console_options
def export(
    *,
    model: str,
    form: str,
    output: str | None,
    console: Console,
    **options: Any,
) -> None:
    """Write a model as ONNX, SQL or plain Python.

    The export holds the whole model, from raw columns to predictions, missing values
    included.
    """
    check_format(form, options)
    out = "-" if output is None else output
    refuse_mixed_output(output, "the export", console)
    if out == "-" and form == "onnx" and sys.stdout.isatty():
        raise click.UsageError(
            "An ONNX graph is no text for a terminal. Give a file with --output, for example "
            "model.onnx."
        )
    loaded = load_model(model)
    path = None if out == "-" else checked_output(out, EXAMPLES[form], [model])
    renamed = ["reasons", "adverse", "base", "levels", "points_to_double"]
    with library_errors(renamed), console.progress("Exporting"):
        content = exported(loaded, form, **options)
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        from neuralrules._io._writing import whole_file

        with whole_file(path) as file:
            file.write(content)
    say_exported(loaded, form, out, len(content), console)


def check_format(form: str, options: dict[str, Any]) -> None:
    """Refuse options that do not fit the format or lack another option; SQL needs a table."""
    for name, value in options.items():
        if (
            value is not None
            and value is not False
            and value != ()
            and form not in FORMATS[name]
        ):
            shown = "--id" if name == "ids" else option_name(name)
            owners = " and ".join(FORMATS[name])
            raise click.UsageError(f"{shown} is for --format {owners}, not for {form}.")
    if form == "sql" and options["table"] is None:
        raise click.UsageError(
            "--format sql needs --table NAME, the table to score in the database."
        )
    if not options["points"]:
        names = ("points_to_double", "base", "levels")
        refuse_without("--points", {option_name(name): options[name] for name in names})
    if options["adverse"] is not None and not options["points"] and not options["reasons"]:
        raise click.UsageError("--adverse is for --reasons and --points. Give one of them.")


def exported(model: NeuralRuleModel, form: str, **options: Any) -> bytes:
    """The bytes of the exported file."""
    if form == "onnx":
        text = options["missing_text"] or ""
        graph: bytes = model.to_onnx(missing_text=text).SerializeToString()
        return graph
    extras = asked_extras(model, **options)
    if form == "python":
        return model.to_python(**extras).encode()
    table, schema = options["table"], options["schema"]
    name = table if schema is None else (schema, table)
    dialect = options["dialect"] or "postgresql"
    return model.to_sql(name, dialect=dialect, keep=options["ids"], **extras).encode()


def asked_extras(
    model: NeuralRuleModel,
    *,
    reasons: int | None,
    points: bool,
    adverse: str | None,
    **options: Any,
) -> dict[str, Any]:
    """The results of an export besides predictions: reasons and points."""
    label = label_of(model, adverse)
    card: Any = False
    if points:
        given = {name: options[name] for name in ("points_to_double", "base", "levels")}
        given = {name: value for name, value in given.items() if value is not None}
        # A regression has reasons for high or low, but its points have no adverse class.
        adverse_class = label if model.fitted_.task.are_classes else None
        card = model.scorecard(adverse=adverse_class, **given)
    return {
        "reasons": reasons,
        "adverse": label if reasons else None,
        "scorecard": card,
    }


def say_exported(
    model: NeuralRuleModel, form: str, out: str, n_bytes: int, console: Console
) -> None:
    """Print the summary: the sizes of the file and of the model."""
    from neuralrules._export._extras import size_text

    record: dict[str, Any] = {
        "output": out,
        "format": form,
        "bytes": n_bytes,
        "n_rules": model.network_.n_rules,
        "n_literals": model.network_.n_literals,
        "n_parameters": model.network_.n_parameters,
    }
    where = "standard output" if out == "-" else out
    console.summary(
        f"Wrote {bytes_text(n_bytes)} to {where}.\n{size_text(model.fitted_)}",
        record,
        output_taken=out == "-",
    )
