"""What C prints is discarded; what Python prints is not, in whatever thread."""

import ctypes
import os
import threading

import pytest
from platforms import unix
from waiting import HANG

from neuralrules._io._c_output import discarded_c_output

pytestmark = unix


def c_prints(text):
    library = ctypes.CDLL(None)
    library.puts(text)
    library.fflush(None)


def test_c_is_discarded_and_python_is_not(capfd):
    c_prints(b"before")
    with discarded_c_output():
        c_prints(b"noise")
        os.write(1, b"Python\n")
    c_prints(b"after")
    assert capfd.readouterr().out == "before\nPython\nafter\n"


def test_output_comes_back_after_an_error(capfd):
    with pytest.raises(KeyError), discarded_c_output():
        raise KeyError
    c_prints(b"after")
    assert capfd.readouterr().out == "after\n"


def test_threads_may_overlap(capfd):
    """The first to come in is the first to leave: the second must not end with nothing."""
    inside, leave = threading.Event(), threading.Event()

    def second():
        with discarded_c_output():
            inside.set()
            leave.wait(HANG)
            c_prints(b"noise of the second")

    thread = threading.Thread(target=second)
    with discarded_c_output():
        thread.start()
        inside.wait(HANG)
    c_prints(b"noise of the first while the second is inside")
    leave.set()
    thread.join()
    c_prints(b"after")
    assert capfd.readouterr().out == "after\n"
