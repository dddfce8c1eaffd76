"""The command line in processes of its own: entry points, signals, pipes, terminals."""

import io
import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import COMMANDS, done, write_tables
from platforms import linux

from neuralrules import load
from neuralrules._cli import _console
from neuralrules._cli._console import Console


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with tables and a model."""
    folder = tmp_path_factory.mktemp("process")
    write_tables(folder)
    quick = ("--drop", "plant", "--max-depth", 2, "--n-epochs", 2)
    done("fit", folder / "iris.csv", "-t", "species", "-o", folder / "iris.nrules", *quick)
    return folder


# A shell that put the tests into the background has switched Ctrl-C off for them.
WITH_CTRL_C = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from neuralrules._cli import main; sys.exit(main())"
)


@contextmanager
def started(folder, *arguments, **streams):
    """A command line that runs as long as the block at most."""
    command = [sys.executable, "-c", WITH_CTRL_C, *arguments]
    with subprocess.Popen(command, cwd=folder, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def on_terminal(folder, *arguments, **streams):
    """A command line whose standard error is a terminal, and the other end of that."""
    leader, follower = pty.openpty()
    with started(folder, *arguments, stderr=follower, **streams) as process:
        os.close(follower)
        yield process, leader
    os.close(leader)


def shown_until(leader, text=None):
    """What a terminal shows until a text, or to the end."""
    shown = ""
    while text is None or text not in shown:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            assert text is None, shown
            return shown
        shown += piece.decode(errors="replace")
    return shown


def many_rows(folder):
    """More than a buffer full of rows."""
    header, *rows = (folder / "new.csv").read_bytes().splitlines(keepends=True)
    return header + b"".join(rows * 20)


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within a minute")


@pytest.mark.parametrize("command", [[COMMANDS], [sys.executable, "-m", "neuralrules"]])
def test_both_ways_in(command, here):
    def run(*arguments):
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, cwd=here
        )

    shown = run("rules", "iris.nrules")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == f"{load(here / 'iris.nrules').rules_text()}\n"
    assert run("rules", "no.nrules").returncode == 1
    assert run("rulez").returncode == 2


def test_without_click_a_line_says_how_to_get_it():
    script = """
        import sys
        import neuralrules
        assert "click" not in sys.modules
        sys.modules["click"] = None
        from neuralrules._cli import main
        sys.exit(main(["--help"]))
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "neuralrules: error: the command line needs click, which is not installed. Install it "
        'with: pip install "neuralrules[cli]"\n'
    )


