"""`neuralrules export`: a model for other engines."""

from __future__ import annotations

import sys
from typing import Any

import click

from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import library_errors
from neuralrules._cli._models import checked_output, label_of, load_model
from neuralrules._cli._options import (
    COUNT,
    FITTED,
    command,
    option,
    output_option,
    refuse,
    refuse_mixed_output,
)

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
    {"MODEL": FITTED},
    "neuralrules export iris.nrules --format onnx -o iris.onnx",
    "neuralrules export iris.nrules --format sql --table plants > iris.sql",
    "neuralrules export iris.nrules --format python -o iris.py",
    "neuralrules export houses.nrules -f python --points --reasons 3 -o houses.py",
)
@option(
    "--format -f",
    "form",
    type=click.Choice(list(EXAMPLES)),
    required=True,
    help="What to write: an ONNX graph, a SQL query, or a Python module that needs no package.",
)
@output_option("The file to write.  [default: standard output]", metavar="OUT")
@option(
    "--missing-text TEXT",
    section="For ONNX",
    help="The text that stands for a missing category, because ONNX has no missing "
    "texts.  [default: empty]",
)
@option("--table NAME", section=SQL, help="The table of the database that is scored.")
@option("--schema NAME", section=SQL, help="The schema of that table.")
@option(
    "--dialect",
    type=click.Choice(["postgresql", "duckdb", "sqlite"]),
    section=SQL,
    help="The database.  [default: postgresql]",
)
@option(
    "--id COL",
    "ids",
    multiple=True,
    section=SQL,
    help="A column of the table to copy to the result; may be given several times.",
)
@option(
    "--reasons N",
    type=COUNT,
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
    "--adverse LABEL",
    section=BOTH,
    help="The class that reasons are given for and that costs points; for the reasons "
    "of a number, high or low.  [default: the rarest class; high]",
)
@option(
    "--points-to-double N",
    type=float,
    section=BOTH,
    help="The number of points that doubles the odds against the adverse class.  [default: 20]",
)
@option(
    "--base N",
    type=int,
    section=BOTH,
    help="The points of a row on which no rule fires.  [default: 600]",
)
@option(
    "--levels N",
    type=COUNT,
    section=BOTH,
    help="Divide the activation of each rule into this many levels, as on paper.",
)
def export(
    *, model: str, form: str, output: str | None, console: Console, **options: Any
) -> None:
    """Write a model as ONNX, SQL or plain Python.

    The export holds the whole model, from raw columns to predictions, missing values
    included.
    """
    from neuralrules._export._extras import size_text

    check_options(form, options)
    refuse_mixed_output(output, "the export", console)
    out = "-" if output is None else output
    if out == "-" and form == "onnx" and sys.stdout.isatty():
        raise click.UsageError(
            "An ONNX graph is no text for a terminal. Give a file with --output, for example "
            "model.onnx."
        )
    loaded = load_model(model)
    path = None if out == "-" else checked_output(out, EXAMPLES[form], [model])
    with library_errors(["reasons", "adverse", *POINTS]), console.progress("Exporting"):
        content = exported(loaded, form, options)
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        from neuralrules._io._writing import whole_file

        with whole_file(path) as file:
            file.write(content)
    network = loaded.network_
    console.summary(
        f"Wrote {bytes_text(len(content))} to {'standard output' if path is None else out}.\n"
        f"{size_text(loaded.fitted_)}",
        {
            "output": out,
            "format": form,
            "bytes": len(content),
            **{
                name: getattr(network, name)
                for name in ("n_rules", "n_literals", "n_parameters")
            },
        },
        output_taken=path is None,
    )


def check_options(form: str, options: dict[str, Any]) -> None:
    """Refuse options that do not fit the format or lack another option; SQL needs a table."""
    for names, formats in FORMATS.items():
        if form not in formats:
            refuse(names, f"is for --format {' and '.join(formats)}, not for {form}.")
    if form == "sql" and options["table"] is None:
        raise click.UsageError(
            "--format sql needs --table NAME, the table to score in the database."
        )
    if not options["points"]:
        refuse(POINTS, "is for --points. Give both, or neither.")
        if not options["reasons"]:
            refuse(["adverse"], "is for --reasons and --points. Give one of them.")


def exported(model: Any, form: str, options: dict[str, Any]) -> bytes:
    """The bytes of the exported file."""
    if form == "onnx":
        graph: bytes = model.to_onnx(
            missing_text=options["missing_text"] or ""
        ).SerializeToString()
        return graph
    label, card = label_of(model, options["adverse"]), False
    if options["points"]:
        given = {name: options[name] for name in POINTS if options[name] is not None}
        # A regression has reasons for high or low, but its points have no adverse class.
        adverse = label if model.fitted_.task.are_classes else None
        card = model.scorecard(adverse=adverse, **given)
    reasons = options["reasons"]
    extras = {"reasons": reasons, "adverse": label if reasons else None, "scorecard": card}
    if form == "python":
        code: str = model.to_python(**extras)
    else:
        table, schema = options["table"], options["schema"]
        code = model.to_sql(
            table if schema is None else (schema, table),
            dialect=options["dialect"] or "postgresql",
            keep=options["ids"],
            **extras,
        )
    return code.encode()
