"""`neuralrules completion`: let the shell finish commands, options and file names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from neuralrules._cli._errors import NAME
from neuralrules._cli._help import Command

VARIABLE = "_NEURALRULES_COMPLETE"
# Where each shell looks for such scripts by itself.
PLACES = {
    "bash": "~/.local/share/bash-completion/completions/neuralrules",
    "zsh": "~/.zfunc/_neuralrules  # with fpath+=~/.zfunc before compinit in ~/.zshrc",
    "fish": "~/.config/fish/completions/neuralrules.fish",
}


@click.command(
    "completion",
    cls=Command,
    arguments={"SHELL": "bash, zsh or fish."},
    examples=[
        "neuralrules completion bash > \\",
        f"  {PLACES['bash']}",
        f"neuralrules completion fish > {PLACES['fish']}",
    ],
)
@click.argument("shell", type=click.Choice(list(PLACES)), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print a script by which a shell completes commands."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows these shells
    script = kind(context.find_root().command, {}, NAME, VARIABLE).source()
    click.echo(f"{script.rstrip()}\n")
    click.echo(f"# To install: neuralrules completion {shell} > {PLACES[shell]}")
