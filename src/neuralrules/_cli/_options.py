"""How commands, their arguments and their options are declared, and the layout of help texts.

The parameters of a command's function declare what the command takes: their defaults are what
`argument`, `value`, `columns` and `flag` return, which is a function that makes click's
parameter from the parameter's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
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
# The placeholders for values of click's types, by their names.
METAVARS = {
    "integer": "N",
    "integer range": "N",
    "float": "X",
    "float range": "X",
    "path": "FILE",
}


class Option(click.Option):
    """An option that the help lists in a section."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class Argument(click.Argument):
    """An argument that the help explains."""

    def __init__(self, *args: Any, text: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.text = text


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

    def __init__(self, *args: Any, examples: Sequence[str], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.examples = tuple(examples)

    @property
    def arguments(self) -> dict[str, str]:
        """The explanation of each argument, by its name in the help."""
        arguments = [one for one in self.params if isinstance(one, Argument)]
        names = [str(one.name).upper() for one in arguments]
        return {
            name if one.required else f"[{name}]": one.text
            for name, one in zip(names, arguments, strict=True)
        }

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


def command(*examples: str, kind: type[Command] = Command) -> Callable[[Callback], Command]:
    """Make a command of a function whose parameters declare its arguments and options.

    The help has them in the order of the parameters. A parameter without a declaration stands
    for the options that decorators have added, or for the `console`, which the function gets
    instead of the values of `--json` and `--quiet`.
    """

    def decorate(function: Callback) -> Command:
        def with_console(*, as_json: bool, quiet: bool, **options: Any) -> Any:
            return function(console=Console(quiet=quiet, as_json=as_json), **options)

        params: list[click.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not parameter.empty:
                params.append(parameter.default(name))
            elif name in ("table_format", "table"):
                params += reversed(function.__dict__["__click_params__"])
        params += CONSOLE_OPTIONS
        return kind(
            function.__name__,
            callback=with_console,
            params=params,
            help=function.__doc__,
            examples=examples,
        )

    return decorate


def argument(text: str, *, required: bool = True) -> Any:
    """Declare an argument that is a file."""
    return lambda name: Argument([name], text=text, required=required, type=FILE)


def value(
    kind: Any, text: str, *flags: str, metavar: str | None = None, **attributes: Any
) -> Any:
    """Declare an option that takes a value.

    Parameters
    ----------
    kind : click type or str
        A str is the placeholder for a text that may be anything.
    text : str
        What the help says.
    *flags : str
        By default the name of the parameter.
    """
    if isinstance(kind, str):
        kind, metavar = click.STRING, kind

    def made(name: str) -> Option:
        names = [name, *(flags or [f"--{name.replace('_', '-')}"])]
        shown = metavar or METAVARS.get(kind.name)
        return Option(names, metavar=shown, type=kind, help=text, **attributes)

    return made


def columns(text: str, *flags: str, **attributes: Any) -> Any:
    """Declare an option that names columns, and may be given several times."""
    return value("COL", text, *flags, multiple=True, **attributes)


def flag(text: str, **attributes: Any) -> Any:
    """Declare an option that takes no value."""
    return value(click.BOOL, text, is_flag=True, **attributes)


def output_file(metavar: str, text: str, **attributes: Any) -> Any:
    """Declare the option for the file that a command writes."""
    return value(FILE, text, "--output", "-o", metavar=metavar, **attributes)


def row_numbers(what: str) -> Any:
    """Declare the option for the rows that a command works on, to explain them for example."""
    text = f"The row to {what}, 1 for the first one; may be given several times."
    return value(COUNT, text, "--row", multiple=True, required=True)


def option(*names: str, **attributes: Any) -> Callable[[Callback], Callback]:
    """Add an option that several commands share: a decorator for the commands' functions."""
    return click.option(*names, cls=Option, **attributes)


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
        raise InputError(f"{path!r} is not text in UTF-8. Save it as such.") from None
