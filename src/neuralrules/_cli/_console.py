"""The output of a command: results, summaries, notes and progress, each on its own stream."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np

from neuralrules._cli._errors import say
from neuralrules._io._progress import bar_text, duration, terminal_width

SECONDS_BEFORE = 0.5  # work that is shorter shows no progress
SECONDS_BETWEEN = 0.1


class Console:
    """Prints the texts of one command.

    The result goes to standard output, with `as_json` as one JSON document. Notes, progress
    and warnings go to standard error. With `quiet`, only the result and errors are printed.
    """

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet = quiet
        self.as_json = as_json

    @property
    def shows_progress(self) -> bool:
        return not self._quiet and sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Print something that the user should know, before the result."""
        if not self._quiet:
            say(f"note: {text}")

    def tell(self, text: str = "") -> None:
        """Print one part of a longer text, unless the output is JSON."""
        if not self._quiet and not self.as_json:
            click.echo(text)

    def result(self, text: str, record: Any, *, prose: bool = False) -> None:
        """Print the result of the command. Long lines of prose are folded on a terminal."""
        if self.as_json:
            print_whole(json_text(record))
        else:
            click.echo(folded(text) if prose and sys.stdout.isatty() else text)

    def summary(self, text: str, record: Any, *, output_taken: bool = False) -> None:
        """Print what the command did.

        If standard output already holds the result, the summary goes to standard error.
        """
        if self.as_json:
            print_whole(json_text(record))
        elif not self._quiet:
            stream = sys.stderr if output_taken else sys.stdout
            click.echo(folded(text) if stream.isatty() else text, err=output_taken)

    def page(self, path: Path, record: dict[str, Any]) -> None:
        """Print the summary of a command that wrote a page."""
        n_bytes = path.stat().st_size
        self.summary(
            f"Wrote {path}, {bytes_text(n_bytes)}. Open it in a browser.",
            {"output": str(path), "bytes": n_bytes, **record},
        )

    def saved(self, path: Path, text: str, record: dict[str, Any]) -> None:
        """Print the summary of a command that wrote a model file, with a text about it."""
        n_bytes = path.stat().st_size
        self.summary(
            f"{text}\nSaved in {path}, {bytes_text(n_bytes)}.",
            {"model": str(path), "bytes": n_bytes, **record},
        )

    @contextmanager
    def progress(
        self,
        label: str,
        share: Callable[[], float | None] = lambda: None,
        detail: Callable[[], str] = lambda: "",
    ) -> Iterator[None]:
        """Show a line on the terminal while the work in the block goes on.

        `share` returns the share of the work that is done, from 0 to 1, or None if it is
        unknown. `detail` returns a text to show after the share.
        """
        if not self.shows_progress:
            yield
            return
        done = threading.Event()
        arguments = (label, share, detail, done, sys.stderr)
        drawing = threading.Thread(target=draw, args=arguments, daemon=True)
        drawing.start()
        try:
            yield
        finally:
            done.set()
            drawing.join()


def draw(
    label: str,
    share: Callable[[], float | None],
    detail: Callable[[], str],
    done: threading.Event,
    stream: TextIO,
) -> None:
    """Draw the line of progress again and again until `done` is set, then remove it."""
    start = time.monotonic()
    if done.wait(SECONDS_BEFORE):
        return
    while True:
        part = share()
        bar = "" if part is None else f" {bar_text(part)} {part:4.0%}"
        more = f" · {detail()}" if detail() else ""
        elapsed = duration(time.monotonic() - start)
        line = f"{label}{bar}{more} · {elapsed}"
        stream.write(f"\r\x1b[K{line[: terminal_width(stream)]}")
        stream.flush()
        if done.wait(SECONDS_BETWEEN):
            stream.write("\r\x1b[K")
            stream.flush()
            return


@contextmanager
def without_c_output() -> Iterator[None]:
    """Discard what a C library, such as a solver, prints on standard output.

    Standard output may hold only the result. `discarded_c_output` does not work on Windows,
    so this function redirects the file descriptor itself. Nothing else may print meanwhile.
    """
    import ctypes

    try:
        kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # standard output is closed
        yield
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    os.dup2(nothing, 1)
    try:
        yield
    finally:
        # Otherwise C would write its buffered output when the process ends. On some systems,
        # the library of C is not found like this.
        with contextlib.suppress(OSError, TypeError, AttributeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print each warning in one line. Python would print two, with a file and a line number."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        yield


def print_whole(text: str) -> None:
    """Print text for programs: always as UTF-8, even if the terminal cannot show it."""
    click.echo(text.encode())


def json_text(record: Any) -> str:
    """A record as JSON, with all digits, and with null for numbers that are not finite."""
    return json.dumps(plain(record), ensure_ascii=False, allow_nan=False, indent=2)


def plain(value: Any) -> Any:
    """A value as an object that JSON can represent."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    nothing = isinstance(value, float) and not math.isfinite(value)
    if nothing or type(value).__name__ == "NAType":
        return None
    return value


def folded(text: str) -> str:
    """Fold lines that are too long for the terminal.

    A gap is two or more spaces. The rest of a folded line begins below the text after the last
    gap in the left half of the line, so that columns stay aligned.
    """
    width = min(shutil.get_terminal_size((96, 24)).columns, 96)
    lines = []
    for line in text.splitlines():
        after_gaps = [gap.end() for gap in re.finditer(" {2,}", line)]
        indent = max((end for end in after_gaps if end <= width // 2), default=0)
        lines += textwrap.wrap(line, width, subsequent_indent=" " * indent) or [""]
    return "\n".join(lines)


def aligned(pairs: list[tuple[str, str]], indent: str = "  ") -> str:
    """Lines of names and values, with the values aligned in a column."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{indent}{name:<{width}}  {value}" for name, value in pairs)


def metric_pairs(metrics: dict[str, float]) -> list[tuple[str, str]]:
    """Metrics as pairs of texts for `aligned`."""
    from neuralrules._reading._notation import number

    return [(name, number(value, 4)) for name, value in metrics.items()]


def bytes_text(n_bytes: int) -> str:
    """A number of bytes as a text in bytes, kB, MB or GB."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes = n_bytes / 1000  # type: ignore[assignment]
    return f"{n_bytes:.1f} GB"
