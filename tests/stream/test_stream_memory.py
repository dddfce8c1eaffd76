"""Memory is bounded whatever the rows."""

import os
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_tables import plain, written
from platforms import linux

from neuralrules import NeuralRuleRegressor
from neuralrules._stream import _parquet, _training

SCRIPT = """
    import sys
    from neuralrules import NeuralRuleRegressor
    from neuralrules._stream import _training

    _training.BUFFER_BYTES = 2**22
    model = NeuralRuleRegressor(
        n_epochs=1, random_state=0, n_sample_rows=20_000, validation_fraction=0.05
    )
    model.fit(sys.argv[1], "y")
    assert model.rules_.n_training > 0.5 * int(sys.argv[2])
"""


def peak_memory(folder, n_rows):
    """Of a process that fits on a table of so many rows, in MiB."""
    path, rng = folder / f"{n_rows}.parquet", np.random.RandomState(0)
    schema = pa.schema([(f"x{i}", pa.float32()) for i in range(15)] + [("y", pa.float32())])
    with pq.ParquetWriter(path, schema, compression="none") as writer:
        for _ in range(n_rows // 10_000):
            X = rng.randn(10_000, 15).astype(np.float32)
            columns = [*X.T, X[:, 0] + rng.randn(10_000).astype(np.float32)]
            writer.write_table(pa.table(columns, schema=schema))
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(path), str(n_rows)]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


def peak_of_arrays(path, **parameters):
    """Of the arrays of a fit in this process, in MiB."""
    model = NeuralRuleRegressor(
        n_epochs=1, random_state=0, n_sample_rows=1000, validation_fraction=0.01, **parameters
    )
    tracemalloc.start()
    try:
        model.fit(path, "a")
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_arrays_do_not_grow_with_the_rows(tmp_path, monkeypatch):
    """Encoded, 60,000 rows more are 2.5 MiB."""
    monkeypatch.setattr(_training, "BUFFER_BYTES", 2**18)
    monkeypatch.setattr(_parquet, "CHUNK_CELLS", 2**14)
    frame = plain(80_000, task="number")
    small = written(frame[:20_000], tmp_path / "small.parquet", 2000)
    large = written(frame, tmp_path / "large.parquet", 2000)
    peak_of_arrays(small)  # what stays: kernels, modules
    assert peak_of_arrays(large) < peak_of_arrays(small) + 1.2


@linux
@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [900_000, 4_000_000])
def test_memory_does_not_grow_with_the_rows(tmp_path, n_rows):
    """The larger table has 72 bytes a row, encoded: 48 MiB more, or 260, if it were held."""
    small, large = peak_memory(tmp_path, 200_000), peak_memory(tmp_path, n_rows)
    assert large < small + 30
