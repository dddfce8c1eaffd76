"""The command line `neuralrules`.

`_app` combines the commands, and turns the way a command ends into an exit code. The commands
are in `_fit`, `_evaluate`, `_predict`, `_rules` (with `explain`), `_counterfactual`, `_report`
(with `scorecard` and `compare`), `_edit` (with `simplify`), `_export` and `_demo`.

The commands share these modules:

- `_options`: how commands and options are declared, and the layout of help texts.
- `_parameters`: options that are made from the parameters of the estimators.
- `_fit_data` and `_column_notes`: the data that `fit` learns from, and notes about columns.
- `_table_format` and `_tables`: options for the format of tables; reading and writing tables.
- `_model_rows`: the rows of a table in the form that a model needs.
- `_models`: model files.
- `_console`, `_errors` and `_signals`: the output of a command, and how it ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process, and return its exit code."""
    if arguments is None:  # signals must also work during the imports, which take long
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
