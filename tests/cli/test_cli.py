"""The command line as a whole: help, exit codes, errors, completion."""

import os
import re
import shlex
import subprocess
import warnings

import click
import pytest
from click.shell_completion import ShellComplete
from command_line import COMMANDS, done, refused, run, write_tables
from platforms import unix

import neuralrules
from neuralrules._cli import _app
from neuralrules._cli._app import COMPLETION_VARIABLE
from neuralrules._cli._console import bytes_text, json_text
from neuralrules._cli._errors import in_options

NAMES = [str(command.name) for command in _app.COMMANDS]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the tables of the examples, to work in."""
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


def failing(error):
    """The command line with one command that fails as given."""

    @click.command("fail")
    def fail():
        if isinstance(error, Warning):
            warnings.warn(error, stacklevel=1)
        else:
            raise error

    return fail


def test_version():
    assert done("--version").out == f"neuralrules {neuralrules.__version__}\n"


def test_the_help_names_every_command_with_a_whole_sentence():
    shown = done("--help").out
    for name in NAMES:
        (line,) = re.findall(rf"^  {name} +(.*)$", shown, re.MULTILINE)
        assert line.endswith(".")
        assert "..." not in line


def test_no_command_is_wrong_use_and_shows_the_help():
    result = run()
    assert (result.code, result.out) == (2, "")
    assert result.err == done("--help").out


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_fits_a_terminal_and_ends_with_examples(name):
    shown = done(name, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    before, examples = shown.split("\nExamples:\n")
    assert re.search(rf"^Usage: neuralrules {name} ", before)
    assert f"neuralrules {name}" in examples
    usage = before.splitlines()[0].split(name)[1]
    for argument in re.findall(r"\b[A-Z]{2,}\b", usage.replace("[OPTIONS]", "")):
        assert re.search(rf"^  \[?{argument}\]?  +\w", before, re.MULTILINE)


def examples():
    """The examples in the help, in the order of the commands."""
    for command in _app.COMMANDS:
        if command.name not in ("demo", "completion"):  # long, and into the user's home
            yield from "\n".join(command.examples).replace("\\\n", "").splitlines()


@pytest.mark.slow
def test_the_examples_in_the_help_run(here):
    lines = list(examples())
    assert len(lines) >= 18
    # A model of the first example must do for the others.
    lines.remove("neuralrules fit iris.csv --target species -o iris.nrules")
    done("fit", "iris.csv", "--target", "species", "--drop", "plant", "-o", "iris.nrules")
    for line in lines:
        source, piped, rest = line.partition(" | ")
        stdin = (here / source.removeprefix("cat ")).read_text() if piped else ""
        command, redirected, output = (rest if piped else line).partition(" > ")
        name, *arguments = shlex.split(command)
        assert name == "neuralrules"
        result = done(*arguments, *(["--quiet"] if redirected else []), stdin=stdin)
        if redirected:
            assert result.out
            assert result.err == ""
            assert output.endswith((".csv", ".txt", ".sql"))
            (here / output).write_text(result.out)
    assert {path.name for path in here.iterdir()} >= {
        *("iris.nrules", "houses.nrules", "small.nrules"),
        *("scored.csv", "scored.parquet", "iris.html", "iris.onnx", "iris.py"),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foo"], "No such command 'foo'."),
        (["fit"], "Missing argument 'DATA'."),
        (["fit", "a.csv"], "Missing option '--target' / '-t'."),
        (["predict", "m"], "Missing argument 'DATA'."),
        (["explain", "m", "d.csv"], "Missing option '--row'."),
        (["explain", "m", "d.csv", "--row", "0"], "Invalid value for '--row': 0 is not in"),
        (["rules", "m", "--precision", "18"], "Invalid value for '--precision': 18 is not"),
        (["export", "m"], "Missing option '--format' / '-f'. Choose from: onnx, sql, python"),
        (
            ["evaluate", "m", "d", "--delimiter", "ab"],
            "Invalid value for '--delimiter': 'ab' is not one character. Give one, for example "
            "';' or '\\t'.",
        ),
        (["completion", "tcsh"], "Invalid value for 'SHELL': 'tcsh' is not one of 'bash',"),
    ],
)
def test_wrong_use_is_told_in_a_line_and_ends_with_2(arguments, message):
    assert refused(*arguments, code=2).startswith(message)


def test_an_option_that_is_not_there_is_compared_with_those_that_are():
    assert "--max-depth" in refused("fit", "a.csv", "--max-deth", 3, code=2)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            KeyError("x"),
            1,
            "neuralrules: error: internal error, KeyError: 'x'. This should not happen; set "
            "NEURALRULES_TRACEBACK=1 to see where it comes from, and please report it.\n",
        ),
        (KeyboardInterrupt(), 130, "neuralrules: interrupted\n"),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            1,
            "neuralrules: error: 'a.csv': Permission denied.\n",
        ),
        (
            ImportError("No module named 'pandas'"),
            1,
            "neuralrules: error: No module named 'pandas'. Install what is missing with: "
            'pip install "neuralrules[cli]"\n',
        ),
        (
            ImportError('report needs jinja2. Install it with: pip install "x[report]"'),
            1,
            'neuralrules: error: report needs jinja2. Install it with: pip install "x[report]"'
            "\n",
        ),
        (UserWarning("two\nlines"), 0, "neuralrules: warning: two lines\n"),
        (click.UsageError("a\x1b[31m\nb"), 2, "neuralrules: error: a\\x1b[31m b\n"),
    ],
)
def test_every_ending_is_one_line(error, code, line, monkeypatch):
    monkeypatch.setitem(_app.app.commands, "fail", failing(error))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run("fail")
    assert result.code == code
    assert result.err.replace("Try 'neuralrules fail --help' for help.\n", "") == line


def test_a_traceback_comes_on_request(monkeypatch):
    monkeypatch.setitem(_app.app.commands, "fail", failing(KeyError("x")))
    monkeypatch.setenv("NEURALRULES_TRACEBACK", "1")
    lines = run("fail").err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1].startswith("neuralrules: error: internal error")


def test_messages_of_the_library_name_options():
    message = "early_stopping=True with l2=3 and n_jobs: set early_stopping=False, not 'l2='"
    assert in_options(message, ["early_stopping", "l2", "n_jobs"]) == (
        "--early-stopping with --l2 3 and --n-jobs: set --no-early-stopping, not 'l2='"
    )
    assert in_options("path='x' and sample_weight") == "--output 'x' and --weight"
    assert in_options("column 'max_rules' stays") == "column 'max_rules' stays"


def test_json_has_all_digits_and_null_for_what_is_no_number():
    record = {"a": 0.1 + 0.2, "b": [float("nan"), float("inf")], "c": "é"}
    assert json_text(record) == (
        '{\n  "a": 0.30000000000000004,\n  "b": [\n    null,\n    null\n  ],\n  "c": "é"\n}'
    )


def test_bytes_for_people():
    texts = [bytes_text(n) for n in (0, 999, 1000, 123_456, 7_000_000, 2_500_000_000)]
    assert texts == ["0 bytes", "999 bytes", "1.0 kB", "123.5 kB", "7.0 MB", "2.5 GB"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_where_to_put_it(shell):
    script = done("completion", shell).out
    assert "_NEURALRULES_COMPLETE" in script
    assert script.splitlines()[-1].startswith(
        f"# To install: neuralrules completion {shell} > ~/"
    )
    if shell == "zsh":  # which reads the first line alone
        assert script.startswith("#compdef neuralrules\n")


@pytest.mark.parametrize(
    ("words", "start", "expected"),
    [
        ([], "e", {"edit", "evaluate", "explain", "export"}),
        (["fit"], "--max-d", {"--max-depth", "--max-depths"}),
        (["fit", "--rule-source"], "", {"boosting", "expert", "forest", "tree"}),
        (["fit", "--batch-size"], "a", {"auto"}),
        (["export", "--format"], "", {"onnx", "sql", "python"}),
    ],
)
def test_commands_options_and_words_are_completed(words, start, expected):
    completion = ShellComplete(_app.app, {}, "neuralrules", COMPLETION_VARIABLE)
    assert {item.value for item in completion.get_completions(words, start)} == expected


@unix
def test_bash_runs_the_script(tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(done("completion", "bash").out)
    asked = (
        f"source {script}; COMP_WORDS=(neuralrules e); COMP_CWORD=1; "
        "_neuralrules_completion neuralrules; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    path = f"{COMMANDS.parent}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        ["bash", "--norc", "-c", asked],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert shown.stdout.split() == ["evaluate", "explain", "edit", "export"]
