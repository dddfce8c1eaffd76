"""Fixtures shared by the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import chromium
from hypothesis import HealthCheck, settings
from platforms import ONLY_UNIX

if os.name == "nt":
    collect_ignore = [*ONLY_UNIX]
else:
    import fcntl

# Triton's kernels run in its interpreter: that is settled when it is first imported.
os.environ["TRITON_INTERPRET"] = "1"
# One CPU may serve several workers: no deadlines. The examples are the same in every run, so
# that a run is green or red by the code alone; HYPOTHESIS_EXAMPLES asks for other ones.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize="HYPOTHESIS_EXAMPLES" not in os.environ,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")

COMPILE = str(Path(__file__).with_name("compile_kernels.py"))


class Compilation:
    """One process compiles the kernels into numba's cache; all workers wait for it.

    Otherwise each of them, and each process that a test starts, would do so for itself.
    The process holds a lock for as long as it lives; meanwhile the workers collect.
    """

    def __init__(self) -> None:
        descriptor, self._lock = tempfile.mkstemp(prefix="compilation-")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._process = subprocess.Popen(
            [sys.executable, COMPILE], pass_fds=[descriptor], stdin=subprocess.DEVNULL
        )
        os.close(descriptor)  # the lock is the process's alone now

    def pytest_configure_node(self, node) -> None:
        node.workerinput["compilation"] = self._lock

    def pytest_unconfigure(self) -> None:
        self._process.kill()
        self._process.wait()
        os.unlink(self._lock)


def pytest_configure(config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("dist", "no") != "no" and not is_worker and os.name != "nt":
        config.pluginmanager.register(Compilation())


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels(request) -> None:
    lock = getattr(request.config, "workerinput", {}).get("compilation")
    if lock is not None:
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_SH)


@pytest.fixture(scope="session", autouse=True)
def no_deadlines() -> None:
    from patience import remove_deadlines

    remove_deadlines()


@pytest.fixture(scope="session")
def rotated_xor() -> tuple[np.ndarray, np.ndarray]:
    """Two classes in opposite quadrants of a plane turned by 45 degrees."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (1200, 2))
    return X @ np.array([[1, -1], [1, 1]]) / np.sqrt(2), (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="session")
def mixed_frame() -> tuple[pd.DataFrame, np.ndarray]:
    """A frame with every kind of column, and holes in them."""
    rng = np.random.RandomState(0)
    n = 500
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, n),
            "children": rng.randint(0, 5, n),
            "employed": rng.rand(n) > 0.4,
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "grade": pd.Categorical(rng.choice(["a", "b"], n)),
            "age": pd.array(rng.randint(18, 90, n), dtype="Int64"),
            "member": pd.array(rng.rand(n) > 0.5, dtype="boolean"),
            "code": pd.Categorical(rng.choice([1, 2, 3], n)),
        }
    )
    y = ((frame["income"] > 25000) ^ (frame["city"] == "Rome")).to_numpy().astype(int)
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "city"] = None
    frame.loc[::5, "age"] = pd.NA
    frame.loc[::13, "member"] = pd.NA
    return frame, y


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def tables_and_models(tmp_path_factory) -> Path:
    """A folder with the tables of the command line's tests and models of them."""
    from command_line import write_models, write_tables

    folder = tmp_path_factory.mktemp("made")
    write_tables(folder)
    write_models(folder)
    return folder


@pytest.fixture
def here(tables_and_models, tmp_path, monkeypatch) -> Path:
    """The same in a folder to work in."""
    for path in tables_and_models.iterdir():
        shutil.copyfile(path, tmp_path / path.name)  # a link would change for all tests
    monkeypatch.chdir(tmp_path)
    return tmp_path