def test_a_fit_shows_its_progress_and_ctrl_c_saves_what_it_learned(here):
    with on_terminal(
        here,
        *("fit", "iris.csv", "-t", "species", "--drop", "plant", "-o", "stopped.nrules"),
        *("--n-epochs", "10000000"),
        stdout=subprocess.PIPE,
    ) as (process, leader):
        shown = shown_until(leader, "loss 0.")
        assert "epoch" in shown
        process.send_signal(signal.SIGINT)
        shown = shown_until(leader)
        out = process.stdout.read().decode()
        assert process.wait() == 130
    lines = shown.splitlines()
    assert lines[-2].startswith("neuralrules: warning: Training was interrupted after ")
    assert lines[-1] == (
        "neuralrules: interrupted: the model as far as it was trained is in 'stopped.nrules'."
    )
    assert out.startswith("Fitted species on 150 rows of iris.csv.\n")
    model = load(here / "stopped.nrules")
    assert model.interrupted_
    assert model.verbose == 0
    assert model.n_iter_ > 0


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")]
)
def test_a_signal_while_predicting_leaves_nothing(here, number, word):
    with started(
        here,
        *("predict", "iris.nrules", "-", "-o", "never.csv"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(many_rows(here))
        process.stdin.flush()
        wait_for(lambda: list(here.glob(".*.part")))
        process.send_signal(number)
        assert process.wait(20) == 128 + number
        assert process.stderr.read() == f"neuralrules: {word}\n".encode()
    assert not list(here.glob(".*.part"))
    assert not (here / "never.csv").exists()


@linux
@pytest.mark.parametrize(
    "arguments", [("predict", "iris.nrules", "-"), ("fit", "-", "-t", "y", "-o", "m.nrules")]
)
def test_ctrl_c_ends_the_wait_for_standard_input(here, arguments):
    """Of a terminal, too, on which nothing was typed."""
    leader, follower = pty.openpty()
    pipes = {"stdin": follower, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with started(here, *arguments, **pipes) as process:
        os.close(follower)
        wait_for(lambda: waits_for_input(process))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == b"neuralrules: interrupted\n"
    os.close(leader)


def waits_for_input(process):
    """Whether a process has imported what reads tables, and does nothing any more."""

    def seconds():
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]

    before = seconds()
    time.sleep(0.3)
    imported = "pyarrow" in Path(f"/proc/{process.pid}/maps").read_text()
    return imported and seconds() == before


@pytest.mark.parametrize("module", ["click", "pyarrow"])
def test_ctrl_c_ends_the_imports_in_one_line(here, module):
    """Also where a module would take the interruption for something else."""
    script = f"""
        import importlib.abc, os, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)

        class CtrlC(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == {module!r}:
                    try:
                        os.kill(os.getpid(), signal.SIGINT)
                    except BaseException as error:
                        raise ImportError(name) from error

        from neuralrules._cli import main
        sys.meta_path.insert(0, CtrlC())
        sys.exit(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(script), "predict", "iris.nrules"]
    ended = subprocess.run(
        [*command, "new.csv"], capture_output=True, text=True, check=False, cwd=here
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "neuralrules: interrupted\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "iris.nrules", "new.csv"),
        pytest.param(("rules", "iris.nrules", "--exact"), marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_has_enough_ends_a_command_quietly(arguments, here):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(here, *arguments, **pipes) as process:
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


def test_progress_is_shown_on_a_terminal_and_gone_at_the_end(here):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with on_terminal(here, "predict", "iris.nrules", "-", **streams) as (process, leader):
        process.stdin.write(many_rows(here))
        process.stdin.flush()
        shown_until(leader, "Scoring standard input · 0 rows · ")
        process.stdin.close()
        assert shown_until(leader).endswith(
            "\r\x1b[KWrote predictions of 3,000 rows to standard output.\r\n"
        )
        assert process.wait() == 0


def test_onnx_is_no_text_for_a_terminal(here):
    leader, follower = pty.openpty()
    arguments = ("export", "iris.nrules", "--format", "onnx")
    with started(here, *arguments, stdout=follower, stderr=follower) as process:
        os.close(follower)
        assert shown_until(leader).startswith(
            "neuralrules: error: An ONNX graph is no text for a terminal. Give a file with "
            "--output, for example model.onnx."
        )
        assert process.wait() == 2
    os.close(leader)


@linux
def test_a_long_table_is_scored_in_constant_memory(here):
    header, *rows = (here / "new.csv").read_text().splitlines(keepends=True)
    script = """
        import resource, sys
        from neuralrules._cli import main
        for data in ("short.csv", "long.csv"):
            assert main(["predict", "iris.nrules", data, "--proba", "-o", "out.csv"]) == 0
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    """
    (here / "short.csv").write_text(header + "".join(rows * 400))
    (here / "long.csv").write_text(header + "".join(rows * 4000))
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=here,
    )
    _, short, wrote, long = shown.stdout.splitlines()
    assert wrote == "Wrote predictions of 600,000 rows to out.csv."
    assert int(long) - int(short) < 20  # MB; the table has 16, its frame would have 60


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("quiet", [False, True])
def test_a_bar_shows_the_share_that_is_done(quiet, monkeypatch):
    monkeypatch.setattr(_console, "SECONDS_BEFORE", 0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen = threading.Event()

    def share():
        seen.set()
        return 0.25

    console = Console(quiet=quiet, as_json=False)
    with console.progress("Reading a.csv", share, lambda: "7 rows"):
        seen.wait(0.2 if quiet else 60)
    shown = sys.stderr.getvalue().split("\r\x1b[K")
    if quiet:
        assert shown == [""]
    else:
        assert shown[1] == f"Reading a.csv {'█' * 6}{'░' * 18}  25% · 7 rows · 0.0 s"
        assert shown[-1] == ""


@pytest.mark.parametrize("options", [(), ("--proba", "--decision")])
def test_a_short_table_is_scored_without_what_is_slow_to_load(here, options):
    script = """
        import sys
        from neuralrules._cli import main
        code = main(sys.argv[1:])
        slow = {"sklearn", "numba", "llvmlite", "joblib", "scipy.stats", "scipy.sparse"}
        print(code, sorted(slow & set(sys.modules)))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), "predict", "iris.nrules"]
    shown = subprocess.run(
        [*command, "new.csv", "-o", "quick.csv", "--quiet", *options],
        capture_output=True,
        text=True,
        check=True,
        cwd=here,
    )
    assert (shown.stdout, shown.stderr) == ("0 []\n", "")
