"""The command line `neuralrules`.

`_app` holds the commands together and gives every ending its exit code. Each command has a
module of its own: `_fit`, `_evaluate`, `_predict`, `_rules` (with `explain`),
`_counterfactual`, `_scorecard`, `_report`, `_simplify`, `_edit`, `_compare`, `_export` and
`_demo`.

The commands share these modules:

- `_options`: the options that commands have in common, and how help is laid out.
- `_parameters`: options made from the parameters of the estimators.
- `_fit_data` and `_column_notes`: what `fit` learns from, and notes about columns.
- `_table_format` and `_tables`: how table files are written, and reading and writing them.
- `_model_rows`: the rows of a table as a model needs them.
- `_models`: model files.
- `_console`, `_errors` and `_signals`: what a command prints, and how it ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of this process; its exit code."""
    if arguments is None:  # before the imports, which take longest
        from neuralrules._cli._signals import answer_signals

        answer_signals()
    try:
        import click  # noqa: F401
    except ImportError:
        print(
            "neuralrules: error: the command line needs click, which is not installed. "
            'Install it with: pip install "neuralrules[cli]"',
            file=sys.stderr,
        )
        return 1
    from neuralrules._cli._app import run

    return run(sys.argv[1:] if arguments is None else arguments)
