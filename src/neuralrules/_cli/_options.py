"""Parts of commands: help with sections and examples, and the options that commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from neuralrules._cli._console import Console

Callback = Callable[..., Any]


class Option(click.Option):
    """An option that the help lists in a section."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class Parsed(click.ParamType):  # type: ignore[type-arg]  # not generic in all of click 8
    """An option type whose text is turned into a value by a function.

    Parameters
    ----------
    parse : callable
        Turns a text into a value, or raises a ValueError if the text is wrong.
    what : str
        What the text should be, with an example, for the error message.
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
    """A command whose help explains its arguments and shows examples.

    Parameters
    ----------
    arguments : mapping of str to str
        An explanation of each argument.
    examples : sequence of str
        Command lines that show how to use the command.
    """

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
        sections: dict[str, list[tuple[str, str]]] = {}
        if self.arguments:
            sections["Arguments"] = list(self.arguments.items())
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
        if not self.examples:
            return
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def option(*names: str, **attributes: Any) -> Callable[[Callback], Callback]:
    return click.option(*names, cls=Option, **attributes)


def output_option(text: str, *, metavar: str, required: bool = False) -> Any:
    return option(
        "--output", "-o", metavar=metavar, required=required, type=click.Path(), help=text
    )


def row_option(what: str) -> Callable[[Callback], Callback]:
    """The option for the rows that a command works on; `what` is a verb such as "explain"."""
    return option(
        "--row",
        "numbers",
        metavar="N",
        multiple=True,
        required=True,
        type=click.IntRange(1),
        help=f"The row to {what}, 1 for the first one; may be given several times.",
    )


def console_options(function: Callback) -> Callback:
    """Add `--json` and `--quiet`. The command gets a `console` instead of their values."""

    @functools.wraps(function)
    def command(*args: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
        return function(*args, console=Console(quiet=quiet, as_json=as_json), **options)

    quiet_option = option(
        "--quiet",
        "-q",
        is_flag=True,
        section="Other",
        help="Print only the result and errors.",
    )
    json_option = option(
        "--json",
        "as_json",
        is_flag=True,
        section="Other",
        help="Print one JSON document, with all digits.",
    )
    return json_option(quiet_option(command))


def refuse_with(name: str, others: Mapping[str, Any], why: str) -> None:
    """Refuse options that have no meaning together with another option.

    Parameters
    ----------
    name : str
        The option that was given.
    others : mapping of str to object
        The other options, each with its value; None if the option was not given.
    why : str
        What the option `name` does: the end of a sentence that goes on with "which".
    """
    for other, value in others.items():
        if value is not None:
            raise click.UsageError(f"{other} is not for {name}, which {why}.")


def refuse_without(name: str, others: Mapping[str, Any]) -> None:
    """Refuse options that have no meaning without the option `name`, which was not given."""
    for other, value in others.items():
        if value is not None:
            raise click.UsageError(f"{other} is for {name}. Give both, or neither.")


def refuse_mixed_output(output: str | None, what: str, console: Console) -> None:
    """Refuse `--json` without `--output`: standard output is needed for `what`."""
    if output in (None, "-") and console.as_json:
        raise click.UsageError(
            f"--json needs --output FILE: standard output cannot hold both {what} and a JSON "
            "document."
        )
