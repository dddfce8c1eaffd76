"""The command line as a whole: its commands, and the exit code of each run."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import get_completion_class, shell_complete

from neuralrules._cli._console import warnings_in_one_line
from neuralrules._cli._counterfactual import counterfactual
from neuralrules._cli._demo import demo
from neuralrules._cli._edit import edit, simplify
from neuralrules._cli._errors import NAME, exit_code
from neuralrules._cli._evaluate import evaluate
from neuralrules._cli._export import export
from neuralrules._cli._fit import fit
from neuralrules._cli._options import Argument, Command
from neuralrules._cli._predict import predict
from neuralrules._cli._report import compare, report, scorecard
from neuralrules._cli._rules import explain, rules
from neuralrules._version import __version__

HELP_WIDTH = 100  # characters, if the terminal is as wide
COMPLETION_VARIABLE = "_NEURALRULES_COMPLETE"
# The paths at which each shell finds completion scripts by itself.
PLACES = {
    "bash": "~/.local/share/bash-completion/completions/neuralrules",
    "zsh": "~/.zfunc/_neuralrules  # with fpath+=~/.zfunc before compinit in ~/.zshrc",
    "fish": "~/.config/fish/completions/neuralrules.fish",
}


@click.command(
    "completion",
    cls=Command,
    examples=[
        "neuralrules completion bash > \\",
        f"  {PLACES['bash']}",
        f"neuralrules completion fish > {PLACES['fish']}",
    ],
)
@click.argument(
    "shell",
    cls=Argument,
    type=click.Choice(list(PLACES)),
    metavar="SHELL",
    text="bash, zsh or fish.",
)
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print a script that lets a shell complete commands."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows these shells
    script = kind(context.find_root().command, {}, NAME, COMPLETION_VARIABLE).source()
    click.echo(f"{script.rstrip()}\n")
    click.echo(f"# To install: neuralrules completion {shell} > {PLACES[shell]}")


# In the order in which users need them, not in the order of the alphabet.
COMMANDS = (
    fit,
    evaluate,
    predict,
    rules,
    explain,
    counterfactual,
    scorecard,
    report,
    simplify,
    edit,
    compare,
    export,
    demo,
    completion,
)


class App(click.Group):
    """The group of all commands. The help lists them in their order here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    NAME,
    cls=App,
    commands={str(command.name): command for command in COMMANDS},
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": HELP_WIDTH},
    epilog="`neuralrules COMMAND --help` explains a command, with examples.",
)
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Neural rule ensembles: learn small, readable models from tables, and ship them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def run(arguments: Sequence[str]) -> int:
    """Run a command line, and return its exit code."""
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        return shell_complete(app, {}, NAME, COMPLETION_VARIABLE, instruction)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal cannot show must not stop the output.
        sys.stdout.reconfigure(errors="replace")
    with warnings_in_one_line():
        try:
            with app.make_context(NAME, list(arguments)) as context:
                app.invoke(context)
            if sys.stdout is not None:  # it is None if it was closed
                sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            return exit_code(error)
    return 0
