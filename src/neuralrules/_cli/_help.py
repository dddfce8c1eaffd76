"""Commands whose help explains arguments, groups options and ends with examples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from neuralrules._cli._console import Console

Callback = Callable[..., Any]


class Option(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class Command(click.Command):
    """A command with explained arguments and examples.

    Parameters
    ----------
    arguments : mapping of str to str
        What each argument stands for.
    examples : sequence of str
        Command lines to begin with.
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


def speaking(function: Callback) -> Callback:
    """Add `--json` and `--quiet`; the command gets its `console`."""

    @functools.wraps(function)
    def command(*args: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
        return function(*args, console=Console(quiet=quiet, as_json=as_json), **options)

    section = "Other"
    decorated = option(
        "--quiet",
        "-q",
        is_flag=True,
        section=section,
        help="Say nothing but the result and what went wrong.",
    )(command)
    return option(
        "--json",
        "as_json",
        is_flag=True,
        section=section,
        help="Print one JSON document, with all digits.",
    )(decorated)


def output_option(text: str, *, metavar: str, required: bool = False) -> Any:
    return option(
        "--output", "-o", metavar=metavar, required=required, type=click.Path(), help=text
    )
