"""`neuralrules export`: a model for other engines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import library_errors, listed, option_name
from neuralrules._cli._help import Command, option, output_option, speaking
from neuralrules._cli._models import checked_output, load_model, notes_of

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel
    from neuralrules._estimators._portable import PortableModel

SQL = "For SQL"
EXAMPLES = {"onnx": "model.onnx", "sql": "model.sql", "python": "model.py"}


@click.command(
    "export",
    cls=Command,
    arguments={"MODEL": "A model file that `fit` wrote."},
    examples=[
        "neuralrules export iris.nrules --format onnx -o iris.onnx",
        "neuralrules export iris.nrules --format sql --table plants > iris.sql",
        "neuralrules export iris.nrules --format python -o iris.py",
    ],
)
@click.argument("model", type=click.Path())
@option(
    "--format",
    "-f",
    "form",
    type=click.Choice(list(EXAMPLES)),
    required=True,
    help="An ONNX graph, a SQL query, or a Python module that needs no package.",
)
@output_option("The file to write.  [default: standard output]", metavar="OUT")
@option(
    "--missing-text",
    metavar="TEXT",
    section="For ONNX",
    help="What stands for a missing category, because ONNX has none.  [default: empty]",
)
@option("--table", metavar="NAME", section=SQL, help="The table to score, in the database.")
@option("--schema", metavar="NAME", section=SQL, help="The schema of the table.")
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
    help="A column of the table to keep; may be given several times.",
)
@speaking
def export(
    *,
    model: str,
    form: str,
    output: str | None,
    console: Console,
    **options: Any,
) -> None:
    """Write a model as ONNX, SQL or plain Python.

    The whole model, from raw columns to predictions, missing values included.
    """
    check_format(form, options)
    out = "-" if output is None else output
    if out == "-" and console.as_json:
        raise click.UsageError(
            "--json needs --output FILE: standard output cannot hold both the export and a "
            "JSON document."
        )
    if out == "-" and form == "onnx" and sys.stdout.isatty():
        raise click.UsageError(
            "An ONNX graph is no text for a terminal. Give a file with --output, for example "
            "model.onnx."
        )
    loaded = load_model(model)
    path = None if out == "-" else checked_output(out, EXAMPLES[form], [model])
    with library_errors(), console.progress("Exporting"):
        content = exported(loaded, form, **options)
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        from neuralrules._io._writing import whole_file

        with whole_file(path) as file:
            file.write(content)
    note_markers(loaded, form, console)
    say_exported(loaded, form, out, len(content), console)


def note_markers(model: NeuralRuleModel, form: str, console: Console) -> None:
    """Say that only SQL knows what the fit was told to take for missing."""
    markers = notes_of(model, "missing")
    if markers and form != "sql":
        console.note(
            f"the fit took {listed(markers)} for missing; the export does not. Give it NaN for "
            "such numbers and nothing for such text."
        )


def check_format(form: str, options: dict[str, Any]) -> None:
    """Refuse options of another format, and SQL without a table."""
    for name, value in options.items():
        owner = "onnx" if name == "missing_text" else "sql"
        if value and owner != form:
            shown = "--id" if name == "ids" else option_name(name)
            raise click.UsageError(f"{shown} is for --format {owner}, not for {form}.")
    if form == "sql" and options["table"] is None:
        raise click.UsageError(
            "--format sql needs --table NAME, the table to score in the database."
        )


def exported(
    model: PortableModel,
    form: str,
    *,
    missing_text: str | None,
    table: str | None,
    schema: str | None,
    dialect: str | None,
    ids: Sequence[str],
) -> bytes:
    """The bytes of a file in some format."""
    if form == "onnx":
        graph: bytes = model.to_onnx(missing_text=missing_text or "").SerializeToString()
        return graph
    if form == "python":
        return model.to_python().encode()
    assert table is not None  # or check_format had refused it
    name = table if schema is None else (schema, table)
    return model.to_sql(name, dialect=dialect or "postgresql", keep=ids).encode()


def say_exported(
    model: NeuralRuleModel, form: str, out: str, n_bytes: int, console: Console
) -> None:
    """The summary: how large the file and the model in it are."""
    from neuralrules._export._size import size_text

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
