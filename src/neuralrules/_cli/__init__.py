"""The command line `neuralrules`. `_app` combines the commands, which have their own modules.

Related commands share a module: `explain` is in `_rules`, `scorecard` and `compare` are in
`_report`, `simplify` is in `_edit`, and `completion` is in `_app`.
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
