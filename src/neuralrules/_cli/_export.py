"""`neuralrules export`: a model for other engines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import library_errors
from neuralrules._cli._models import checked_output, label_of, load_model
from neuralrules._cli._options import (
    COUNT,
    FITTED,
    argument,
    columns,
    command,
    flag,
    output_file,
    refuse,
    refuse_mixed_output,
    value,
)
from neuralrules._export._sql_dialects import DIALECTS

SQL = "For SQL"
BOTH = "For SQL and Python"
POINTS = ("points_to_double", "base", "levels")  # what a score card can be given
# Options that make sense for some formats only.
FORMATS = {
    ("missing_text",): ("onnx",),
    ("table", "schema", "dialect", "ids"): ("sql",),
    ("reasons", "points", "adverse", *POINTS): ("sql", "python"),
}
EXAMPLES = {"onnx": "model.onnx", "sql": "model.sql", "python": "model.py"}


@command(
    "neuralrules export iris.nrules --format onnx -o iris.onnx",
    "neuralrules export iris.nrules --format sql --table plants > iris.sql",
    "neuralrules export iris.nrules --format python -o iris.py",
    "neuralrules export houses.nrules -f python --points --reasons 3 -o houses.py",
)
def export(
    *,
    model: str = argument(FITTED),
    form: str = value(
        click.Choice(list(EXAMPLES)),
        "What to write: an ONNX graph, a SQL query, or a Python module that needs no package.",
        "--format",
        "-f",
        required=True,
    ),
    output: str = output_file(
        "OUT", "The file to write.  [default: standard output]", default="-"
    ),
    missing_text: str = value(
        "TEXT",
        "The text that stands for a missing category, because ONNX has no missing texts.  "
        "[default: empty]",
        section="For ONNX",
        default="",
    ),
    table: str | None = value("NAME", "The table of the database that is scored.", section=SQL),
    schema: str | None = value("NAME", "The schema of that table.", section=SQL),
    dialect: str = value(
        click.Choice(list(DIALECTS)),
        "The database.  [default: postgresql]",
        section=SQL,
        default="postgresql",
    ),
    ids: Sequence[str] = columns(
        "A column of the table to copy to the result; may be given several times.",
        "--id",
        section=SQL,
    ),
    reasons: int | None = value(
        COUNT,
        "Give this many reasons for the adverse outcome of each row, the strongest first.",
        section=BOTH,
    ),
    points: bool = flag(
        "Give the whole points of the score card, and what they mean.", section=BOTH
    ),
    adverse: str | None = value(
        "LABEL",
        "The class that reasons are given for and that costs points; for the reasons of a "
        "number, high or low.  [default: the rarest class; high]",
        section=BOTH,
    ),
    points_to_double: float = value(
        click.FLOAT,
        "The number of points that doubles the odds against the adverse class.  [default: 20]",
        section=BOTH,
        metavar="N",
        default=20,
    ),
    base: int = value(
        click.INT,
        "The points of a row on which no rule fires.  [default: 600]",
        section=BOTH,
        default=600,
    ),
    levels: int | None = value(
        COUNT,
        "Divide the activation of each rule into this many levels, as on paper.",
        section=BOTH,
    ),
    console: Console,
) -> None:
    """Write a model as ONNX, SQL or plain Python.

    The export holds the whole model, from raw columns to predictions, missing values
    included.
    """
    from neuralrules._export._extras import size_text

    check_options(form, table, reasons, points=points)
    refuse_mixed_output(output, "the export", console)
    if output == "-" and form == "onnx" and sys.stdout.isatty():
        raise click.UsageError(
            "An ONNX graph is no text for a terminal. Give a file with --output, for example "
            "model.onnx."
        )
    loaded = load_model(model)
    path = None if output == "-" else checked_output(output, EXAMPLES[form], [model])
    with library_errors(["reasons", "adverse", *POINTS]), console.progress("Exporting"):
        if form == "onnx":
            content = loaded.to_onnx(missing_text=missing_text).SerializeToString()
        else:
            label = label_of(loaded, adverse)
            extras: dict[str, Any] = {"reasons": reasons, "adverse": label if reasons else None}
            if points:
                extras["scorecard"] = loaded.scorecard(
                    points_to_double=points_to_double,
                    base=base,
                    levels=levels,
                    # A regression has reasons for high or low, but no class that costs points.
                    adverse=label if loaded.fitted_.task.are_classes else None,
                )
            if form == "python":
                code = loaded.to_python(**extras)
            else:
                source: Any = table if schema is None else (schema, table)
                code = loaded.to_sql(source, dialect=dialect, keep=ids, **extras)
            content = code.encode()
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        from neuralrules._io._writing import whole_file

        with whole_file(path) as file:
            file.write(content)
    network = loaded.network_
    where = "standard output" if path is None else output
    console.summary(
        f"Wrote {bytes_text(len(content))} to {where}.\n{size_text(loaded.fitted_)}",
        {
            "output": output,
            "format": form,
            "bytes": len(content),
            "n_rules": network.n_rules,
            "n_literals": network.n_literals,
            "n_parameters": network.n_parameters,
        },
        output_taken=path is None,
    )


def check_options(form: str, table: str | None, reasons: int | None, *, points: bool) -> None:
    """Refuse options that do not fit the format or lack another option; SQL needs a table."""
    for names, formats in FORMATS.items():
        if form not in formats:
            refuse(names, f"is for --format {' and '.join(formats)}, not for {form}.")
    if form == "sql" and table is None:
        raise click.UsageError(
            "--format sql needs --table NAME, the table to score in the database."
        )
    if not points:
        refuse(POINTS, "is for --points. Give both, or neither.")
        if not reasons:
            refuse(["adverse"], "is for --reasons and --points. Give one of them.")
