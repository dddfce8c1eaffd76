"""No page describes what is not there: parameters, commands and options that pages name."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from public_api import PUBLIC, parameters_of

from neuralrules._cli._app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/*.rst", "docs/guides/*.md", "examples/*/*.py")
    for path in ROOT.glob(pattern)
)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
KEYWORD = re.compile(r"""(?<![\w.\])"'-])([a-z]\w*)=(?!=)""")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options_of(command: click.Command) -> set[str]:
    parameters = command.get_params(click.Context(command))
    return {name for one in parameters for name in (*one.opts, *one.secondary_opts)}


COMMANDS = {name: options_of(command) for name, command in app.commands.items()}
ALL_OPTIONS = {"--version", *(option for options in COMMANDS.values() for option in options)}
BENCHMARKS = {"--quick", "--write"}  # options of `python -m benchmarks...`


def accepted() -> dict[str, set[str]]:
    """Parameters that go by the last part of a public name, such as `simplify`."""
    found: dict[str, set[str]] = {}
    for name, item in PUBLIC.items():
        owner, _, last = name.rpartition(".")
        taken = parameters_of(item)
        if "parameters" in taken:  # of `paper`: those of its class
            taken |= parameters_of(PUBLIC[owner])
        found[last] = found.get(last, set()) | taken
    return found


ACCEPTED = accepted()
ACCEPTED["to_sql"].add("index")  # of the method of pandas
del ACCEPTED["plot"]  # matplotlib's takes whatever
ALL_PARAMETERS = set().union(*ACCEPTED.values())


def unknown_in_calls(tree: ast.AST) -> Iterator[str]:
    """Keywords that a call of ours does not take."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        name = getattr(function, "id", getattr(function, "attr", ""))
        if name in ACCEPTED:
            given = {keyword.arg for keyword in call.keywords} - {None}
            yield from sorted(given - ACCEPTED[name])


def unknown_in_commands(text: str) -> Iterator[str]:
    """Commands and options of `neuralrules` that there are not."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "neuralrules" not in words[:1]:
            continue
        name, *rest = words[1:] or ["--help"]
        if name not in COMMANDS:
            yield from () if name in ALL_OPTIONS or name.isupper() else (f"neuralrules {name}",)
            continue
        given = {word for word in rest if OPTION.fullmatch(word)}
        yield from (f"neuralrules {name} {one}" for one in sorted(given - COMMANDS[name]))


def unknown_inline(code: str) -> Iterator[str]:
    """The same of a few words within a sentence."""
    first = code.split(maxsplit=1)[0]
    if first in ("python", "make", "pip", "git", "apt"):
        return
    if first == "neuralrules" or (first in COMMANDS and "--" in code):
        yield from unknown_in_commands(f"neuralrules {code.removeprefix('neuralrules')}")
    elif "--" in code:
        yield from (one for one in OPTION.findall(code) if one not in ALL_OPTIONS | BENCHMARKS)
    elif "=" in code:
        found = {one for one in KEYWORD.findall(code) if one not in ALL_PARAMETERS}
        with contextlib.suppress(SyntaxError):  # words, or a piece of code
            found |= set(unknown_in_calls(ast.parse(code)))
        yield from sorted(found)


def unknown(path: Path) -> list[str]:
    text = path.read_text()
    if path.suffix == ".py":
        return list(unknown_in_calls(ast.parse(text)))
    found = []
    for language, body in FENCED.findall(text):
        if language in ("python", "py"):
            found += unknown_in_calls(ast.parse(body))
        if language in ("sh", "bash"):
            found += unknown_in_commands(body)
    for _, code in INLINE.findall(FENCED.sub("", text)):
        found += unknown_inline(code)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_only_parameters_and_options_that_exist(path):
    assert unknown(path) == []


@pytest.mark.parametrize(
    "text",
    [
        "```python\nNeuralRuleClassifier(depth=3)\n```\n",
        "```python\nsmall = model.simplify(X, y, size=3)\n```\n",
        "```python\nmodel = NeuralRuleClassifier.paper(deepness=True)\n```\n",
        "```bash\nneuralrules fit a.csv --speed 3 -o a.nrules\n```\n",
        "```sh\nneuralrules train a.csv\n```\n",
        "Set `speed=3` for that.",
        "Call `model.report(file='a.html')`.",
        "On the command line `--speed` does it.",
        "On the command line `fit --speed 3` does it.",
    ],
)
def test_what_does_not_exist_is_found(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    assert len(unknown(page)) == 1
