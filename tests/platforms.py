"""Where tests can run. Linux runs all of them, Windows all that need nothing of Unix."""

import os
import sys

import pytest

# Tests that Windows leaves out: of terminals, of signals and of limits of processes.
ONLY_UNIX = ("benchmarks", "cli/test_cli_process.py")
unix = pytest.mark.skipif(
    os.name == "nt", reason="needs the links, modes, signals, scripts or terminals of Unix"
)
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux: /proc, its unit of memory, or safe forks"
)
