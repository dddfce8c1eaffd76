"""The command line `neuralrules`.

`_app` holds the commands together and turns every mistake into one line and an exit code.
Each command has a module of its own: `_fit`, `_evaluate`, `_predict`, `_rules`,
`_counterfactual`, `_scorecard`, `_report`, `_simplify`, `_edit`, `_compare`, `_export`,
`_demo`, `_completion`. Beneath them, `_parameters` makes
options of the estimators' parameters, `_task` says what is to be learned from a table,
`_reading` how one is written, `_inputs` what a model needs from it, `_models` is about model
files, `_console` is what a command says, `_errors` what
it says of mistakes, `_help` how it is explained, and `_signals` how it ends early. `_tables`
is about files of tables.
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
