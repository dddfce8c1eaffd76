"""The line that shows how far training has come, with a clock that the tests set."""

from __future__ import annotations

import io
import os
import sys
from types import SimpleNamespace

import pytest
from platforms import unix

from neuralrules._io import _progress
from neuralrules._io._progress import Progress, ProgressLine, duration

FULL, EMPTY = "█", "░"


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_progress, "time", clock)
    return clock


def standard_error(monkeypatch, stream: Stream) -> Stream:
    """Not sys.stderr itself, which pytest captures anew for each test."""
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def terminal(monkeypatch) -> Stream:
    return standard_error(monkeypatch, Stream(terminal=True))


@pytest.fixture
def log(monkeypatch) -> Stream:
    return standard_error(monkeypatch, Stream(terminal=False))


def line(epoch: int, of: int, filled: int, rest: str) -> str:
    return f"{FULL * filled}{EMPTY * (24 - filled)} epoch {epoch}/{of} · {rest}"


def train(clock: Clock, n_epochs: int, seconds: float, **options) -> None:
    """So many epochs of so many seconds each."""
    with Progress(n_epochs, shown=True, **options) as bar:
        for epoch in range(1, n_epochs + 1):
            clock.now += seconds
            bar.update(epoch, 1 / epoch, None)


def test_a_terminal_shows_one_line_drawn_again_in_its_place(clock, terminal):
    train(clock, 4, 30)
    first, *lines = terminal.getvalue().split("\r\x1b[K")  # to the start, and wipe
    assert first == ""
    assert lines == [
        line(1, 4, 6, "loss 1.0000 · 30.0 s · 1 min 30 s left"),
        line(2, 4, 12, "loss 0.5000 · 1 min 0 s · 1 min 0 s left"),
        line(3, 4, 18, "loss 0.3333 · 1 min 30 s · 30.0 s left"),
        line(4, 4, 24, "loss 0.2500 · 2 min 0 s · 0.0 s left"),
        line(4, 4, 24, "loss 0.2500 · 2 min 0 s · 0.0 s left\n"),  # and stays
    ]


def test_a_log_gets_whole_lines_without_control_characters(clock, log):
    train(clock, 4, 30)
    shown = log.getvalue()
    assert "\r" not in shown
    assert "\x1b" not in shown
    assert shown.endswith("\n")
    epochs = [row.split(" · ")[0].split()[-1] for row in shown.splitlines()]
    assert epochs == ["1/4", "2/4", "3/4", "4/4", "4/4"]


def test_a_terminal_is_drawn_ten_times_a_second_at_most(clock, terminal):
    train(clock, 1000, 0.01)
    drawn = terminal.getvalue().count("\r")
    assert 80 < drawn <= 101


def test_a_log_gets_a_line_every_ten_seconds_at_most(clock, log):
    train(clock, 1000, 0.1)
    assert 8 <= log.getvalue().count("\n") <= 11


def test_short_work_shows_its_end_alone(clock, log):
    train(clock, 3, 0.5)
    assert log.getvalue() == line(3, 3, 24, "loss 0.3333 · 1.5 s · 0.0 s left") + "\n"


def test_a_validation_loss_is_shown_where_there_is_one(clock, log):
    with Progress(2, shown=True) as bar:
        clock.now += 1
        bar.update(1, 0.25, 0.75)
    assert log.getvalue() == (
        line(1, 2, 12, "loss 0.2500 · validation 0.7500 · 1.0 s · 1.0 s left") + "\n"
    )


def test_what_was_shown_last_stays_after_an_interruption(clock, terminal):
    with pytest.raises(KeyboardInterrupt), Progress(10, shown=True) as bar:  # noqa: PT012
        clock.now += 0.01
        bar.update(1, 0.5, None)
        assert terminal.getvalue() == ""  # too early to draw
        raise KeyboardInterrupt
    shown = terminal.getvalue()
    assert shown == "\r\x1b[K" + line(1, 10, 2, "loss 0.5000 · 0.0 s · 0.1 s left") + "\n"


def test_nothing_done_is_nothing_shown(clock, terminal):
    with Progress(10, shown=True):
        clock.now += 100
    assert terminal.getvalue() == ""


def test_what_is_not_to_be_shown_is_not(clock, terminal):
    with Progress(2, shown=False) as bar:
        clock.now += 100
        bar.update(1, 0.5, None)
    assert terminal.getvalue() == ""


def test_a_loss_that_is_no_number_is_shown(clock, log):
    with Progress(1, shown=True) as bar:
        bar.update(1, float("nan"), float("inf"))
    assert "loss nan · validation inf" in log.getvalue()


def test_a_terminal_shows_what_has_begun_before_its_first_step_is_done(clock, terminal):
    with ProgressLine(shown=True) as bar:
        bar.begin("fold 1/5")
        assert terminal.getvalue() == "\r\x1b[K" + EMPTY * 24 + " fold 1/5"
        clock.now += 30
        bar.show(0.25, "fold 2/5")
    assert terminal.getvalue().endswith(
        f"\r\x1b[K{FULL * 6}{EMPTY * 18} fold 2/5 · 30.0 s · 1 min 30 s left\n"
    )


def test_a_log_is_told_of_steps_alone(clock, log):
    with ProgressLine(shown=True) as bar:
        bar.begin("fold 1/5")
    assert log.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.04, "0.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min 0 s"),
        (119.4, "1 min 59 s"),
        (3600, "60 min 0 s"),
        (59.97, "1 min 0 s"),
        (119.7, "2 min 0 s"),
    ],
)
def test_durations_in_words(seconds, text):
    assert duration(seconds) == text


@unix
def test_a_line_is_no_longer_than_the_terminal(monkeypatch):
    """A longer one would go on in the next line, and could not be redrawn."""
    import fcntl
    import pty
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with open(follower, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with ProgressLine(shown=True) as line:
            line.begin("epoch 1 of very many epochs that do not fit in one line")
        shown = os.read(leader, 1000).decode().split("\r\x1b[K")
    os.close(leader)
    assert {len(text.strip()) for text in shown[1:]} == {40}
