"""The command line in processes of its own: entry points, signals, pipes, terminals."""

import fcntl
import io
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import COMMANDS, done, write_tables
from platforms import linux
from waiting import HANG, wait_until

from neuralrules import load
from neuralrules._cli import _console
from neuralrules._cli._console import Console, folded
from neuralrules._cli._errors import say


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with tables and a model."""
    folder = tmp_path_factory.mktemp("process")
    write_tables(folder)
    quick = ("--drop", "plant", "--max-depth", 2, "--n-epochs", 2)
    done("fit", folder / "iris.csv", "-t", "species", "-o", folder / "iris.nrules", *quick)
    return folder


# A shell that put the tests into the background, or nohup, has switched signals off for them.
WITH_SIGNALS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
{}
from neuralrules._cli import main
sys.exit(main())
"""


@contextmanager
def started(folder, *arguments, first="", **streams):
    """A command line that runs as long as the block at most, after some other code."""
    command = [sys.executable, "-c", WITH_SIGNALS.format(first), *arguments]
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


@contextmanager
def half_written(here, **options):
    """A command line that has begun to write a file, and waits for the rest of its input."""
    with started(
        here,
        *("predict", "iris.nrules", "-", "-o", "scores.csv"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    ) as process:
        process.stdin.write(many_rows(here))
        process.stdin.flush()
        wait_until(lambda: parts(here))
        yield process


def ended_by(process, number):
    """The exit code of a process that gets a signal until it ends.

    If a signal comes just before Python begins to read, Python answers it after the next bytes
    or the next signal. So the signal is sent again, as a person would do.
    """
    wait_until(lambda: process.send_signal(number) or has_ended(process))
    return process.returncode


def has_ended(process):
    """Whether a process ends within a second."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
    return process.returncode is not None


def parts(folder):
    """The files that are not finished."""
    return list(folder.glob(".*.part"))


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize(
    ("number", "word"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "terminated"),
        (signal.SIGHUP, "hung up"),
        (signal.SIGQUIT, "quit"),
    ],
)
def test_a_signal_while_predicting_leaves_nothing(here, number, word, heard):
    """Even if nobody reads standard error any more, as when a terminal was closed."""
    with half_written(here) as process:
        if not heard:
            process.stderr.close()
        assert ended_by(process, number) == 128 + number
        if heard:
            assert process.stderr.read() == f"neuralrules: {word}\n".encode()
    assert not parts(here)
    assert not (here / "scores.csv").exists()


def test_a_signal_that_was_switched_off_stays_so(here):
    """By nohup, for example."""
    with half_written(here, first="signal.signal(signal.SIGHUP, signal.SIG_IGN)") as process:
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
        assert process.wait(HANG) == 0
    assert not parts(here)
    (here / "scores.csv").unlink()


# Says when standard input is about to be read.
SAYING = """
import io, os

class Input(io.FileIO):
    def readinto(self, buffer):
        os.write(1, b"reading\\n")
        return super().readinto(buffer)

sys.stdin = io.TextIOWrapper(io.BufferedReader(Input(0)))
"""


@linux
@pytest.mark.parametrize(
    "arguments", [("predict", "iris.nrules", "-"), ("fit", "-", "-t", "y", "-o", "m.nrules")]
)
def test_ctrl_c_ends_the_wait_for_standard_input(here, arguments):
    """Of a terminal, too, on which nothing was typed."""
    leader, follower = pty.openpty()
    pipes = {"stdin": follower, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(here, *arguments, first=SAYING, **pipes) as process:
        os.close(follower)
        assert process.stdout.readline() == b"reading\n"
        wait_until(lambda: sleeps(process))
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 130
        assert process.stderr.read() == b"neuralrules: interrupted\n"
    os.close(leader)


def sleeps(process):
    """Whether the main thread of a process waits for something."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


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
        assert process.wait(HANG) == 141
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


def test_a_bar_shows_the_share_that_is_done(monkeypatch):
    terminal, clock = Terminal(), SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_console, "SECONDS_BEFORE", 0)
    monkeypatch.setattr(_console, "time", clock)
    seen = threading.Event()

    def share():
        clock.monotonic = lambda: 1002.5
        seen.set()
        return 0.25

    with Console(quiet=False, as_json=False).progress("Reading a.csv", share, lambda: "7 rows"):
        assert seen.wait(HANG)
    _, first, *_, last = terminal.getvalue().split("\r\x1b[K")
    assert first == f"Reading a.csv {'█' * 6}{'░' * 18}  25% · 7 rows · 2.5 s"
    assert last == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_a_quiet_command_draws_no_bar(monkeypatch, quiet):
    drawn = []
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_console, "draw", lambda label, *_: drawn.append(label))
    with Console(quiet=quiet, as_json=False).progress("Reading a.csv"):
        pass
    assert drawn == ([] if quiet else ["Reading a.csv"])


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


def test_notes_are_folded_between_words_on_a_narrow_terminal(monkeypatch):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    text = "note: --task overrides what the target looks like, however long this note is."
    with open(follower, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        say(text)
        lines = os.read(leader, 1000).decode().splitlines()
    os.close(leader)
    assert max(map(len, lines)) <= 40
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == f"neuralrules: {text}"


def test_long_lines_go_on_under_their_last_column(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = "Every row\n  leaf  income > 20000 and debt < 1000 and age > 30"
    assert folded(text).splitlines() == [
        "Every row",
        "  leaf  income > 20000 and debt < 1000",
        "        and age > 30",
    ]
