"""Kernels on other CPUs, and compiled code on disk."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuralrules
from neuralrules._engine._kernels._compile import TILE, vectors_for

PACKAGE = Path(neuralrules.__file__).parent


@pytest.mark.parametrize(
    ("triple", "features", "lanes", "n_registers"),
    [
        ("x86_64-unknown-linux-gnu", "+avx,+avx2,+avx512f,+fma", 16, 32),
        ("x86_64-unknown-linux-gnu", "+avx,+avx2,-avx512f,+fma", 8, 16),
        ("x86_64-pc-windows-msvc", "+sse2", 4, 16),
        ("x86_64-apple-darwin", "", 4, 16),
        ("aarch64-unknown-linux-gnu", "+neon", 4, 32),
        ("arm64-apple-darwin", "", 4, 32),
    ],
)
def test_the_tile_fits_the_registers(triple, features, lanes, n_registers):
    vectors = vectors_for(triple, features)
    assert vectors.lanes == lanes
    assert vectors.fused == ("fma" in features or triple[0] == "a")
    assert TILE % (vectors.at_once * vectors.lanes) == 0
    sums, rows, weights = 2 * vectors.at_once, vectors.at_once, 2
    assert sums + rows + weights <= n_registers


TRAINED = """
import sys, warnings
import numpy as np
from sklearn.datasets import make_classification
from neuralrules import NeuralRuleClassifier
from neuralrules._engine._kernels._compile import VECTORS
X, y = make_classification(700, 11, n_informative=7, n_classes=3, random_state=0)
found = {"lanes": VECTORS.lanes}
for deep in (False, True):
    model = NeuralRuleClassifier(5, deep=deep, n_epochs=3, random_state=0).fit(X, y)
    found[f"deep {deep}"] = model.decision_function(X).tolist()
start = NeuralRuleClassifier(5, deep=True, n_epochs=0, random_state=0).fit(X, y)
found["start"] = start.decision_function(X).tolist()
import json
print(json.dumps(found))
"""


def trained_on(cpu, folder):
    """What a process computes whose numba compiles for another CPU."""
    environment = {**os.environ, **cpu, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", TRAINED], env=environment, check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(
    "avx2" not in Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else True,
    reason="needs a CPU with AVX2",
)
def test_results_do_not_depend_on_the_width_of_the_vectors(tmp_path):
    here = trained_on({}, tmp_path / "here")
    narrow = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"}
    avx2 = trained_on(narrow, tmp_path / "avx2")
    assert avx2["lanes"] == 8
    for key in ("start", "deep False"):
        assert here[key] == avx2[key]
    # The backward pass of deep rules sums a literal in the order that LLVM likes best.
    np.testing.assert_allclose(here["deep True"], avx2["deep True"], rtol=1e-2, atol=1e-2)


ONCE = """
from neuralrules._engine._kernels import _forward
from neuralrules._engine._numba import NumbaEngine
import numpy as np
from neuralrules._network._network import Network
network = Network.dense(
    weights=np.ones((1, 1), "f4"), features=np.zeros(1, "i4"), offsets=np.array([0, 1]),
    biases=np.zeros(1, "f4"), values=np.ones((1, 1), "f4"), intercept=np.zeros(1),
    mixing=np.empty(0, "f4"), shifts=np.empty(0, "f4"), origins=np.zeros(1, int),
)
print(NumbaEngine().decide(network, np.full((1, 1), 2, "f4"))[0, 0])
print(sum(_forward.decide.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_change_of_an_inner_kernel_is_noticed(tmp_path):
    """numba itself looks at the file of the outermost kernel only."""
    shutil.copytree(PACKAGE, tmp_path / "neuralrules", ignore=shutil.ignore_patterns("*.nb?"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def output():
        command = [sys.executable, "-c", ONCE]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode().split()

    assert output() == ["2.0", "0"]
    assert output() == ["2.0", "1"]
    inner = tmp_path / "neuralrules/_engine/_kernels/_arrays.py"
    text = inner.read_text()
    changed = text.replace("= X[row, np", "= np.float32(0.75) * X[row, np")
    assert changed != text
    inner.write_text(changed)
    assert output() == ["1.5", "0"]
