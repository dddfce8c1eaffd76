"""The speed of the engine, compared with the bare matrix product and with other models.

    python -m benchmarks.speed [--data FOLDER] [--quick] [--write]

For each data set, one epoch of training and one prediction are timed, at depth 10 and with
batches of 256 rows. They are compared with the *bare product*: only the float32 matrix product
of all rows with all literals, by BLAS, in batches of 256 rows. Everything is measured in one
process, in turns, and compared as a ratio. The engine is measured twice: with all vector
instructions of this CPU, and in a second process in which the engine, BLAS and NumPy use AVX2
only.

--write puts the results into docs/speed.md, with versions, CPU and commit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial

import numpy as np
from catboost import CatBoostClassifier
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.utils._testing import ignore_warnings
from threadpoolctl import threadpool_limits

from benchmarks.datasets import data_folder, load
from benchmarks.pages import DOCS, environment
from benchmarks.speed_page import POOL_TREES, render, write_speed
from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV
from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._engine import Batches, get_engine
from neuralrules._network._network import Network
from neuralrules._rules._sources import SOURCES, SourceOptions
from neuralrules._task._task import Task
from neuralrules._training._training import shuffled_batches

NAMES = ("phoneme", "magic", "adult", "twonorm", "spambase")
BATCH = 256
REPEATS = 3  # repetitions of each measurement in its turn; the fastest counts
# Seconds to wait: threads of BLAS spin for a while after a product, and would use our core.
BLAS_REST = 0.1
# Settings with which numba, BLAS and NumPy take the CPU for one without AVX-512.
AVX2_ONLY = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4",
}
# Classes, source and depth of the pools that are grown from a large table. The first is the
# default.
POOLS = ((2, "boosting", 2), (7, "boosting", 2), (2, "tree", 6), (2, "forest", 6))
OWN_COLUMNS = 3  # of spambase's 57, in the record of rules that own few


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs, which was disturbed least by other programs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def bare_product(X: np.ndarray, weights: np.ndarray) -> Callable[[], None]:
    """A function that multiplies all rows with all literals, in batches, into one buffer."""
    transposed = np.ascontiguousarray(weights.T)
    buffer = np.empty((BATCH, len(weights)), np.float32)

    def work() -> None:
        for start in range(0, len(X), BATCH):
            rows = X[start : start + BATCH]
            np.matmul(rows, transposed, out=buffer[: len(rows)])

    return work


class Epochs:
    """Training of one network on a number of threads. Each call trains one epoch."""

    def __init__(self, network: Network, encoded, y, order, n_threads: int) -> None:
        weights = np.ones(len(encoded), np.float32)
        task = Task.of_classes(np.arange(2), "logistic")
        rows = Rows(encoded, y.astype(np.float32)[:, None], weights, weights, task)
        engine = get_engine("numba", n_threads)
        self.session = engine.start(network, rows, task.loss, l2=0.0)
        self.order, self.n_rules = order, network.n_rules
        self.random_state = np.random.RandomState(0)

    def __call__(self) -> None:
        rows = shuffled_batches(self.order, BATCH, self.random_state)
        rates = np.full(-(-len(rows) // BATCH), 0.01)
        gates = np.ones((len(rates), self.n_rules), np.float32)
        self.session.run(Batches(rows, BATCH, rates, gates))


def untrained(X: np.ndarray, y: np.ndarray, max_depth: int = 10):
    """A model before training, its encoded rows, and their order by leaf."""
    model = NeuralRuleClassifier.paper(max_depth, n_epochs=0, random_state=0).fit(X, y)
    encoded = model.encoder_.transform(X)
    leaves = model.rules_.covers(encoded).argmax(axis=1)
    return model, encoded, np.argsort(leaves, kind="stable").astype(np.int32)


def engine_record(name: str, X: np.ndarray, y: np.ndarray, n_epochs: int) -> dict:
    """Seconds per epoch and per prediction beside the bare product, on 1 and 2 threads."""
    model, encoded, order = untrained(X, y)
    network = model.network_
    used = np.ascontiguousarray(encoded[:, network.features])
    record = {
        "name": name,
        "rows": len(X),
        "rules": network.n_rules,
        "literals": network.n_literals,
        "features": len(network.features),
    }
    product = bare_product(used, network.weights)
    for n_threads in (1, 2):
        epochs = Epochs(network, encoded, y, order, n_threads)
        engine = get_engine("numba", n_threads)
        epochs()
        engine.decide(network, encoded)
        bare, trained, predicted = [], [], []
        with threadpool_limits(n_threads):
            for _ in range(n_epochs):  # in turns, so that all three see the same noise
                bare.append(best_of(REPEATS, product))
                if n_threads > 1:
                    time.sleep(BLAS_REST)
                    epochs()  # the core must be awake again before the measurement
                trained.append(best_of(REPEATS, epochs))
                predict = partial(engine.decide, epochs.session.network(), encoded)
                predicted.append(best_of(REPEATS, predict))
        record[f"{n_threads}"] = {
            "bare": float(np.median(bare)),
            "epoch": float(np.median(trained)),
            "epoch_ratio": float(np.median(np.divide(trained, bare))),
            "last_epoch_ratio": float(np.median(np.divide(trained, bare)[-5:])),
            "predict": float(np.median(predicted)),
            "predict_ratio": float(np.median(np.divide(predicted, bare))),
        }
    record["speed_up"] = record["1"]["epoch"] / record["2"]["epoch"]
    return record


def engine_records(folder, n_epochs: int) -> list[dict]:
    """Records of the engine on each data set, with the vector instructions of this process."""
    records = []
    for name in NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        records.append(engine_record(name, *load(name, folder), n_epochs))
    return records


def avx2_records(folder, *, quick: bool) -> list[dict]:
    """The records of `engine_records`, from a process that uses AVX2 only."""
    command = [sys.executable, "-m", "benchmarks.speed", "--engine"]
    if folder is not None:
        command += ["--data", str(folder)]
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            command + ["--quick"] * quick,
            env={**os.environ, **AVX2_ONLY, "NUMBA_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            check=True,
        )
    return json.loads(done.stdout)


def few_columns(X: np.ndarray, y: np.ndarray, max_depth: int) -> Network:
    """Rules of three trees that each see three columns, joined to one network."""
    columns = np.random.RandomState(0).permutation(X.shape[1])
    networks = []
    for first in range(0, 3 * OWN_COLUMNS, OWN_COLUMNS):
        some = np.sort(columns[first : first + OWN_COLUMNS]).astype(np.int32)
        network = NeuralRuleClassifier.paper(max_depth, n_epochs=0).fit(X[:, some], y).network_
        networks.append(replace(network, columns=some[network.columns]))
    return Network.join(networks, mean=True)


def owning_all(network: Network, n_columns: int) -> Network:
    """The same function as a network, with rules that own all columns of the table."""
    weights = np.zeros((network.n_literals, n_columns), np.float32)
    weights[:, network.features] = network.weights
    arrays = {
        field.name: getattr(network, field.name)
        for field in fields(network)
        if field.name not in ("own_weights", "columns", "column_offsets")
    }
    return Network.dense(weights=weights, features=np.arange(n_columns, dtype="i4"), **arrays)


def own_columns_record(X: np.ndarray, y: np.ndarray, max_depth: int, n_epochs: int) -> dict:
    """Seconds per epoch of rules that own three columns, and of equal rules that own all."""
    _, encoded, order = untrained(X, y)
    network = few_columns(X, y, max_depth)
    dense = owning_all(network, encoded.shape[1])
    both = {"dense": dense, "own": network}
    trained = {name: Epochs(one, encoded, y, order, 1) for name, one in both.items()}
    seconds: dict[str, list[float]] = {"dense": [], "own": []}
    for epochs in trained.values():
        epochs()
    for _ in range(n_epochs):
        for name, epochs in trained.items():
            seconds[name].append(best_of(REPEATS, epochs))
    return {
        "max_depth": max_depth,
        "columns": encoded.shape[1],
        "own_columns": OWN_COLUMNS,
        "rules": network.n_rules,
        "literals": network.n_literals,
        "dense": float(np.median(seconds["dense"])),
        "own": float(np.median(seconds["own"])),
        "times": float(np.median(np.divide(seconds["dense"], seconds["own"]))),
    }


def simplify_record(X: np.ndarray, y: np.ndarray) -> dict:
    """Seconds of a whole simplification path, without compiling, and its number of steps."""
    model = NeuralRuleClassifier.paper(6, random_state=0).fit(X, y)
    model.simplification_path(X[::15], y[::15])  # compiles the kernels
    start = time.perf_counter()
    path = model.simplification_path(X, y)
    return {"seconds": time.perf_counter() - start, "steps": len(path), "rows": len(X)}


@ignore_warnings()
def model_times(X: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    """Seconds to fit and to predict the same rows, each model with two threads."""
    models = {
        "neuralrules": NeuralRuleClassifier(n_jobs=2, random_state=0),
        "MLP(256)": MLPClassifier(256, random_state=0),
        "random forest(256)": RandomForestClassifier(256, n_jobs=2, random_state=0),
        "hist. boosting": HistGradientBoostingClassifier(random_state=0),
        "CatBoost": CatBoostClassifier(
            verbose=0, thread_count=2, random_seed=0, allow_writing_files=False
        ),
    }
    return {
        name: [
            best_of(1, lambda m=model: m.fit(X, y)),
            best_of(3, lambda m=model: m.predict(X)),
        ]
        for name, model in models.items()
    }


def rows_records(largest: int) -> list[dict]:
    """Seconds per epoch and million rows on synthetic tables of growing length."""
    records = []
    n_rows = 10_000
    while n_rows <= largest:
        X, y = make_classification(n_rows, 20, n_informative=10, random_state=0)
        model = NeuralRuleClassifier.paper(6, n_epochs=0, random_state=0)
        start = time.perf_counter()
        model.fit(X, y)
        tree = time.perf_counter() - start
        encoded = model.encoder_.transform(X)
        order = np.random.RandomState(0).permutation(n_rows).astype(np.int32)
        epochs = Epochs(model.network_, encoded, y, order, 1)
        epochs()
        epoch = best_of(3, epochs)
        predict = best_of(3, partial(model.predict, X))
        literals = model.network_.n_literals
        records.append(
            {
                "rows": n_rows,
                "literals": literals,
                "tree": tree,
                "epoch": epoch,
                "predict": predict,
                "epoch_per_million": epoch / n_rows * 1e6,
            }
        )
        n_rows *= 10 if n_rows < 100_000 else 5 if n_rows == 100_000 else 2
    return records


def pool_record(n_rows: int, n_classes: int, source: str, max_depth: int) -> dict:
    """Seconds from a table to rules: for encoding, and for growing trees and their leaves."""
    X, codes = make_classification(
        n_rows, 20, n_informative=10, n_classes=n_classes, random_state=0
    )
    weights, targets = np.ones(n_rows, np.float32), codes.astype(np.float32)[:, None]
    task = Task.of_classes(np.arange(n_classes), "logistic")
    start = time.perf_counter()
    encoded = Encoder.fit(X, weights).transform(X)
    middle = time.perf_counter()
    options = SourceOptions(
        max_depth=max_depth,
        min_samples_leaf=20,
        n_trees=POOL_TREES,
        n_jobs=2,
        random_state=np.random.RandomState(0),
    )
    rules, _ = SOURCES[source](Rows(encoded, targets, weights, weights, task), options)
    return {
        "rows": n_rows,
        "classes": n_classes,
        "source": source,
        "max_depth": max_depth,
        "rules": rules.n_rules,
        "encode": middle - start,
        "grow": time.perf_counter() - middle,
    }


@ignore_warnings()
def default_fit_record() -> dict:
    """Seconds of a default fit to 5000 rows of 20 columns, and those of MLPClassifier(256).

    The kernels are compiled before.
    """
    X, y = make_classification(5000, 20, n_informative=10, random_state=0)
    ours = best_of(3, lambda: NeuralRuleClassifier(random_state=0).fit(X, y))
    two = best_of(3, lambda: NeuralRuleClassifier(random_state=0, n_jobs=2).fit(X, y))
    mlp = best_of(1, lambda: MLPClassifier(256, random_state=0).fit(X, y))
    return {"ours": ours, "ours_two_threads": two, "mlp": mlp}


def search_record(n_rows: int) -> dict:
    """A search among the default candidates, on two processes."""
    X, y = make_classification(n_rows, 20, n_informative=10, random_state=0)
    # Start the processes before the measurement.
    NeuralRuleClassifierCV(random_state=0, n_jobs=2).fit(X[:500], y[:500])
    start = time.perf_counter()
    model = NeuralRuleClassifierCV(random_state=0, n_jobs=2).fit(X, y)
    return {
        "rows": n_rows,
        "seconds": time.perf_counter() - start,
        "fits": int(np.isfinite(model.cv_scores_).sum()),
        "rules": model.network_.n_rules,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="few epochs, short tables")
    parser.add_argument("--write", action="store_true", help="update docs/speed.md")
    parser.add_argument(
        "--engine", action="store_true", help="only the engine's records, as JSON"
    )
    options = parser.parse_args()
    folder, n_epochs = data_folder(options.data), 5 if options.quick else 15
    if options.engine:
        json.dump(engine_records(folder, n_epochs), sys.stdout)
        return
    results: dict = {"environment": environment("catboost")}
    results["engine"] = engine_records(folder, n_epochs)
    print("with AVX2 only …", file=sys.stderr, flush=True)
    results["engine_avx2"] = avx2_records(folder, quick=options.quick)
    spambase = load("spambase", folder)
    results["own_columns"] = [own_columns_record(*spambase, d, n_epochs) for d in (5, 7, 10)]
    results["simplify"] = simplify_record(*load("phoneme", folder))
    results["models"] = []
    for name in NAMES:
        print(f"other models on {name} …", file=sys.stderr, flush=True)
        seconds = model_times(*load(name, folder))
        results["models"].append({"name": name, "seconds": seconds})
    results["rows"] = rows_records(10**5 if options.quick else 10**6)
    n_rows = 10**5 if options.quick else 10**6
    results["pools"] = [pool_record(n_rows, *pool) for pool in POOLS]
    results["default"] = default_fit_record()
    results["search"] = search_record(2_000 if options.quick else 20_000)
    text = render(results)
    print(text)
    if options.write:
        (DOCS / "speed.json").write_text(json.dumps(results, indent=1) + "\n")
        write_speed()


if __name__ == "__main__":
    main()
