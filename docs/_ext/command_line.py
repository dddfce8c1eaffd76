"""`.. command-line::`: every command and option of `neuralrules`, as its `--help` has them."""

from __future__ import annotations

from collections.abc import Iterator

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.rst import escape

from neuralrules._cli._app import app as program
from neuralrules._cli._errors import NAME


class CommandLine(SphinxDirective):
    """A section for each command, written in reStructuredText and read as such."""

    def run(self) -> list[nodes.Node]:
        lines = [line for text in program_sections() for line in text]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def program_sections() -> Iterator[Iterator[str]]:
    with click.Context(program, info_name=NAME) as context:
        for name in program.list_commands(context):
            command = program.get_command(context, name)
            assert command is not None
            yield command_lines(command, click.Context(command, context, name))


def command_lines(command: click.Command, context: click.Context) -> Iterator[str]:
    """What `--help` says of one command."""
    title = str(command.name)
    yield from (title, "-" * len(title), "")
    yield from (f".. program:: {context.command_path}", "")
    yield from (paragraph(command.help or ""), "")
    yield from block(
        "sh", [" ".join((context.command_path, *command.collect_usage_pieces(context)))]
    )
    for name, text in getattr(command, "arguments", {}).items():
        yield from (f"``{name}``", f"  {paragraph(text)}", "")
    section = ""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if not isinstance(parameter, click.Option) or record is None:
            continue
        if section != (section := getattr(parameter, "section", "Other")):
            yield from (f".. rubric:: {section}", "")
        names, text = record
        yield from (
            f".. option:: {names.replace(' / ', ', ')}",
            "",
            f"   {paragraph(text)}",
            "",
        )
    if examples := getattr(command, "examples", ()):
        yield from (".. rubric:: Examples", "")
        yield from block("sh", examples)


def block(language: str, lines: list[str] | tuple[str, ...]) -> Iterator[str]:
    yield from (f".. code-block:: {language}", "", *(f"   {line}" for line in lines), "")


def paragraph(text: str) -> str:
    return escape(" ".join(text.split()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
