"""Parts of commands: help with sections and examples, and the options that commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from neuralrules._cli._console import Console
from neuralrules._cli._errors import InputError

Callback = Callable[..., Any]
FITTED = "A model file that `fit` wrote."  # what the help says about MODEL
COUNT = click.IntRange(1)
FILE = click.Path(allow_dash=True)  # - is standard input or standard output


class Option(click.Option):
    """An option that the help lists in a section."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


CONSOLE_OPTIONS = [
    Option(names, is_flag=True, section="Other", help=text)
    for names, text in {
        ("--json", "as_json"): "Print one JSON document, with all digits.",
        ("--quiet", "-q"): "Print only the result and errors.",
    }.items()
]


class Parsed(click.ParamType):  # type: ignore[type-arg]  # not generic in all of click 8
    """An option type that turns a text into a value by a function.

    If the text is wrong, the function raises a ValueError. `what` says for the message what
    the text should be, with an example.
    """

    name = "text"

    def __init__(self, parse: Callable[[str], Any], what: str) -> None:
        self._parse, self._what = parse, what

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        try:
            return self._parse(value)
        except ValueError:
            return self.fail(f"{value!r} is not {self._what}.", param, ctx)


class Command(click.Command):
    """A command whose help explains its arguments and shows examples of command lines."""

    def __init__(
        self,
        *args: Any,
        arguments: Mapping[str, str] | None = None,
        examples: Sequence[str] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.arguments = dict(arguments or {})
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, then the options by their sections."""
        sections = {"Arguments": list(self.arguments.items())} if self.arguments else {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                section = getattr(parameter, "section", "Other")
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def command(
    arguments: Mapping[str, str], *examples: str, kind: type[Command] = Command
) -> Callable[[Callback], Command]:
    """Make a function a command, with files as arguments and the options of all commands.

    The function gets a `console` instead of the values of `--json` and `--quiet`.

    Parameters
    ----------
    arguments : mapping of str to str
        The name of each file, in brackets if it may be left out, with an explanation.
    *examples : str
    kind : subclass of Command
    """
    files = [
        click.Argument([name.strip("[]").lower()], required=name[0] != "[", type=FILE)
        for name in arguments
    ]

    def decorate(function: Callback) -> Command:
        @functools.wraps(function)
        def with_console(*, as_json: bool, quiet: bool, **options: Any) -> Any:
            return function(console=Console(quiet=quiet, as_json=as_json), **options)

        made = click.command(cls=kind, arguments=arguments, examples=examples)(with_console)
        made.params = [*files, *made.params, *CONSOLE_OPTIONS]
        return made

    return decorate


def option(*names: str, **attributes: Any) -> Callable[[Callback], Callback]:
    """Add an option. The first name may end with a placeholder of the value: "--row N"."""
    *flags, last = names[0].split()
    if last.startswith("-"):
        flags.append(last)
    else:
        attributes["metavar"] = last
    return click.option(*flags, *names[1:], cls=Option, **attributes)


def output_option(text: str, *, metavar: str, required: bool = False) -> Any:
    return option(f"--output -o {metavar}", required=required, type=click.Path(), help=text)


def row_option(what: str) -> Callable[[Callback], Callback]:
    """The option for the rows that a command works on; `what` is a verb such as "explain"."""
    return option(
        "--row N",
        "numbers",
        multiple=True,
        required=True,
        type=COUNT,
        help=f"The row to {what}, 1 for the first one; may be given several times.",
    )


def refuse(names: Collection[str], why: str) -> None:
    """Refuse the options whose values have these names, if the command line gives them.

    `why` ends the sentence that begins with the option.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {why}")


def refuse_mixed_output(output: str | None, what: str, console: Console) -> None:
    """Refuse `--json` without `--output`: standard output is needed for `what`."""
    if output in (None, "-") and console.as_json:
        raise click.UsageError(
            f"--json needs --output FILE: standard output cannot hold both {what} and a JSON "
            "document."
        )


def read_text(path: str) -> str:
    """The text of a file that a person wrote."""
    try:
        return Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path!r} is not a text in UTF-8. Save it as such.") from None
