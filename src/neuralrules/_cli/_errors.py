"""Turning errors into one line for the user and an exit code."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from neuralrules._io._progress import terminal_width

NAME = "neuralrules"
TRACEBACK = "NEURALRULES_TRACEBACK"
# Parameters in the library's messages that have another name on the command line.
RENAMED = {
    "path": "--output",
    "sample_weight": "--weight",
    "n_examples": "--examples",
    "cv": "--folds",
    "n_splits": "--folds",
    "keep": "--id",
    "n_answers": "--answers",
}
# Parameters that have an option of the same name, besides those of the estimators.
SAME = (
    "missing_text",
    "tolerance",
    "precision",
    "max_terms",
    "max_rules",
    "table",
    "dialect",
    "title",
    "max_changes",
    "time_limit",
)


class InputError(Exception):
    """A file, column or model cannot be used. The text is one line for the user."""


def option_name(parameter: str) -> str:
    """The option that stands for a parameter of the library."""
    return RENAMED.get(parameter, "--" + parameter.replace("_", "-"))


def in_options(message: str, parameters: Iterable[str] = ()) -> str:
    """A message of the library in which options stand in place of parameters.

    Texts in quotes come from the user and stay as they are. A parameter without an underscore
    in its name may be a common word, so it is replaced only if an equals sign follows.
    `parameters` may be a mapping from parameters to options.
    """
    named = parameters if isinstance(parameters, Mapping) else {}
    for name in (*parameters, *RENAMED, *SAME):
        word, option = rf"(?<!['\"\w]){name}", named.get(name, option_name(name))
        message = re.sub(rf"{word}=True\b", option, message)
        message = re.sub(rf"{word}=False\b", option.replace("--", "--no-", 1), message)
        message = re.sub(rf"{word}=", f"{option} ", message)
        if "_" in name:
            message = re.sub(rf"{word}(?!['\"\w])", option, message)
    return message


@contextmanager
def library_errors(parameters: Iterable[str] = ()) -> Iterator[None]:
    """Turn errors of the library into an `InputError`, with options in place of parameters."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(in_options(str(error), parameters)) from error


def exit_code(error: BaseException) -> int:
    """Print one line that says what went wrong, and return the exit code for this error."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return 130
    if isinstance(error, BrokenPipeError):
        # When Python ends, it flushes standard output, which would raise the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    if isinstance(error, click.UsageError):
        say(f"error: {' '.join(error.format_message().split())}")
        if error.ctx is not None:
            print(f"Try '{error.ctx.command_path} --help' for help.", file=sys.stderr)
        return 2
    say(f"error: {error_text(error)}")
    return 1


def error_text(error: BaseException) -> str:
    """The message for any error other than a wrong use of the command line."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.strerror is None:
        return in_options(str(error))
    if isinstance(error, OSError):
        if error.filename is None:  # no file was opened, so writing has failed
            return f"writing failed: {error.strerror}. Make room, or write elsewhere."
        return f"{os.fsdecode(error.filename)!r}: {error.strerror}."
    if isinstance(error, ImportError):
        remedy = '. Install what is missing with: pip install "neuralrules[cli]"'
        return str(error) if "pip install" in str(error) else f"{error}{remedy}"
    kind = type(error).__name__
    return (
        f"internal error, {kind}: {error}. This should not happen; set {TRACEBACK}=1 to see "
        "where it comes from, and please report it."
    )


def say(text: str) -> None:
    """Print one line on standard error, folded between words if that is a terminal.

    Unprintable characters are escaped.
    """
    words = text.replace("\n", " ")
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)
    line, width = f"{NAME}: {shown}", terminal_width(sys.stderr)
    if width is not None:
        line = textwrap.fill(
            line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    print(line, file=sys.stderr, flush=True)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, at most this many of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
